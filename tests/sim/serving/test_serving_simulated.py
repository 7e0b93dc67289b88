"""What the simulator predicts for the engine: skipped tokens, the queue of free blocks, events."""

from __future__ import annotations

import random

import pytest
from plain_paged_pool import PlainPagedPool
from serving_cases import BLOCK, TINY, conversations, engine, least_pool

from cache_worthy.sim.blocks.policies.vllm_lru import VllmLru
from cache_worthy.sim.blocks.replay import run as run_blocks
from cache_worthy.sim.cost import Model
from cache_worthy.sim.serving.pool import block_keys
from cache_worthy.sim.serving.server import Engine, EngineRequest
from cache_worthy.sim.serving.simulated import GeneratingLru, block_log, predicted_skips
from cache_worthy.sim.serving.transformer import Transformer


class WithoutCopies(VllmLru):
    """``vllm_lru`` on the engine, which keeps one block per prefix and so makes no copies."""

    last_token = False


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
        simulated = WithoutCopies(trace, size, partial_blocks="drop")
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
            lookup = WithoutCopies(trace, size, partial_blocks="drop")
            alone = run_blocks(trace, lookup, "vllm_lru", size).matched
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
        lookup = WithoutCopies(trace, size, partial_blocks="drop")
        alone = run_blocks(trace, lookup, "vllm_lru", size)
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
