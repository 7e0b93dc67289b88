"""Offline schedules: the small search against the oracle (differential) and Belady-like facts."""

from __future__ import annotations

from random import Random

import pytest

from cache_worthy.oracles.optimum.optimal import optimal_cost
from cache_worthy.theory.instance import Instance, InstanceError
from cache_worthy.theory.sampling import random_instance
from cache_worthy.theory.schedules import check_states, moves, optimal_states, random_states
from cache_worthy.theory.steps import OptEvict, OptLoad

SMALL = Instance((None, 0, 0), (1, 1, 1), (1, 2, 3), (1, 2, 1))


def test_optimum_equals_the_oracle() -> None:
    rng = Random(11)
    above = 0
    for _ in range(150):
        instance = random_instance(rng, nodes=rng.randint(2, 8), requests=16, max_path=6)
        h = instance.floor + rng.randint(0, 3)
        cost = check_states(instance, h, optimal_states(instance, h), lazy=True)
        assert cost == optimal_cost(instance, h)
        above += cost > instance.compulsory
    assert above > 50


def test_random_schedules_are_feasible_and_no_cheaper_than_the_optimum() -> None:
    rng = Random(12)
    prefetched = 0
    for _ in range(150):
        instance = random_instance(rng, nodes=rng.randint(2, 8), requests=16, max_path=6)
        h = instance.floor + rng.randint(0, 3)
        best = optimal_cost(instance, h)
        assert check_states(instance, h, random_states(instance, h, rng, lazy=True), lazy=True) >= (
            best
        )
        states = random_states(instance, h, rng)
        assert check_states(instance, h, states) >= best
        try:
            check_states(instance, h, states, lazy=True)
        except InstanceError:
            prefetched += 1
    assert prefetched > 20


def test_moves_keep_the_state_closed() -> None:
    before, after = frozenset({0, 1}), frozenset({0, 2})
    assert list(moves(SMALL, before, after)) == [OptEvict(1), OptLoad(2, 3)]
    assert list(moves(SMALL, after, frozenset())) == [OptEvict(2), OptEvict(0)]


@pytest.mark.parametrize(
    ("states", "message"),
    [
        ([{0, 1}, {0, 2}], "2 states, 3 requests"),
        ([{0, 1}, {0}, {0, 1}], "request 1 to node 2 is not served"),
        ([{0, 1}, {2, 1}, {0, 1}], "not served"),
        ([{0, 1, 2}, {0, 2}, {0, 1}], "more than h = 2"),
    ],
)
def test_infeasible_schedules_are_refused(states: list[set[int]], message: str) -> None:
    with pytest.raises(InstanceError, match=message):
        check_states(SMALL, 2, [frozenset(s) for s in states])


def test_prefetching_is_not_lazy() -> None:
    states = [frozenset({0, 1, 2})] * 3
    assert check_states(SMALL, 3, states) == 6
    with pytest.raises(InstanceError, match="off its path"):
        check_states(SMALL, 3, states, lazy=True)


def test_capacity_below_the_floor_is_refused() -> None:
    with pytest.raises(InstanceError, match="size 2"):
        optimal_states(SMALL, 1)
    with pytest.raises(InstanceError, match="size 2"):
        random_states(SMALL, 1, Random(0))
