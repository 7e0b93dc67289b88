"""The certified bound: never above the optimum, for any prices; and close to what the rows allow.

Evidence: the exact optimum (dynamic program) on random block traces with costs of any shape; the
chain program's exact optimum as a circulation; mutations that drop an argument and are caught.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from random import Random

import pytest
from block_replay import keep_until, replay_blocks
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle_cases import block_cases, instance_of_trace

from cache_worthy.oracles import solver as solver_module
from cache_worthy.oracles.bound import groups as groups_module
from cache_worthy.oracles.bound import lp as lp_module
from cache_worthy.oracles.bound import offline as bound_module
from cache_worthy.oracles.bound.certificate import Prices, certify, evaluate
from cache_worthy.oracles.bound.clairvoyant import round_relaxation, tree_belady
from cache_worthy.oracles.bound.flow import chain_optimum
from cache_worthy.oracles.bound.groups import (
    Grouped,
    group_references,
    trace_of_instance,
    trace_of_requests,
)
from cache_worthy.oracles.bound.lp import ROWS, Link, relax
from cache_worthy.oracles.bound.offline import offline_bound
from cache_worthy.oracles.optimum.optimal import optimal_cost
from cache_worthy.oracles.schedule import OracleError
from cache_worthy.sim.radix.policies import POLICIES
from cache_worthy.sim.radix.replay import replay

Case = tuple[list[tuple[int, ...]], list[int], int]

# A scan between two uses of abc: hull, chain, A2 and A3 all have something to say.
LOOP = [(1, 2, 3), (4, 5), (1, 2, 3), (4, 5), (6,), (1, 2, 3), (4, 5), (1, 7)]


@settings(max_examples=60, deadline=None)
@given(block_cases())
def test_below_and_above_the_optimum(case: Case) -> None:
    requests, cost, capacity = case
    trace = trace_of_requests(requests, cost)
    grouped = group_references(trace)
    optimum = int(optimal_cost(instance_of_trace(trace), capacity) * trace.unit)
    flow = chain_optimum(trace, grouped, capacity) * trace.unit
    lower = {rows: offline_bound(trace, capacity, rows=rows) for rows in ROWS}
    assert flow <= optimum
    for rows, bound in lower.items():
        assert bound.compulsory <= bound.lower <= optimum <= bound.feasible <= bound.belady, rows
    assert lower["chain"].certified.bound * trace.unit <= flow
    # Rounding a price to 1/1000 moves the dual value by at most half of that a unit of room or
    # of demand; beyond it, the rounded duals would not be the program's.
    slack = sum(capacity - p for p in grouped.pinned)
    slack += sum(g.size * (g.end - g.start - 1) for g in grouped.groups)
    if lower["chain"].belady > lower["chain"].compulsory:
        gap = flow - lower["chain"].certified.bound * trace.unit
        assert gap <= Fraction(slack, 1999) * trace.unit


@settings(max_examples=200, deadline=None)
@given(block_cases(), st.randoms(use_true_random=False))
def test_any_prices_bound_from_below(case: Case, random: Random) -> None:
    requests, cost, capacity = case
    trace = trace_of_requests(requests, cost)
    grouped = group_references(trace)
    rows = lp_module._dependency_rows(trace, grouped, every=True)
    prices = Prices(
        denominator=random.choice([1, 2, 7]),
        room=tuple(random.choice([0, 0, 1, 2, 5, 40]) for _ in trace.terminal),
        links=tuple((row.link, random.choice([1, 3, 20])) for row in rows if random.random() < 0.7),
    )
    optimum = optimal_cost(instance_of_trace(trace), capacity)
    assert evaluate(trace, grouped, capacity, prices) <= optimum


def test_links_are_exercised_and_tighten() -> None:
    """On a seeded sample the dependency rows raise the certified bound, and A3 above A2."""
    rng = Random(11)
    raised = {"A2": 0, "A3": 0}
    for _ in range(150):
        requests = [tuple(rng.randrange(2) for _ in range(rng.randint(1, 4))) for _ in range(12)]
        trace = trace_of_requests(requests, [0, 1, 2, 5, 12])
        capacity = max(4, len(trace.parent) // 2)
        chain, a2, a3 = (offline_bound(trace, capacity, rows=r).certified for r in ROWS)
        assert chain.bound <= a2.bound + Fraction(1, 10) <= a3.bound + Fraction(2, 10)
        raised["A2"] += a2.bound > chain.bound
        raised["A3"] += a3.bound > a2.bound and a3.rows == "A3"
    assert min(raised.values()) > 0, raised


def test_the_hull_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the hull, where cost falls with depth, the "bound" exceeds the optimum."""

    def chord(trace: object, above: int, bottom: int) -> tuple[tuple[int, int], ...]:
        return real(trace, above, bottom)[-1:]  # type: ignore[arg-type]

    real = groups_module.hull_of
    trace = trace_of_requests([(1, 2), (3,), (1, 2)], [0, 10, 11])
    optimum = optimal_cost(instance_of_trace(trace), 2)
    assert offline_bound(trace, 2).lower == optimum
    monkeypatch.setattr(groups_module, "hull_of", chord)
    broken = group_references(trace)
    assert broken.ceiling - relax(trace, broken, 2).saved > float(optimum) + 1


