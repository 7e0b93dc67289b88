"""Policies that must coincide where their differing term is flat (rank 2), and recursive LRU."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from cache_worthy.logs.session import read_log
from cache_worthy.sim.cost import BlockSize, SegmentFn
from cache_worthy.sim.forest import build_forest
from cache_worthy.sim.outcome import Outcome
from cache_worthy.sim.radix.policies import POLICIES
from cache_worthy.sim.radix.replay import replay
from cache_worthy.sim.trace import BlockId, paths_of

SAMPLE = Path(__file__).resolve().parents[3] / "examples" / "sample_log.jsonl"

flat_paths = st.lists(st.integers(0, 12).map(lambda b: (b,)), min_size=1, max_size=60)
tree_paths = st.lists(
    st.lists(st.integers(0, 2), min_size=1, max_size=6).map(tuple), min_size=1, max_size=40
)


def _count(block_ids: Sequence[BlockId], depth: int, /) -> int:
    return len(block_ids)


def _cost(block_ids: Sequence[BlockId], depth: int, /) -> int:
    return sum(1 + hash(b) % 7 + depth + i for i, b in enumerate(block_ids))


def _run(
    name: str, paths: Sequence[tuple[int, ...]], capacity: int, size: SegmentFn, cost: SegmentFn
) -> Outcome:
    return replay(paths, POLICIES[name](), capacity, size, cost)


@given(paths=flat_paths, capacity=st.integers(1, 9))
def test_cost_only_is_landlord_on_unit_sizes(paths: list[tuple[int]], capacity: int) -> None:
    assert _run("cost_only", paths, capacity, _count, _cost) == _run(
        "landlord", paths, capacity, _count, _cost
    )


@given(paths=flat_paths, capacity=st.integers(5, 20))
def test_size_only_is_landlord_on_unit_costs(paths: list[tuple[int]], capacity: int) -> None:
    def sizes(block_ids: Sequence[BlockId], depth: int, /) -> int:
        return sum(1 + hash(b) % 5 for b in block_ids)

    assert _run("size_only", paths, capacity, sizes, _count) == _run(
        "landlord", paths, capacity, sizes, _count
    )


@given(paths=flat_paths, capacity=st.integers(1, 9))
def test_gdsf_is_freq_landlord_on_flat_forests(paths: list[tuple[int]], capacity: int) -> None:
    """Without dependencies the victim has the least key of all, so the level cannot fall."""
    assert _run("gdsf", paths, capacity, _count, _cost) == _run(
        "freq_landlord", paths, capacity, _count, _cost
    )


def test_freq_landlord_is_landlord_when_nothing_repeats() -> None:
    paths = [(t % 5 * 100 + t, -t) for t in range(60)]
    assert _run("freq_landlord", paths, 9, _count, _cost) == _run(
        "landlord", paths, 9, _count, _cost
    )


@settings(max_examples=200)
@given(paths=tree_paths, slack=st.integers(0, 8))
def test_recursive_lru_is_lru_on_paths(paths: list[tuple[int, ...]], slack: int) -> None:
    capacity = max(map(len, paths)) + slack
    assert _run("recursive_lru", paths, capacity, _count, _cost) == _run(
        "lru", paths, capacity, _count, _cost
    )


def test_recursive_lru_is_lru_on_the_constructed_sample() -> None:
    forest = build_forest(paths_of(read_log(SAMPLE).requests))
    for blocks in range(forest.depth, forest.distinct, 9):
        capacity = blocks * BlockSize().block
        lru = replay(forest, POLICIES["lru"](), capacity)
        recursive = replay(forest, POLICIES["recursive_lru"](), capacity)
        assert recursive == lru
