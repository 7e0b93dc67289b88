"""The engine: the cache changes no answer, only the work; and the work equals the simulator's."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
from plain_transformer import greedy

from cache_worthy.oracles.transcripts.paged_pool import PlainPagedPool
from cache_worthy.sim.blocks import replay_blocks
from cache_worthy.sim.blocks.policies.vllm_lru import VllmLru
from cache_worthy.sim.blocks.replay import run as run_blocks
from cache_worthy.sim.cost import Model
from cache_worthy.sim.errors import CapacityError, InputError, InvariantError
from cache_worthy.sim.serving import (
    STUDY_MODEL,
    Engine,
    EngineRequest,
    Served,
    Transformer,
    agreement,
    block_keys,
    block_log,
    chat_workload,
    predicted_skips,
)
from cache_worthy.sim.serving import server as server_module
from cache_worthy.sim.serving.pool import BlockPool
from cache_worthy.sim.serving.simulated import GeneratingLru

TINY = Model("tiny", layers=2, d_model=32, heads=4, kv_heads=2, head_dim=8, d_ff=48, vocabulary=512)
BLOCK = 4


class Ticks:
    """A clock that advances a millisecond each time it is read: runs interleave, repeatably."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 0.001
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@cache
def tiny(dtype: type = np.float64) -> Transformer:
    return Transformer(TINY, dtype=dtype)


def engine(
    pool_blocks: int,
    cache_on: bool,
    *,
    model: Transformer | None = None,
    block_size: int = BLOCK,
    max_running: int | None = None,
) -> Engine:
    clock = Ticks()
    return Engine(
        model or tiny(),
        pool_blocks,
        prefix_cache=cache_on,
        block_size=block_size,
        max_running=max_running,
        record_events=True,
        clock=clock,
        sleep=clock.sleep,
    )


def conversations(seed: int, count: int, *, answers: bool = True) -> list[EngineRequest]:
    """Prompts that share systems and histories, at random lengths and close arrivals.

    Later turns repeat the history with made-up answers; ``follow_up`` makes ones with real answers.
    """
    rng = random.Random(seed)
    systems = [[rng.randrange(512) for _ in range(rng.randrange(13))] for _ in range(3)]
    histories: list[list[int]] = []
    requests = []
    for i in range(count):
        base = rng.choice(histories) if histories and rng.random() < 0.4 else rng.choice(systems)
        prompt = [*base, *(rng.randrange(512) for _ in range(rng.randrange(3, 9)))]
        histories.append(prompt)
        if not answers and rng.random() < 0.3:
            prompt = rng.choice(histories)  # the same prompt again
        out = rng.randrange(1, 11) if answers else 1
        requests.append(EngineRequest(tuple(prompt), out, i * 0.004))
    return requests