def test_the_pinned_path_is_what_makes_it_tight() -> None:
    """By hand: a b c a b c, room for 2, of which the path of the moment takes one.

    Keep a over b and c, then c over a and b: 4 loads. With the path's block not counted there
    would be room to keep everything, and the bound would be 3.
    """
    trace = trace_of_requests([(1,), (2,), (3,), (1,), (2,), (3,)], [0, 1])
    assert offline_bound(trace, 2).lower == optimal_cost(instance_of_trace(trace), 2) == 4
    grouped = group_references(trace)
    unpinned = Grouped(grouped.groups, [0] * 6, grouped.compulsory)
    assert chain_optimum(trace, unpinned, 2) == 3


@settings(max_examples=60, deadline=None)
@given(block_cases())
def test_no_simulated_policy_beats_the_bound(case: Case) -> None:
    requests, cost, capacity = case
    lower = offline_bound(trace_of_requests(requests, cost), capacity).lower

    def price(ids: Sequence[object], depth: int) -> int:
        return cost[depth + len(ids)] - cost[depth]

    def unit(ids: Sequence[object], depth: int) -> int:
        return len(ids)

    for name, factory in POLICIES.items():
        assert replay(requests, factory(), capacity, unit, price).total_cost >= lower, name


@settings(max_examples=60, deadline=None)
@given(block_cases(), st.randoms(use_true_random=False))
def test_labels_of_blocks_mean_nothing(case: Case, random: Random) -> None:
    requests, cost, capacity = case
    names = [f"block {i}" for i in range(3)]
    random.shuffle(names)
    trace = trace_of_requests(requests, cost)
    other = trace_of_requests([[names[b] for b in r] for r in requests], lambda d: cost[d])
    assert other.digest() == trace.digest()
    assert offline_bound(other, capacity).lower == offline_bound(trace, capacity).lower


def test_the_digest_tells_traces_apart() -> None:
    cost = [0, 1, 2]
    digests = {
        trace_of_requests(r, cost).digest()
        for r in ([(1, 2)], [(1,), (2,)], [(1, 2), (1, 2)], [(1,), (1, 2)], [(1, 2), (2, 1)], [])
    }
    assert len(digests) == 6
    assert (
        trace_of_requests([(), (1, 2)], cost).digest() == trace_of_requests([(1, 2)], cost).digest()
    )


@settings(max_examples=100, deadline=None)
@given(block_cases(max_requests=20))
def test_replay_over_groups_equals_replay_over_blocks(case: Case) -> None:
    requests, cost, capacity = case
    trace = trace_of_requests(requests, cost)
    grouped = group_references(trace)
    assert tree_belady(trace, grouped, capacity) == replay_blocks(trace, capacity, None)
    kept = relax(trace, grouped, capacity, rows="A3").kept
    rounded = round_relaxation(trace, grouped, capacity, kept)
    assert rounded == replay_blocks(trace, capacity, keep_until(trace, grouped, kept))


