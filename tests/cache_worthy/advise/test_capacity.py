"""The knee and the elasticity on curves computed by hand first (rank 4), the floor (rank 2)."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cache_worthy.advise.capacity import (
    POINTS,
    elasticities,
    geometric_capacities,
    knee,
    measure_curve,
)
from cache_worthy.logs.session import read_log
from cache_worthy.measure.replays import Replays
from cache_worthy.sim.cost import BlockCost, BlockSize
from cache_worthy.sim.errors import CapacityError
from cache_worthy.sim.forest import build_forest
from cache_worthy.sim.radix.policies import POLICIES
from cache_worthy.sim.radix.replay import replay
from cache_worthy.sim.trace import paths_of

# Doubling capacities; the cost halves (elasticity 1), falls to 3/4 (log2(4/3) = 0.4150...),
# falls by 1/15 (log2(15/14) = 0.0995...: just under 0.10), stays, and rises by half (-0.5849...).
CAPACITIES = [1, 2, 4, 8, 16, 32]
COSTS = [40, 20, 15, 14, 14, 21]
BY_HAND = [None, 1.0, 0.41503749927884376, 0.09953567355091431, 0.0, -0.5849625007211562]


def test_elasticities_by_hand() -> None:
    found = elasticities(CAPACITIES, COSTS)
    assert found[0] is None
    for got, want in zip(found[1:], BY_HAND[1:], strict=True):
        assert got == pytest.approx(want, abs=1e-12)


def test_elasticity_is_unit_free() -> None:
    scaled = elasticities([7 * c for c in CAPACITIES], [11 * c for c in COSTS])
    assert scaled[1:] == pytest.approx(elasticities(CAPACITIES, COSTS)[1:])


@pytest.mark.parametrize(
    ("steps", "threshold", "index"),
    [
        (BY_HAND, 0.10, 2),  # the step to index 3 stays just under one tenth
        (BY_HAND, 0.09, 3),
        (BY_HAND, 1.0, 1),
        (BY_HAND, 1.1, 0),  # nothing reaches it: the floor
        ([None, 0.01, 0.5, 0.0, 0.2, 0.0], 0.10, 4),  # a flat stretch before the knee
        ([None], 0.10, 0),
    ],
)
def test_knee_by_hand(steps: list[float | None], threshold: float, index: int) -> None:
    assert knee(steps, threshold) == index


def test_elasticity_of_a_cost_of_nothing() -> None:
    assert elasticities([1, 2, 3], [5, 0, 0]) == [None, None, 0.0]


@given(floor=st.integers(1, 10**12), factor=st.integers(1, 10**6))
def test_geometric_capacities(floor: int, factor: int) -> None:
    got = geometric_capacities(floor, floor * factor)
    assert got[0] == floor
    assert got[-1] == floor * factor
    assert got == sorted(set(got))
    assert len(got) <= POINTS
    if factor > 1 and floor > 10**9:
        assert len(got) == POINTS
        steps = [math.log(b / a) for a, b in itertools.pairwise(got)]
        assert max(steps) - min(steps) < 1e-6


def test_curve_of_a_log_whose_floor_is_its_working_set() -> None:
    forest = build_forest([(1, 2, 3), (1, 2, 3)])
    curve = measure_curve(Replays(forest, BlockSize(), BlockCost()))
    assert [p.blocks for p in curve.points] == [3]
    assert curve.recommended.cost_ratio == 1.0


@given(
    st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=6), min_size=1, max_size=30),
    st.sampled_from(sorted(POLICIES)),
)
def test_the_floor_serves_and_one_block_less_does_not(paths: list[list[int]], name: str) -> None:
    forest = build_forest(paths)
    block = BlockSize().block
    replay(forest, POLICIES[name](), forest.depth * block)
    with pytest.raises(CapacityError):
        replay(forest, POLICIES[name](), forest.depth * block - 1)


@given(
    st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=6), min_size=1, max_size=30),
    st.sampled_from(sorted(POLICIES)),
)
def test_the_working_set_never_evicts(paths: list[list[int]], name: str) -> None:
    forest = build_forest(paths)
    result = replay(forest, POLICIES[name](), forest.distinct * BlockSize().block)
    assert result.evictions == 0
    assert result.total_cost == result.compulsory_cost


@pytest.mark.traces
@pytest.mark.parametrize(("trace", "floor"), [("conversation", 247), ("synthetic", 374)])
def test_floors_of_the_traces(traces: Path, trace: str, floor: int) -> None:
    forest = build_forest(paths_of(read_log(traces / f"{trace}_trace.jsonl").requests))
    assert forest.depth == floor
    block = BlockSize().block
    for policy in POLICIES.values():
        assert len(replay(forest, policy(), floor * block).matched) == forest.requests
        with pytest.raises(CapacityError):
            replay(forest, policy(), floor * block - 1)