def least_pool(requests: Sequence[EngineRequest]) -> int:
    return max(-(-r.stored_tokens // BLOCK) for r in requests)


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


def test_a_request_that_does_not_fit_now_waits_in_order() -> None:
    requests = [EngineRequest((i, 7, 8, 9, i), 4) for i in range(5)]  # two blocks each
    for on in (True, False):
        server = engine(2, on)
        served = server.serve(requests)
        finished = [s.finished for s in served]
        assert finished == sorted(finished)
        firsts = [s.time_to_first_token for s in served]
        for previous, first in zip(finished, firsts[1:], strict=False):
            assert first > previous, "the pool holds one request at a time"
        assert engine(10, on).serve(requests)[4].time_to_first_token < firsts[4]


@pytest.mark.parametrize("on", [False, True])
def test_nobody_overtakes_a_request_that_waits(on: bool) -> None:
    """The second needs three blocks while two are free; the third needs one and waits behind it."""
    requests = [EngineRequest((i, 2, 3, 4, i), n) for i, n in ((5, 4), (6, 8))]
    requests.append(EngineRequest((7, 8), 2))
    first, second, third = engine(4, on).serve(requests)
    assert second.time_to_first_token > first.finished
    assert third.time_to_first_token > second.time_to_first_token
    alone = engine(4, on).serve([requests[0], requests[2]])
    assert alone[1].time_to_first_token < alone[0].finished, "there was room for it"


def batches(server: Engine, monkeypatch: pytest.MonkeyPatch) -> list[list[tuple[int, int]]]:
    """Every decoding step as (first block of a sequence, position), one for each of its rows."""
    steps: list[list[tuple[int, int]]] = []
    decode = server.transformer.decode

    def spy(
        tokens: Sequence[int], positions: Sequence[int], tables: list[list[int]], pool: BlockPool
    ) -> Any:
        steps.append([(table[0], at) for table, at in zip(tables, positions, strict=True)])
        return decode(tokens, positions, tables, pool)

    monkeypatch.setattr(server.transformer, "decode", spy)
    return steps


@pytest.mark.parametrize("on", [False, True])
def test_every_running_sequence_gets_one_token_a_step(
    on: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Answers of 6, 1, 3, 9, 4, 7 tokens: the first comes from the prefill, then all advance together."""
    server = engine(40, on)
    steps = batches(server, monkeypatch)
    lengths = [6, 1, 3, 9, 4, 7]
    server.serve([EngineRequest((i, 7, 8), n) for i, n in enumerate(lengths)])
    assert [len(step) for step in steps] == [5, 5, 4, 3, 3, 2, 1, 1]
    for before, after in itertools.pairwise(steps):
        then = dict(before)
        assert all(at == then[block] + 1 for block, at in after), "one token further, each"
    assert sum(map(len, steps)) == sum(n - 1 for n in lengths)


def test_a_request_that_arrives_later_joins_the_batch_and_max_running_bounds_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    requests = [EngineRequest((1, 2, 3), 30), EngineRequest((4, 5, 6), 30, 0.02)]
    with monkeypatch.context() as patch:
        server = engine(40, True)
        steps = batches(server, patch)
        server.serve(requests)
    sizes = [len(step) for step in steps]
    joined = sizes.index(2)
    assert 0 < joined < 20
    assert sizes == [1] * joined + [2] * (29 - joined) + [1] * joined
    with monkeypatch.context() as patch:
        server = engine(40, True, max_running=2)
        few = batches(server, patch)
        server.serve([EngineRequest((i, 2, 3), 4) for i in range(5)])
    assert [len(step) for step in few] == [2] * 6 + [1] * 3


def test_what_can_never_fit_is_refused_before_anything_runs() -> None:
    server = engine(4, True)
    requests = [EngineRequest((1, 2, 3), 2), EngineRequest(tuple(range(14)), 4)]
    with pytest.raises(CapacityError, match=r"request 2: .* need 5 KV blocks .* pool has 4"):
        server.serve(requests)
    assert server.pool.events == []
    assert server.serve([EngineRequest(tuple(range(14)), 3)])  # 16 tokens fit exactly


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (((), 1), "the prompt is empty"),
        (((1,), 0), "max_tokens is 0; expected an integer >= 1"),
        (((1,), 1.5), "max_tokens is 1.5; expected an integer >= 1"),
        (((1,), True), "max_tokens is True"),
        (((3, 512), 1), "token 2 of the prompt is 512; expected an integer >= 0 and < 512"),
        (((-1,), 1), "token 1 of the prompt is -1"),
        (((1, 2.0), 1), "token 2 of the prompt is 2.0; expected an integer"),
        (((1, 2, 3.7), 1), "token 3 of the prompt is 3.7"),
        (((1, float("nan")), 1), "token 2 of the prompt is nan"),
        (((True,), 1), "token 1 of the prompt is True"),
        (("ab", 1), "token 1 of the prompt is 'a'"),
        (((1,), 1, float("nan")), "arrival is nan; expected seconds >= 0 and <= 1e"),
        (((1,), 1, float("inf")), "arrival is inf"),
        (((1,), 1, -0.5), "arrival is -0.5"),
        (((1,), 1, "now"), "arrival is 'now'"),
    ],
)
def test_bad_requests_are_refused_before_anything_runs(
    request_: tuple[Any, ...], message: str
) -> None:
    server = engine(4, True)
    with pytest.raises(InputError, match=f"^request 2: {re.escape(message)}"):
        server.serve([EngineRequest((1, 2), 1), EngineRequest(*request_)])
    assert server.pool.events == []


def test_tokens_of_numpy_are_integers_too() -> None:
    plain, numpy = (
        engine(4, True).serve([EngineRequest(prompt, 3)])[0]
        for prompt in ((1, 2, 3), tuple(np.array([1, 2, 3], np.int32)))
    )
    assert plain.tokens == numpy.tokens


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"max_running": 0}, "max_running is 0; expected an integer >= 1"),
        ({"max_running": 1.5}, "max_running is 1.5"),
        ({"pool_blocks": 0}, "pool_blocks is 0; expected an integer >= 1"),
        ({"pool_blocks": None}, "pool_blocks is None"),
        ({"block_size": 2.0}, "block_size is 2.0; expected an integer >= 1"),
    ],
)
def test_sizes_that_are_none_are_refused(sizes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        Engine(tiny(), **{"pool_blocks": 4, "prefix_cache": True, **sizes})
    with pytest.raises(InputError, match="need blocks >= 1"):
        BlockPool(TINY, 0, 4)


def test_time_to_first_token_counts_the_wait_from_the_arrival() -> None:
    served = engine(50, True, max_running=1).serve(
        [EngineRequest((1, 2, 3), 20, 0.5), EngineRequest((4, 5, 6), 1, 0.501)]
    )
    assert 0 < served[0].time_to_first_token < 0.01
    assert served[1].time_to_first_token == pytest.approx(served[0].finished - 0.501, abs=0.01)


def test_prefill_seconds_are_those_of_the_prefill_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fit of seconds against FLOPs must hold no bookkeeping: neither lookups nor publishing."""
    clock = Ticks()
    server = Engine(tiny(), 50, prefix_cache=True, block_size=BLOCK, clock=clock)

    def slow(owner: object, name: str, seconds: float) -> None:
        call = getattr(owner, name)

        def late(*args: Any) -> Any:
            clock.sleep(seconds)
            return call(*args)

        monkeypatch.setattr(owner, name, late)

    slow(server.pool, "find", 10.0)
    slow(server.pool, "publish", 100.0)
    slow(server.transformer, "prefill", 1.0)
    served = server.serve([EngineRequest(tuple(range(9)), 1), EngineRequest(tuple(range(13)), 1)])
    assert [s.prefill_seconds for s in served] == pytest.approx([1.0, 1.0], abs=0.01)
    assert served[1].cached_tokens == 2 * BLOCK
    assert served[1].time_to_first_token > 300


def held_in_order(server: Engine) -> list[bytes]:
    state = server.pool.state()
    return [key for block in state.free if (key := state.keys[block]) is not None]


@pytest.mark.parametrize("answers", [True, False])
@pytest.mark.parametrize("seed", range(8))
def test_one_at_a_time_skips_what_vllm_lru_predicts(seed: int, answers: bool) -> None:
    """With and without pressure, down to the queue that is left; generated blocks on both sides."""
    requests = conversations(100 + seed, 14, answers=answers)
    if answers:  # half of them go on with what the model really answered
        plain = engine(400, False, max_running=1).serve(requests)
        requests += [
            EngineRequest((*r.prompt, *s.tokens, seed, i, i), r.max_tokens, 1.0)
            for i, (r, s) in enumerate(zip(requests, plain, strict=True))
            if i % 2
        ]
    least = least_pool(requests)
    hits, evictions = set(), set()
    for size in (least, least + 1, least + 3, 2 * least, 4 * least, 400):
        server = engine(size, True, max_running=1)
        served = server.serve(requests)
        assert [s.cached_tokens for s in served] == predicted_skips(requests, served, BLOCK, size)
        trace = block_log(requests, served, BLOCK)
        simulated = VllmLru(trace, size, partial_blocks="drop")
        run_blocks(trace, simulated, "vllm_lru", size)
        names: dict[int, bytes] = {}
        for path, r, s in zip(trace.blocks, requests, served, strict=True):
            names.update(zip(path, block_keys([*r.prompt, *s.tokens[:-1]], BLOCK), strict=False))
        assert held_in_order(server) == [names[b] for b in queue_of(simulated)]
        hits.add(sum(s.cached_tokens for s in served))
        evictions.add(server.pool.evictions)
    assert len(hits) > 1
    assert min(evictions) == 0 < max(evictions)


#: A model so small, and of so few tokens, that answers run into each other and into prompts.
FEW = Model("few", layers=1, d_model=8, heads=1, kv_heads=1, head_dim=4, d_ff=8, vocabulary=3)


def repeats(seed: int, count: int, vocabulary: int) -> list[EngineRequest]:
    """Prompts of which half came before, some longer by a few tokens, all with answers."""
    rng = random.Random(seed)
    seen: list[list[int]] = [[]]
    requests = []
    for _ in range(count):
        prompt = list(rng.choice(seen))
        if not prompt or rng.random() < 0.5:
            prompt += (rng.randrange(vocabulary) for _ in range(rng.randrange(1, 9)))
        seen.append(prompt)
        requests.append(EngineRequest(tuple(prompt), rng.randrange(1, 14)))
    return requests


def queue_of(cache: VllmLru) -> list[int]:
    return [b for i, b in enumerate(cache.log) if i >= cache.head and cache.slot[b] == i]


def tie(model: Transformer, block_size: int, seeds: range, count: int) -> tuple[int, int, int]:
    """Hold skips and the queue that is left; requests, evictions, what vllm_lru alone misses."""
    total = evictions = surprises = 0
    for seed in seeds:
        requests = repeats(seed, count, model.model.vocabulary)
        least = max(-(-r.stored_tokens // block_size) for r in requests)
        for size in (least, least + 1, least + 3, least + 6, 2 * least, 400):
            server = engine(size, True, model=model, block_size=block_size, max_running=1)
            served = server.serve(requests)
            skipped = [s.cached_tokens for s in served]
            assert skipped == predicted_skips(requests, served, block_size, size)
            trace = block_log(requests, served, block_size)
            full = [len(r.prompt) // block_size for r in requests]
            simulated = GeneratingLru(trace, size, full)
            run_blocks(trace, simulated, "vllm_lru", size)
            names: dict[int, bytes] = {}
            for path, r, s in zip(trace.blocks, requests, served, strict=True):
                keys = block_keys([*r.prompt, *s.tokens[:-1]], block_size)
                names.update(zip(path, keys, strict=False))
            assert held_in_order(server) == [names[b] for b in queue_of(simulated)]
            alone = replay_blocks(trace, "vllm_lru", size, partial_blocks="drop").matched
            cut = [
                min(k * block_size, n * block_size, len(r.prompt) - 1)
                for k, n, r in zip(alone, full, requests, strict=True)
            ]
            wrong = sum(a != b for a, b in zip(skipped, cut, strict=True))
            assert not (wrong and server.pool.evictions == 0), "only pressure tells them apart"
            surprises += wrong
            evictions += server.pool.evictions
            total += len(requests)
    return total, evictions, surprises


@pytest.mark.parametrize(
    ("model", "block_size", "seeds"),
    [(TINY, BLOCK, range(8)), (FEW, 2, range(8)), (FEW, 1, range(4))],
)
def test_repeated_prompts_with_answers_skip_what_is_predicted(
    model: Model, block_size: int, seeds: range
) -> None:
    """2,400 requests; ``vllm_lru``, which looks answers up before they exist, misses some."""
    total, evictions, surprises = tie(Transformer(model), block_size, seeds, 20)
    assert total == 120 * len(seeds)
    assert evictions > total / 4
    assert surprises > 0


@pytest.mark.slow
@pytest.mark.parametrize(("model", "block_size"), [(TINY, BLOCK), (FEW, 2), (FEW, 3)])
def test_many_repeated_prompts_with_answers(model: Model, block_size: int) -> None:
    """36,000 requests."""
    assert tie(Transformer(model), block_size, range(1000, 1050), 40)[2] > 0


def test_a_block_of_a_repeated_answer_evicts_one_more_by_hand() -> None:
    """Two prompts of one block, the second answered with one block more, in a pool of three.

    The repeated second request pins its prompt's block and needs one for its answer: the first
    prompt, least recently used, goes, although the answer turns out to be cached. Looked up with
    its answer, as ``vllm_lru`` does, it would need none.
    """
    first, second = EngineRequest((1, 1), 1), EngineRequest((2, 2), 3)
    requests = [first, second, second, first]
    for size, expected in ((3, [0, 0, 1, 0]), (4, [0, 0, 1, 1])):
        server = engine(size, True, block_size=2, max_running=1)
        served = server.serve(requests)
        assert [s.cached_tokens for s in served] == expected
        assert predicted_skips(requests, served, 2, size) == expected
        trace = block_log(requests, served, 2)
        alone = replay_blocks(trace, "vllm_lru", size, partial_blocks="drop")
        assert alone.hit_tokens == (0, 0, 4, 2)


@pytest.mark.parametrize("seed", range(4))
def test_concurrent_events_replay_to_the_same_pool(seed: int) -> None:
    requests = conversations(200 + seed, 20)
    for size in (2 * least_pool(requests), 400):
        server = engine(size, True)
        server.serve(requests)
        events = server.pool.events or []
        plain = PlainPagedPool(size)
        overlapping = 0
        for event in events:
            plain.replay([event])
            overlapping = max(overlapping, *plain.users)
        state = server.pool.state()
        assert plain.users == list(state.references)
        assert plain.holds == list(state.keys)
        assert plain.queue == list(state.free)
        assert overlapping > 1, "no block was ever shared by two running requests"
        parents = {
            key: (b"", *keys)[i]
            for r, s in zip(requests, server.serve(requests), strict=True)
            for keys in [block_keys([*r.prompt, *s.tokens[:-1]], BLOCK)]
            for i, key in enumerate(keys)
        }
        held = {key for key in server.pool.state().keys if key is not None}
        assert all(parents[key] in held or parents[key] == b"" for key in held), "an orphan"


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
