"""The dynamic program: hand-computed answers, established theory, invariances, and refusals."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle_cases import instances

from cache_worthy.oracles.optimum.optimal import optimal_cost, optimal_schedule
from cache_worthy.oracles.schedule import OracleError, ScheduleError, check_schedule
from cache_worthy.theory.instance import Instance, Number


def exhaustive(instance: Instance, capacity: int) -> Number:
    """Every schedule there is: all ancestor-closed fitting states, no pruning, no laziness."""
    nodes = range(instance.n)
    closed = [
        frozenset(s)
        for r in range(instance.n + 1)
        for s in combinations(nodes, r)
        if all(instance.parent[u] is None or instance.parent[u] in s for u in s)
        and sum(instance.size[u] for u in s) <= capacity
    ]
    layer: dict[frozenset[int], Number] = {frozenset(): 0}
    for v in instance.requests:
        path = frozenset(instance.path(v))
        following: dict[frozenset[int], Number] = {}
        for new in closed:
            if path <= new:
                prices = [
                    paid + sum((instance.cost[u] for u in new - old), 0)
                    for old, paid in layer.items()
                    if new - old <= path
                ]
                if prices:
                    following[new] = min(prices)
        layer = following
    return min(layer.values())


@settings(max_examples=150, deadline=None)
@given(instances(max_nodes=5, max_requests=6))
def test_equals_unpruned_enumeration(case: tuple[Instance, int]) -> None:
    instance, capacity = case
    assert optimal_cost(instance, capacity) == exhaustive(instance, capacity)


@settings(max_examples=100, deadline=None)
@given(instances())
def test_schedule_is_feasible_and_costs_the_optimum(case: tuple[Instance, int]) -> None:
    instance, capacity = case
    schedule = optimal_schedule(instance, capacity)
    assert check_schedule(instance, capacity, schedule.states) == schedule.cost
    assert schedule.cost >= instance.compulsory


@settings(max_examples=60, deadline=None)
@given(instances())
def test_monotone_in_capacity_and_compulsory_when_all_fits(case: tuple[Instance, int]) -> None:
    instance, _ = case
    total = sum(instance.size[u] for u in instance.touched())
    costs = [optimal_cost(instance, c) for c in range(instance.floor, total + 1)]
    assert costs == sorted(costs, reverse=True)
    assert costs[-1:] in ([], [instance.compulsory])


@settings(max_examples=60, deadline=None)
@given(instances(), st.randoms(use_true_random=False))
def test_invariant_under_relabelling(case: tuple[Instance, int], random: object) -> None:
    instance, capacity = case
    new = list(range(instance.n))
    random.shuffle(new)  # type: ignore[attr-defined]
    old = [new.index(i) for i in range(instance.n)]
    other = Instance(
        parent=tuple(None if (p := instance.parent[v]) is None else new[p] for v in old),
        size=tuple(instance.size[v] for v in old),
        cost=tuple(instance.cost[v] for v in old),
        requests=tuple(new[v] for v in instance.requests),
    )
    assert optimal_cost(other, capacity) == optimal_cost(instance, capacity)


@settings(max_examples=60, deadline=None)
@given(instances(), st.integers(1, 5), st.fractions(Fraction(1, 3), 3, max_denominator=5))
def test_scales_with_sizes_and_costs(
    case: tuple[Instance, int], stretch: int, price: Fraction
) -> None:
    instance, capacity = case
    other = Instance(
        parent=instance.parent,
        size=tuple(stretch * s for s in instance.size),
        cost=tuple(price * c for c in instance.cost),
        requests=instance.requests,
    )
    # A capacity that is no multiple of the stretch holds nothing more.
    larger = stretch * capacity + stretch - 1
    assert optimal_cost(other, larger) == price * optimal_cost(instance, capacity)


@settings(max_examples=60, deadline=None)
@given(instances(max_requests=7), st.data())
def test_repeating_a_request_at_once_costs_nothing(
    case: tuple[Instance, int], data: st.DataObject
) -> None:
    instance, capacity = case
    if not instance.requests:
        return
    at = data.draw(st.integers(0, len(instance.requests) - 1))
    doubled = instance.requests[: at + 1] + instance.requests[at:]
    other = Instance(instance.parent, instance.size, instance.cost, doubled)
    assert optimal_cost(other, capacity) == optimal_cost(instance, capacity)


@pytest.mark.parametrize(
    ("parent", "size", "cost", "requests", "capacity", "expected"),
    [
        # Smallest witness against Landlord's bound (spec/theory): the optimum keeps (0, 1) out.
        ((None, 0, None, None), (1,) * 4, (0, 5, 2, 0), (1, 2, 3, 2, 3, 2), 2, 7),
        ((None, None, None, None, 0, 1), (1,) * 6, (0, 0, 0, 3, 4, 4), (4, 5, 3, 2, 3), 2, 11),
        # By hand: keeping 1 (cost 9) over the scan of 2, 3 saves one load of it.
        ((None, None, None, None), (1,) * 4, (1, 9, 1, 1), (1, 2, 3, 2, 1), 2, 9 + 1 + 1 + 1),
        # The heavy leaf blocks: keeping 1 needs its root too, leaving no room for 2's path.
        ((None, 0, None, 2), (1, 1, 1, 1), (3, 3, 1, 1), (1, 3, 1), 3, 3 + 3 + 2 + 3),
        # Sizes: one large file against two small ones.
        ((None, None, None), (2, 1, 1), (3, 2, 2), (0, 1, 2, 0, 1, 2), 2, 14),
        ((None,), (1,), (Fraction(5, 2),), (0, 0), 1, Fraction(5, 2)),
        ((), (), (), (), 0, 0),
    ],
)
def test_known_answers(
    parent: tuple[int | None, ...],
    size: tuple[int, ...],
    cost: tuple[Number, ...],
    requests: tuple[int, ...],
    capacity: int,
    expected: Number,
) -> None:
    assert optimal_cost(Instance(parent, size, cost, requests), capacity) == expected


@pytest.mark.parametrize("capacity", [1, 0, -3, True, 2.5])
def test_refuses_a_capacity_under_the_floor(capacity: int) -> None:
    instance = Instance((None, 0), (1, 1), (1, 1), (1,))
    with pytest.raises(OracleError, match="capacity"):
        optimal_cost(instance, capacity)


@pytest.mark.parametrize(
    ("states", "message"),
    [
        ([{0, 1}], "1 states for 2"),
        ([{0, 1}, {0}], "not resident"),
        ([{0, 1}, {0, 2, 1, 3}], "capacity"),
        ([{0, 1, 2}, {0, 2}], "loaded but not requested"),
        ([{0, 1}, {0, 2, 4}], "without its parent"),
    ],
)
def test_the_schedule_check_bites(states: list[set[int]], message: str) -> None:
    instance = Instance((None, 0, 0, None, 3), (1,) * 5, (1,) * 5, (1, 2))
    with pytest.raises(ScheduleError, match=message):
        check_schedule(instance, 3, states)