@pytest.mark.parametrize("window", [2, 3, 5, 50])
def test_ascent_never_passes_the_program(window: int) -> None:
    rng = Random(window)
    close = 0
    for _ in range(12):
        requests = [tuple(rng.randrange(3) for _ in range(rng.randint(1, 3))) for _ in range(30)]
        trace = trace_of_requests(requests, [0, 3, 7, 12])
        grouped = group_references(trace)
        capacity = max(3, len(trace.parent) // 3)
        whole = chain_optimum(trace, grouped, capacity)
        found = offline_bound(trace, capacity, window=window)
        assert found.certified.bound <= whole
        assert found.certified.rows == "chain"
        close += found.certified.bound >= whole * Fraction(98, 100)
    assert close >= (12 if window == 50 else 8)


def test_cbc_and_highs_agree() -> None:
    trace = trace_of_requests(LOOP * 3, [0, 2, 5, 9])
    for rows in ROWS:
        one, two = (offline_bound(trace, 4, rows=rows, solver=s) for s in ("highs", "cbc"))
        assert one.lower == two.lower
        assert one.solver.startswith("highs")
        assert two.solver.startswith("cbc")


def test_falls_back_to_cbc(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = trace_of_requests(LOOP * 3, [0, 2, 5, 9])
    expected = offline_bound(trace, 4).lower
    monkeypatch.setattr(solver_module, "available", lambda: ("cbc",))
    found = offline_bound(trace, 4)
    assert found.solver.startswith("cbc")
    assert found.lower == expected


def test_interrupted_before_the_program_keeps_one_price(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = trace_of_requests(LOOP * 3, [0, 2, 5, 9])
    whole = offline_bound(trace, 4)

    def interrupt(*args: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(bound_module, "relax", interrupt)
    cut = offline_bound(trace, 4)
    assert cut.interrupted
    assert not whole.interrupted
    assert cut.compulsory < cut.lower <= whole.lower <= whole.feasible <= cut.feasible


@pytest.mark.parametrize("solved", [0, 1, 3, 7])
def test_interrupted_ascent_keeps_what_it_has(solved: int, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = trace_of_requests(LOOP * 4, [0, 2, 5, 9])
    whole = offline_bound(trace, 4, window=8)
    left = [solved]

    class Interrupting(lp_module.Chain):
        def solve(self, solver: str | None) -> lp_module.Relaxation:
            if not left[0]:
                raise KeyboardInterrupt
            left[0] -= 1
            return super().solve(solver)

    monkeypatch.setattr(bound_module, "Chain", Interrupting)
    cut = offline_bound(trace, 4, window=8)
    assert cut.interrupted
    assert cut.compulsory < cut.lower <= whole.lower


def test_progress_is_told() -> None:
    lines: list[str] = []
    offline_bound(trace_of_requests(LOOP, [0, 2, 5, 9]), 4, window=4, progress=lines.append)
    assert any("pass 1, request 4 of 8" in line for line in lines)


@pytest.mark.parametrize(
    ("cost", "message"),
    [
        ([0, 5, 4, 9], "below 5 at depth 1"),
        ([0, 1], "the deepest path needs 4"),
        ([0, 1.5, 2, 3], "exact integer"),
        ([1, 2, 3, 4], "depth 0 = 1"),
        (lambda d: -d, "must not fall"),
    ],
)
def test_refuses_costs(cost: list[int], message: str) -> None:
    with pytest.raises(OracleError, match=message):
        trace_of_requests([(1, 2, 3)], cost)


def test_refuses_a_capacity_under_the_longest_path_and_an_empty_trace() -> None:
    trace = trace_of_requests(LOOP, [0, 2, 5, 9])
    with pytest.raises(OracleError, match="the largest requested path needs 3"):
        offline_bound(trace, 2)
    with pytest.raises(OracleError, match="nothing to bound"):
        offline_bound(trace_of_requests([(), ()], [0]), 2)


def test_evaluate_refuses_what_is_no_multiplier() -> None:
    trace = trace_of_requests(LOOP, [0, 2, 5, 9])
    grouped = group_references(trace)
    with pytest.raises(OracleError, match="negative"):
        evaluate(trace, grouped, 4, Prices(1, (0,) * 7 + (-1,)))
    with pytest.raises(OracleError, match="negative"):
        evaluate(trace, grouped, 4, Prices(1, (0,) * 8, ((Link(2, 1, 2), -1),)))
    with pytest.raises(OracleError, match="7 prices for 8"):
        evaluate(trace, grouped, 4, Prices(1, (0,) * 7))
    assert certify(trace, grouped, 4, [-5.0] * 8).bound == grouped.compulsory


def test_an_instance_with_fractions() -> None:
    from cache_worthy.theory.instance import Instance

    instance = Instance(
        (None, 0, None), (1, 2, 1), (Fraction(1, 2), Fraction(3, 2), 1), (1, 2, 1, 2, 1)
    )
    trace = trace_of_instance(instance)
    bound = offline_bound(trace, 3)
    assert bound.certified.bound * trace.unit <= optimal_cost(instance, 3)
