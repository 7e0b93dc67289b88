"""What vLLM's users reported in public, replayed: hit tokens and rates (rank 1)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from cache_worthy.sim.blocks import replay_blocks
from cache_worthy.sim.blocks.log import BlockLog


def cut(prompts: Sequence[Sequence[int]], block: int) -> BlockLog:
    """Blocks of token ids, told apart by their whole prefix."""
    paths = [[tuple(p[: n + block]) for n in range(0, len(p), block)] for p in prompts]
    number = {key: n for n, key in enumerate(dict.fromkeys(k for path in paths for k in path))}
    ids = [[number[key] for key in path] for path in paths]
    return BlockLog.intern(ids, [len(p) for p in prompts], block_size=block)


def test_one_prompt_sent_three_times() -> None:
    """vllm issue 42948: 16,007 tokens, blocks of 256, hits 15,872 twice."""
    trace = BlockLog.intern([list(range(63))] * 3, [16_007] * 3, block_size=256)
    found = replay_blocks(trace, "vllm_lru", 200, partial_blocks="drop")
    assert found.hit_tokens == (0, 15_872, 15_872)
    assert found.total_hit_tokens == 31_744


def test_small_rounds_of_a_chat() -> None:
    """vllm issue 31920: prompts of 23, 32 and 41 tokens, a third of all hit."""
    start = list(range(18))
    rounds = [start, [*start, *range(20, 29)], [*start, *range(20, 29), *range(30, 39)]]
    trace = cut([[*r, *range(90, 95)] for r in rounds], 16)
    found = replay_blocks(trace, "vllm_lru", 20, partial_blocks="drop")
    assert [len(r) + 5 for r in rounds] == [23, 32, 41]
    assert found.total_hit_tokens / 96 == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("blocks", "rate"), [(7177, 0.0390), (8000, 0.0909), (9000, 0.1540), (10_560, 0.6667)]
)
def test_seats_that_take_turns(blocks: int, rate: float) -> None:
    """vllm issue 48435 as full attention: five prompts of 20,992 tokens and one of 64,000, in turn."""
    seats = [range(n * 1312, (n + 1) * 1312) for n in range(5)] + [range(6560, 10_560)]
    trace = BlockLog.intern([*seats] * 3, [len(s) * 16 for s in seats] * 3, block_size=16)
    assert replay_blocks(trace, "vllm_lru", blocks).token_hit_rate == pytest.approx(rate, abs=5e-5)


@pytest.mark.parametrize(("tokens", "hit"), [(1024, 0), (4096, 3072)])
def test_a_prompt_of_whole_blocks_sent_twice(tokens: int, hit: int) -> None:
    """The server computes at least the last token, and so the last block."""
    blocks = list(range(tokens // 1024))
    trace = BlockLog.intern([blocks, blocks], [tokens, tokens], block_size=1024)
    assert replay_blocks(trace, "vllm_lru", 20, partial_blocks="drop").hit_tokens == (0, hit)
