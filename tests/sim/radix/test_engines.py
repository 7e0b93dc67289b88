"""The engines agree field for field (rank 5) while the reference checks every invariant (rank 2)."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from radix_cases import block_paths, engines_of

from cache_worthy.logs.session import read_log
from cache_worthy.sim.cost import BlockCost, BlockSize
from cache_worthy.sim.forest import build_forest
from cache_worthy.sim.radix.policies import POLICIES
from cache_worthy.sim.radix.replay import replay
from cache_worthy.sim.trace import BlockId, paths_of


@pytest.mark.parametrize("policy", POLICIES)
@settings(max_examples=60, deadline=None)
@given(paths=block_paths(), slack=st.integers(0, 12))
def test_engines_agree(policy: str, paths: list[tuple[BlockId, ...]], slack: int) -> None:
    capacity = (max(map(len, paths)) + slack) * BlockSize().block
    results = [replay(paths, POLICIES[policy](), capacity, engine=e) for e in engines_of(policy)]
    assert all(result == results[0] for result in results)
    forest = build_forest(paths)
    assert replay(forest, POLICIES[policy](), capacity, engine="reference") == results[0]
    assert replay(forest, POLICIES[policy](), capacity) == results[0]


@pytest.mark.parametrize("policy", POLICIES)
@settings(max_examples=15, deadline=None)
@given(paths=block_paths(), slack=st.integers(0, 6), a=st.integers(0, 50), b=st.integers(0, 9))
def test_engines_agree_under_other_costs(
    policy: str, paths: list[tuple[BlockId, ...]], slack: int, a: int, b: int
) -> None:
    """Costs that are no multiple of a power of two, so that keys are not exact floats."""

    class Cost(BlockCost):
        def cumulative(self, depth: int) -> list[int]:
            return [a * n + b * n * n * n for n in range(depth + 1)]

        def __call__(self, block_ids: object, depth: int, /) -> int:
            n = len(block_ids)  # type: ignore[arg-type]
            table = self.cumulative(depth + n)
            return table[depth + n] - table[depth]

    capacity = (max(map(len, paths)) + slack) * 3

    class Size(BlockSize):
        @property
        def block(self) -> int:
            return 3

    results = [
        replay(paths, POLICIES[policy](), capacity, Size(), Cost(), engine=e)
        for e in engines_of(policy)
    ]
    assert all(result == results[0] for result in results)


def test_the_seven_run_on_every_engine() -> None:
    # A policy that lost its key rule would silently fall out of the comparison above.
    seven = ["lru", "recursive_lru", "landlord", "freq_landlord", "gdsf", "cost_only", "size_only"]
    assert all(len(engines_of(policy)) == 4 for policy in seven)


@pytest.mark.slow
@pytest.mark.traces
@pytest.mark.parametrize("fraction", [0.02, 0.05, 0.10, 0.25])
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("trace", ["conversation", "synthetic"])
def test_engines_agree_on_traces(traces: Path, trace: str, policy: str, fraction: float) -> None:
    paths = paths_of(read_log(traces / f"{trace}_trace.jsonl").requests)
    forest = build_forest(paths)
    capacity = int(fraction * forest.distinct * BlockSize().block)
    default = replay(forest, POLICIES[policy](), capacity)
    for engine in engines_of(policy):
        assert replay(paths, POLICIES[policy](), capacity, engine=engine) == default
