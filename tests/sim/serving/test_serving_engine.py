"""The engine: the cache changes no answer, only the work; and the work equals the simulator's."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from plain_transformer import greedy
from serving_cases import BLOCK, TINY, conversations, engine, least_pool, tiny

from cache_worthy.sim.errors import InvariantError
from cache_worthy.sim.serving import server as server_module
from cache_worthy.sim.serving.pool import BlockPool
from cache_worthy.sim.serving.server import EngineRequest, Served, agreement
from cache_worthy.sim.serving.transformer import Transformer
from cache_worthy.sim.serving.workload import STUDY_MODEL, chat_workload


def test_answers_are_those_of_the_dense_transcription() -> None:
    requests = conversations(0, 8)
    served = engine(2 * least_pool(requests), True).serve(requests)
    assert sum(s.cached_tokens for s in served) > 0
    for request, result in zip(requests, served, strict=True):
        plain = greedy(TINY, tiny().weights, request.prompt, request.max_tokens)
        assert result.tokens == plain


@pytest.mark.parametrize("seed", range(3))
def test_on_and_off_answer_alike_under_every_pool_size(seed: int) -> None:
    """Not by luck: no two leading logits are within rounding, and answers differ by request."""
    requests = conversations(seed, 16)
    least = least_pool(requests)
    reference = engine(400, False).serve(requests)
    assert len({s.tokens for s in reference if len(s.tokens) > 2}) == sum(
        len(s.tokens) > 2 for s in reference
    )
    skipped = evicted = 0
    for size in [*range(least, least + 12), 2 * least, 400]:
        for on in (True, False):
            server = engine(size, on)
            served = server.serve(requests)
            agreed = agreement(served, reference)
            assert agreed.identical
            assert agreed.logit_difference < 1e-9
            assert agreed.margin > 2 * agreed.logit_difference
            assert not server.pool.references.any()
            assert server.pool.free == size
            if not on:
                assert all(s.cached_tokens == 0 for s in served)
            else:
                skipped += sum(s.cached_tokens for s in served)
                evicted += server.pool.evictions
    assert skipped > 0
    assert evicted > 0


def test_no_pool_size_at_all_changes_an_answer() -> None:
    """Every size from the longest request's blocks to room for all requests at once."""
    requests = conversations(3, 8)
    reference = engine(400, False).serve(requests)
    everything = sum(-(-r.stored_tokens // BLOCK) for r in requests)
    skipped = set()
    for size in range(least_pool(requests), everything + 1):
        served = engine(size, True).serve(requests)
        agreed = agreement(served, reference)
        assert agreed.identical
        assert not agreed.by_luck
        skipped.add(sum(s.cached_tokens for s in served))
    assert len(skipped) > 1, "the sizes make a difference to the work"


def test_single_precision_agrees_to_1e_4_with_margin_to_spare() -> None:
    requests = chat_workload(32, vocabulary=512, requests=6, answer_tokens=4)
    model = Transformer(STUDY_MODEL)
    off = engine(200, False, model=model, block_size=16).serve(requests)
    on = engine(200, True, model=model, block_size=16).serve(requests)
    agreed = agreement(off, on)
    assert agreed.identical
    assert agreed.logit_difference < 1e-4
    assert agreed.margin > 2 * agreed.logit_difference
    assert agreed.distinct_answers == 6


def test_prefixes_of_1024_tokens() -> None:
    requests = chat_workload(1024, vocabulary=512, requests=4, tenants=2, answer_tokens=4)
    off, on = (engine(300, cache_on, block_size=16).serve(requests) for cache_on in (False, True))
    agreed = agreement(off, on)
    assert agreed.identical
    assert agreed.margin > 2 * agreed.logit_difference
    assert [s.cached_tokens for s in on] == [0, 0, 1024, 1024]


def test_agreement_tells_differences_and_margins() -> None:
    def served(rows: list[list[float]]) -> Served:
        logits = np.array(rows)
        return Served(3, 0, tuple(logits.argmax(1).tolist()), logits, 0.0, 0.0, 0.0)

    a, b = served([[0.0, 2.0, 1.0], [5.0, 0.0, 4.5]]), served([[0.0, 1.5, 1.0], [4.0, 9.0, 0.0]])
    same, other = agreement([a], [a]), agreement([a], [b])
    assert (same.identical, same.logit_difference, same.margin) == (True, 0.0, 0.5)
    assert (other.identical, other.logit_difference) == (False, 9.0)


def test_arrivals_are_at_the_rate_and_tenants_take_turns() -> None:
    requests = chat_workload(8, vocabulary=512, requests=7, tenants=3, rate=4.0, answer_tokens=5)
    assert [r.arrival for r in requests] == [i / 4 for i in range(7)]
    assert {r.max_tokens for r in requests} == {5}
    systems = [r.prompt[:8] for r in requests]
    assert systems == [systems[i % 3] for i in range(7)]
    assert len(set(systems)) == 3
    bare = chat_workload(0, vocabulary=512, requests=7, tenants=1)
    assert [r.prompt[8:] for r in requests] == [r.prompt for r in bare], "the same user turns"


def test_arrivals_take_their_time() -> None:
    """At 5 requests a second an idle engine finishes each before the next comes."""
    requests = chat_workload(0, vocabulary=512, requests=4, rate=5.0, answer_tokens=2)
    for r, s in zip(requests, engine(50, True, block_size=16).serve(requests), strict=True):
        assert r.arrival + s.time_to_first_token < s.finished < r.arrival + 0.2


PREFILLED = {64: (2546, 690), 128: (4594, 882), 256: (8690, 1266)}


@pytest.mark.parametrize("prefix", PREFILLED)
def test_prefilled_tokens_of_the_study(prefix: int) -> None:
    """Published: 2,546 / 4,594 / 8,690 without the cache, 690 / 882 / 1,266 with it."""
    requests = chat_workload(prefix, vocabulary=512, answer_tokens=2)
    counts = []
    for on in (False, True):
        served = engine(1024, on, model=tiny(np.float32), block_size=16).serve(requests)
        counts.append(sum(s.prefilled_tokens for s in served))
    assert tuple(counts) == PREFILLED[prefix]


def test_nothing_is_shared_between_32_tenants_or_without_a_prefix() -> None:
    for prefix, tenants in ((64, 32), (0, 3)):
        requests = chat_workload(prefix, vocabulary=512, tenants=tenants, answer_tokens=1)
        served = engine(512, True, model=tiny(np.float32), block_size=16).serve(requests)
        assert sum(s.cached_tokens for s in served) == 0
        assert sum(s.prefilled_tokens for s in served) == 32 * prefix + 498


@pytest.mark.parametrize("pool", [3, 50])
def test_a_prompt_of_whole_blocks_still_computes_its_last_token(pool: int) -> None:
    prompt = tuple(range(2 * BLOCK))
    server = engine(pool, True)
    first, second = (server.serve([EngineRequest(prompt, 3)])[0] for _ in range(2))
    assert (first.cached_tokens, second.cached_tokens) == (0, len(prompt) - 1)
    assert agreement([first], [second]).identical
    assert agreement([first], [second]).logit_difference < 1e-9
    third = server.serve([EngineRequest((*prompt, 1), 1)])[0]
    assert third.cached_tokens == len(prompt)


def test_generated_blocks_serve_the_next_turn() -> None:
    server = engine(50, True)
    first = EngineRequest(tuple(range(6)), 7)  # 12 tokens stored: three full blocks
    answer = server.serve([first])[0].tokens
    follow = EngineRequest((*first.prompt, *answer, 9, 9), 2)
    assert server.serve([follow])[0].cached_tokens == 12


def test_the_same_answer_twice_keeps_one_copy() -> None:
    server = engine(50, True)
    request = EngineRequest(tuple(range(6)), 7)
    both = [*server.serve([request, request]), *server.serve([request])]
    assert len({s.tokens for s in both}) == 1
    assert sum(key is not None for key in server.pool.state().keys) == 3


def own_tokens_only(tokens: Sequence[int], block_size: int) -> list[bytes]:
    starts = range(0, len(tokens) - block_size + 1, block_size)
    return [str(tokens[s : s + block_size]).encode() for s in starts]


def test_hashing_the_block_instead_of_the_prefix_changes_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    a, b, x = (1, 2, 3, 4), (5, 6, 7, 8), (9, 10, 11, 12)
    requests = [EngineRequest((*a, *x, 1), 8), EngineRequest((*b, 2), 1)]
    requests.append(EngineRequest((*b, *x, 3), 8))
    reference = engine(50, False).serve(requests)
    assert agreement(engine(50, True).serve(requests), reference).identical
    monkeypatch.setattr(server_module, "block_keys", own_tokens_only)
    wrong = engine(50, True).serve(requests)
    assert wrong[2].cached_tokens == 8
    assert wrong[0].tokens == reference[0].tokens
    assert wrong[2].tokens != reference[2].tokens


def forgets_nothing(pool: BlockPool) -> int:
    """``take`` that leaves the evicted prefix in the index."""
    index = dict(pool._index)
    block = BlockPool_take(pool)
    pool._index = index
    return block


def pins_nothing(pool: BlockPool, block: int) -> None:
    """``share`` that leaves the block in the free queue."""
    pool.references[block] += 1


BlockPool_take = BlockPool.take


@pytest.mark.parametrize(("name", "mutant"), [("take", forgets_nothing), ("share", pins_nothing)])
def test_a_broken_pool_is_noticed(
    name: str, mutant: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    requests = conversations(1, 16)
    size = least_pool(requests) + 2
    engine(size, True).serve(requests)
    monkeypatch.setattr(BlockPool, name, mutant)
    with pytest.raises(InvariantError):
        engine(size, True).serve(requests)


def test_an_unreturned_block_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BlockPool, "release", lambda pool, block: None)
    with pytest.raises(InvariantError, match="referenced after the last request"):
        engine(50, True).serve([EngineRequest((1, 2), 1)])
