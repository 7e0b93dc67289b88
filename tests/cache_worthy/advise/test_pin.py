"""Pins: protections sum to the avoidable recompute, computed two other ways (rank 2)."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cache_worthy.advise.pin import Pins, measure_pins
from cache_worthy.logs.session import read_log
from cache_worthy.measure.replays import Replays
from cache_worthy.sim.cost import DEFAULT_MODEL, BlockCost, BlockSize
from cache_worthy.sim.forest import Forest, build_forest
from cache_worthy.sim.radix.policies import POLICIES
from cache_worthy.sim.radix.replay import replay


def _pins(forest: Forest, top: int = 10**9) -> Pins:
    return measure_pins(Replays(forest, BlockSize(), BlockCost()), top)


def _avoidable_by_prefix(paths: list[tuple[int, ...]]) -> int:
    """Every prefix counted as a tuple, no forest involved."""
    seen = Counter(tuple(p[: n + 1]) for p in paths for n in range(len(p)))
    return sum(
        (times - 1) * DEFAULT_MODEL.segment(512 * (len(prefix) - 1), 512 * len(prefix))
        for prefix, times in seen.items()
    )


def _avoidable_by_replay(forest: Forest) -> int:
    """What a cache that never evicts does not recompute."""
    result = replay(forest, POLICIES["lru"](), forest.distinct * BlockSize().block)
    return sum(DEFAULT_MODEL.segment(0, 512 * n) for n in forest.length) - result.total_cost


@given(
    st.lists(
        st.lists(st.integers(0, 2), min_size=1, max_size=6).map(tuple), min_size=1, max_size=30
    )
)
def test_protections_sum_to_what_is_avoidable(paths: list[tuple[int, ...]]) -> None:
    forest = build_forest(paths)
    pins = _pins(forest)
    total = sum(p.protected_cost for p in pins.pins)
    assert total == _avoidable_by_prefix(paths) == _avoidable_by_replay(forest)
    assert pins.together_protected_cost == pins.avoidable_cost == total
    # No block twice: the shared blocks, each in exactly one pin.
    seen = Counter(tuple(p[: n + 1]) for p in paths for n in range(len(p)))
    assert sum(p.blocks for p in pins.pins) == sum(times > 1 for times in seen.values())
    if pins.pins:
        assert pins.together_bytes == sum(p.blocks for p in pins.pins) * BlockSize().block


def test_three_requests_by_hand() -> None:
    """Blocks 1, 2 shared by all three, 3 by two of them, the rest alone.

    In units of b * 512^2 a block at depth d costs 105 + 2 d for Llama-3.1-8B: 105, 107, 109.
    The pair (1, 2) is asked for three times: 2 * (105 + 107) = 424; block 3 twice: 109.
    """
    unit = 2 * 32 * 4096 * 512**2
    forest = build_forest([(1, 2, 3, 4), (1, 2, 3), (1, 2, 5)])
    pins = _pins(forest, top=2)
    first, second = pins.pins
    assert (first.references, first.depth, first.blocks, first.subtree_blocks) == (3, 0, 2, 5)
    assert (second.references, second.depth, second.blocks, second.subtree_blocks) == (2, 2, 1, 2)
    assert first.protected_cost == 424 * unit
    assert second.protected_cost == 109 * unit
    assert pins.avoidable_cost == (424 + 109) * unit
    assert first.pin_bytes == 2 * 64 * 2**20
    assert second.pin_bytes == 3 * 64 * 2**20  # its ancestors included
    assert pins.together_bytes == 3 * 64 * 2**20  # and counted once
    assert (first.first_request, second.first_request) == (1, 1)
    assert (first.last_block_id, second.last_block_id) == (2, 3)


def test_an_unlisted_ancestor_is_held_and_counted() -> None:
    """The best pin lies deep; what its ancestors protect belongs to the whole."""
    deep = tuple(range(1, 40))
    forest = build_forest([deep, deep, (1, 99)])
    pins = _pins(forest, top=1)
    assert pins.pins[0].depth == 1
    assert pins.together_protected_cost == pins.avoidable_cost


@pytest.mark.traces
@pytest.mark.parametrize("trace", ["conversation", "synthetic"])
def test_protections_on_the_traces(traces: Path, trace: str) -> None:
    paths = [tuple(r.hash_ids) for r in read_log(traces / f"{trace}_trace.jsonl").requests]
    forest = build_forest(paths)
    pins = _pins(forest)
    # Ids of these traces fix their prefix, so ids alone count prefixes.
    seen: Counter[object] = Counter()
    cost: dict[object, int] = {}
    for path in paths:
        for depth, block in enumerate(path):
            seen[block] += 1
            cost[block] = DEFAULT_MODEL.segment(512 * depth, 512 * depth + 512)
    by_id = sum((n - 1) * cost[block] for block, n in seen.items())
    assert sum(p.protected_cost for p in pins.pins) == by_id == _avoidable_by_replay(forest)
    assert sum(p.blocks for p in pins.pins) == sum(n > 1 for n in seen.values())
    if trace == "conversation":
        top = pins.pins[0]
        assert (top.references, top.depth, top.subtree_blocks) == (12031, 0, 182790)
