"""The constructions: closed forms against exhaustive optima, and the phase argument's two halves."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest

from cache_worthy.oracles.optimum.optimal import optimal_cost
from cache_worthy.theory.algorithms import COSIGNED, exact_cost
from cache_worthy.theory.instance import InstanceError
from cache_worthy.theory.search.adversary import (
    lru_cycle,
    lru_cycle_cost,
    lru_cycle_optimum,
    phase_forest,
    play,
)

LANDLORDS = ("landlord", "landlord_eager", "landlord_leaf_rent", "landlord_clamped")


@pytest.mark.parametrize("k", [2, 3, 4])
@pytest.mark.parametrize("cost", [2, 50])
def test_lru_cycle_closed_forms(k: int, cost: int) -> None:
    for phases in range(1, 6):
        instance = lru_cycle(k, cost, phases)
        assert exact_cost("lru", instance, k) == lru_cycle_cost(k, cost, phases)
        assert optimal_cost(instance, k) == lru_cycle_optimum(k, cost, phases)


def test_one_miss_a_phase_would_be_wrong() -> None:
    """The slip that an earlier closed form made: at k = 2 the optimum misses twice a phase."""
    costs = [optimal_cost(lru_cycle(2, 50, p), 2) for p in range(1, 6)]
    assert [b - a for a, b in itertools.pairwise(costs)] == [2, 2, 2, 2]


def test_the_optimum_needs_a_dear_item_of_at_least_two() -> None:
    with pytest.raises(InstanceError, match="at least 2"):
        lru_cycle_optimum(3, 1, 1)
    with pytest.raises(InstanceError, match="k >= 2"):
        lru_cycle(1, 5, 1)


@pytest.mark.parametrize("unit_sizes", [False, True])
@pytest.mark.parametrize(
    ("k", "h", "path"), [(3, 2, 2), (4, 3, 2), (5, 3, 3), (5, 4, 2), (6, 3, 2)]
)
def test_landlord_phases_never_fall_below_the_floor(
    k: int, h: int, path: int, unit_sizes: bool
) -> None:
    for policy in LANDLORDS:
        for hits in ("after", "before"):
            for tie in ("lru", "mru"):
                game = play(
                    policy, k, h, path, 4, cost=20, unit_sizes=unit_sizes, hits=hits, tie=tie
                )
                assert all(p.ended and p.cost >= game.stage.phase_floor for p in game.phases)


@pytest.mark.parametrize(("k", "h", "path"), [(3, 2, 2), (4, 3, 2), (5, 3, 3), (4, 2, 2)])
def test_the_offline_cost_of_a_phase_is_feasible(k: int, h: int, path: int) -> None:
    """The exhaustive optimum pays no more than ``phases * (m M + h)`` on what was requested."""
    game = play("landlord", k, h, path, 2, cost=5)
    assert optimal_cost(game.instance, h) <= game.offline
    assert exact_cost("landlord", game.instance, k) == game.cost


@pytest.mark.parametrize("policy", COSIGNED)
def test_cosigned_stays_within_the_bound(policy: str) -> None:
    for k, h, path in ((3, 2, 2), (5, 3, 3), (9, 5, 5), (8, 7, 7), (6, 6, 3)):
        game = play(policy, k, h, path, 4, cost=20)
        assert game.ratio <= game.young
        assert all(p.ended for p in game.phases)


def test_landlord_ratio_tends_to_its_limit() -> None:
    ratios = [play("landlord", 9, 5, 5, 3, cost=m).ratio for m in (10, 100, 1000)]
    assert ratios == sorted(ratios)
    assert Fraction(49, 10) < ratios[-1] <= 5


def test_stage_covers_what_the_online_has_more() -> None:
    for k in range(2, 9):
        for h in range(2, k + 1):
            for path in range(1, h + 1):
                stage = phase_forest(k, h, path)
                copy = {u for c in stage.costly[0] for u in stage.forest.path(c)}
                assert sum(stage.forest.size[u] for u in copy) == k - h + 1
                assert stage.m == -(-(k - h + 1) // path)
                assert max(stage.forest.path_size(c) for c in stage.costly[0]) <= path


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((3, 4, 1), "h = 4"), ((3, 1, 1), "h = 1"), ((3, 2, 3), "path = 3"), ((3, 2, 2, 1), "cost")],
)
def test_arguments_are_checked(arguments: tuple[int, ...], message: str) -> None:
    with pytest.raises(InstanceError, match=message):
        phase_forest(*arguments)


def test_a_phase_is_broken_off_at_the_limit() -> None:
    game = play("landlord", 3, 2, 2, 1, cost=1000, limit=10)
    assert not game.phases[0].ended
    assert optimal_cost(game.instance, 2) <= game.offline
    short = play("landlord", 3, 2, 2, 2, cost=1000, limit=2)
    assert [p.units for p in short.phases] == [1, 1]
    assert optimal_cost(short.instance, 2) <= short.offline == 2 * (1000 + 1)
    with pytest.raises(InstanceError, match="phases"):
        play("landlord", 3, 2, 2, 0)
