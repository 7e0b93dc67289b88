"""Question 4: the split against exhaustive optima (rank 2), by hand (rank 4), on the trace (rank 1)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cache_worthy.advise.analysis import Analysis, Options, analyze
from cache_worthy.advise.recoverable import RULE, Recoverable
from cache_worthy.logs.log import Log
from cache_worthy.logs.session import read_log
from cache_worthy.oracles.optimum.optimal import optimal_cost
from cache_worthy.sim.cost import BlockCost
from cache_worthy.sim.forest import build_forest
from cache_worthy.sim.trace import BlockId, Request
from cache_worthy.theory.instance import Instance

Run = Callable[..., tuple[int, str, str]]


def _log(paths: list[tuple[BlockId, ...]]) -> Log:
    return Log(
        source="-",
        sha256="",
        format="native",
        field="hash_ids",
        requests=[Request(p, 512 * len(p)) for p in paths],
        block_tokens=512,
        chars_per_block=None,
        skipped_truncated=0,
        length_mismatches=0,
    )


def _instance(paths: list[tuple[BlockId, ...]]) -> Instance:
    """The same traffic block by block in the formal model."""
    forest = build_forest(paths)
    parent = tuple(None if p < 0 else p for p in forest.block_parent)
    depth: list[int] = []
    for above in forest.block_parent:
        depth.append(0 if above < 0 else depth[above] + 1)
    cost = BlockCost()
    return Instance(
        parent=parent,
        size=(1,) * forest.distinct,
        cost=tuple(cost((0,), d) for d in depth),
        requests=tuple(forest.path(r)[-1] for r in range(forest.requests)),
    )


def _check_row(row: Recoverable, compulsory: int) -> None:
    assert row.certified
    assert compulsory <= row.lower_bound <= row.feasible_cost <= row.best_cost <= row.lru_cost
    excess = row.lru_cost - compulsory
    assert row.recoverable_fraction == 1 - row.lower_bound / row.lru_cost
    if not excess:
        assert row.word == "nothing to recover"
        assert row.only_memory is row.undecided is row.foresight is row.best_shipped is None
        return
    assert row.only_memory is not None
    assert row.undecided is not None
    assert row.foresight is not None
    assert row.best_shipped is not None
    assert row.only_memory + row.undecided + row.foresight == pytest.approx(1)
    assert row.best_shipped <= row.undecided + row.foresight + 1e-12
    assert row.word == ("capacity-bound" if row.only_memory >= 0.5 else "policy-bound")
    if row.feasible_cost == compulsory:
        assert "exactly the compulsory minimum" in row.verdict
        assert "information about the future, not slack of the bound" in row.verdict


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.lists(st.integers(0, 1), min_size=1, max_size=3).map(tuple), min_size=4, max_size=14
    )
)
def test_the_bracket_holds_the_exhaustive_optimum(paths: list[tuple[BlockId, ...]]) -> None:
    analysis = analyze(_log(paths), Options())
    if analysis.bound is None:
        assert not analysis.worth.worth_caching
        return
    instance = _instance(paths)
    for row in analysis.bound.rows:
        _check_row(row, analysis.bound.compulsory_cost)
        best = optimal_cost(instance, row.blocks)
        assert row.lower_bound <= best <= row.feasible_cost


def test_by_hand() -> None:
    """Two prompts of one block in turn, one place: every request misses, whoever decides.

    With the floor of one block nothing can be kept, so all of the excess is beyond every policy.
    """
    analysis = analyze(_log([(1,), (2,)] * 5), Options())
    assert analysis.bound is not None
    floor = analysis.bound.rows[0]
    assert floor.blocks == 1
    assert floor.lower_bound == floor.lru_cost == 10 * BlockCost()((1,), 0)
    assert (floor.only_memory, floor.foresight, floor.word) == (1.0, 0.0, "capacity-bound")
    full = analysis.bound.rows[-1]
    assert full.blocks == 2
    assert full.word == "nothing to recover"


def test_foresight_by_hand() -> None:
    """Three prompts of one block round and round, two places.

    LRU misses always: 12 loads. With foresight: 1, 2 and 3 miss (3 replaces 2, whose next use is
    farther than 1's), then 1 hit, 2 miss, 3 hit, 1 miss, 2 hit, 3 miss, 1 hit, 2 miss, 3 hit:
    3 + 4 = 7 loads.
    """
    analysis = analyze(_log([(1,), (2,), (3,)] * 4), Options(capacity=lambda n, size: 2 * size))
    assert analysis.bound is not None
    unit = BlockCost()((1,), 0)
    row = next(r for r in analysis.bound.rows if r.blocks == 2)
    assert row.lru_cost == 12 * unit
    assert row.feasible_cost == 7 * unit
    assert row.lower_bound <= 7 * unit


def test_no_bound_skips_it(run: Run, sample: Path) -> None:
    code, out, _ = run("analyze", sample, "--no-bound")
    assert code == 0
    assert "NOT ASKED" in out
    assert "Nothing here is a bound." in " ".join(out.split())
    code, out, _ = run("analyze", sample)
    assert RULE in " ".join(out.replace("policy-\n    bound", "policy-bound").split())
    assert "certified" in out


@pytest.mark.traces
def test_conversation_at_2_percent(traces: Path) -> None:
    """The figures of the reference bound: 25.0 percent at most, 24.9 really recovered."""
    analysis: Analysis = analyze(read_log(traces / "conversation_trace.jsonl"), Options())
    assert analysis.bound is not None
    rows = {round(r.fraction, 4): r for r in analysis.bound.rows}
    for row in rows.values():
        _check_row(row, analysis.bound.compulsory_cost)
    two = rows[0.02]
    assert two.lower_bound_ratio == pytest.approx(1.080794, abs=1e-5)
    assert round(two.recoverable_fraction, 3) == 0.250
    assert two.word == "policy-bound"
    for fraction in (0.05, 0.1, 0.25):
        assert rows[fraction].feasible_ratio == 1.0
