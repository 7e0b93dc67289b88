"""The potential checker: established theory on flat instances, and that it bites.

Broken algorithms must break rows: a checker that never fails checks nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import islice
from random import Random
from typing import Any

import pytest
from campaigns import (
    check_cases,
    draw_survey,
    falling_cases,
    flat_cases,
    forest_cases,
)

from cache_worthy.oracles.optimum.optimal import optimal_schedule
from cache_worthy.theory.algorithms import COSIGNED
from cache_worthy.theory.algorithms.cosigned import CosignedTouch
from cache_worthy.theory.algorithms.cosigned_rate import CosignedRate
from cache_worthy.theory.instance import Instance, InstanceError
from cache_worthy.theory.potential.check import ROWS, check_potential, check_run, weights
from cache_worthy.theory.schedules import random_states
from cache_worthy.theory.steps import (
    Event,
    Evict,
    Load,
    ModelError,
    OptEvict,
    OptLoad,
    Rent,
    Transcription,
)

WITNESS = Instance((None, 0, None, None), (1, 1, 1, 1), (0, 5, 2, 0), (1, 2, 3, 2, 3, 2))
LANDLORDS = ("landlord", "landlord_eager", "landlord_leaf_rent", "landlord_clamped")


def test_the_smallest_witness_row_by_row() -> None:
    report = check_potential(WITNESS, 3, 2, keep_events=True)
    assert report.broken == {"credit-floor": 2, "phi-floor": 1, "bound": 1}
    assert (report.cost, report.offline_cost, report.ratio_bound) == (11, 7, Fraction(3, 2))
    assert [v.describe() for v in report.violations][-1] == (
        "row bound broke at whole run: (b - a) * cost is 22, at most b * offline cost = 21 "
        "allowed, by 1"
    )
    assert len(report.steps) == report.events
    assert report.steps[-1].phi == -1
    assert report.checks["credit-floor"] == 13
    assert not report.vacuous


def test_a_run_without_evictions_is_called_vacuous() -> None:
    report = check_potential(WITNESS, 4, 4)
    assert report.vacuous


def test_an_oracle_schedule_gives_the_same_verdict() -> None:
    schedule = optimal_schedule(WITNESS, 2)
    report = check_potential(WITNESS, 3, 2, schedule=schedule.states)
    assert report.broken["bound"] == 1
    assert report.offline_cost == schedule.cost


@pytest.mark.parametrize("policy", ["landlord", "landlord_eager", *COSIGNED])
def test_flat_instances_are_green(policy: str) -> None:
    tally = check_cases(flat_cases(31), policy, max_replays=60)
    assert not tally.violations, tally.examples
    assert tally.vacuous == 0
    assert tally.worst <= 1


def test_flat_instances_reach_the_bound() -> None:
    """Young's bound is tight: with a worst case sequence the checker sees equality."""
    paging = Instance((None,) * 3, (1,) * 3, (1,) * 3, (0, 1, 2))
    assert check_potential(paging, 2, 1).ratio_bound == 1
    report = check_potential(
        Instance((None,) * 3, (1,) * 3, (1,) * 3, (0, 1, 2, 0, 1, 2)), 2, 1, policy="landlord"
    )
    assert report.cost == report.offline_cost == 6
    assert not report.violations


@pytest.mark.parametrize("policy", COSIGNED)
@pytest.mark.parametrize("schedules", [0, 2])
def test_cosigned_is_green_on_forests(policy: str, schedules: int) -> None:
    tally = check_cases(forest_cases(32), policy, schedules=schedules, seed=1, max_requests=2500)
    assert not tally.violations, tally.examples
    assert tally.vacuous == 0
    assert tally.evictions > 800
    assert set(tally.checks) >= {"opt-load", "opt-evict", "hit", "rent", "evict", "load", "bound"}


@pytest.mark.parametrize("policy", LANDLORDS)
def test_landlord_breaks_on_forests(policy: str) -> None:
    tally = check_cases(forest_cases(33), policy, max_requests=2500)
    broken = set(tally.violations)
    assert broken
    # Only the rent base suffers when credits are kept in range.
    assert (broken == {"rent"}) == (policy in ("landlord_leaf_rent", "landlord_clamped"))
    assert ("credit-floor" in broken) == (policy in ("landlord", "landlord_eager"))


@pytest.mark.parametrize("policy", LANDLORDS)
@pytest.mark.parametrize("hits", ["after", "before"])
def test_exact_ratio_of_landlord_is_green_on_forests(policy: str, hits: str) -> None:
    tally = check_cases(
        forest_cases(34), policy, max_requests=1200, potential="landlord", hits=hits
    )
    assert not tally.violations, tally.examples
    assert tally.evictions > 300


def test_exact_ratio_is_not_slack() -> None:
    """A smaller ratio than ``1 + (h-1)/m`` is exceeded: here 2 by 500/105 > 9/5."""
    wide = Instance(
        (None, 0, *[None] * 5),
        (4, *[1] * 6),
        (0, 100, *[1] * 5),
        (1, *(2 + i % 5 for i in range(400))),
    )
    report = check_potential(wide, 9, 5, potential="landlord")
    assert not report.violations
    assert report.ratio_bound == 5
    assert Fraction(report.cost, report.offline_cost) == Fraction(500, 105)


def test_safe_subcase_needs_hits_keyed_after_the_service() -> None:
    green = check_cases(falling_cases(35), "landlord", max_requests=2500)
    assert not green.violations, green.examples
    assert check_cases(falling_cases(35), "landlord", max_requests=2500, hits="before").violations


@pytest.mark.parametrize("policy", ["density_forgiving", "leaf_pays_path", "lru", "gdsf"])
def test_other_rules_break_rows(policy: str) -> None:
    tally = check_cases(forest_cases(36), policy, schedules=1, max_requests=3000)
    assert tally.violations


def test_signed_credits_need_a_lazy_schedule() -> None:
    states = [frozenset({0, 1})] * 2
    instance = Instance((None, None), (1, 1), (1, 1), (0, 1))
    assert not check_potential(instance, 2, 2, "cosigned", schedule=states).violations
    with pytest.raises(InstanceError, match="off its path"):
        check_potential(instance, 2, 2, "cosigned_touch", schedule=states)


def test_arguments_are_checked() -> None:
    with pytest.raises(InstanceError, match=r"h = 4: expected 1\.\.k"):
        check_potential(WITNESS, 3, 4)
    with pytest.raises(InstanceError, match="largest requested path"):
        check_potential(WITNESS, 3, 1)
    with pytest.raises(InstanceError, match="potential"):
        weights("belady", WITNESS, 3, 2)  # type: ignore[arg-type]


# -- mutants of cosigned ------------------------------------------------------------------------


class NoTakeBack(CosignedRate):
    """A touched path forgets who pays for it, and does not take its sizes back from them."""

    def _process(self, path: tuple[int, ...], missing: tuple[int, ...]) -> Iterator[Event]:
        for u in path[: len(path) - len(missing)]:
            if u not in self._cosigner:
                self._rebase(u)
            self._carry[u] = 0
        yield from super()._process(path, missing)

    def _take_back(self, u: int) -> None:
        self._cosigner.pop(u, None)


class NoTakeBackUnchecked(NoTakeBack):
    """The same, without the check of the rates at every rise of the level."""

    def _check_rates(self, solvent: list[int]) -> None:
        pass


class NotRebased(CosignedRate):
    """A payer's rate changes without charging it up to the present level first."""

    def _rebase(self, u: int) -> None:
        pass


class ForgivenOnHit(CosignedTouch):
    """Touch form in which a hit resets a node whatever it owes."""

    def prepare(self, v: int) -> Iterator[Event]:
        return iter(())


class HalfRate(CosignedRate):
    """A cosigner pays only its own rate."""

    def _add(self, u: int, rate: int) -> None:
        super()._add(u, 0)


def _verdicts(mutant: Callable[[Instance, int], Transcription], seed: int) -> Counter[str]:
    """How runs of a mutant end: rows broken, or the message of the invariant that stopped it."""
    verdicts: Counter[str] = Counter()
    rng = Random(seed)
    for case in islice(forest_cases(seed), 150):
        algorithm = mutant(case.instance, case.k)
        schedule = random_states(case.instance, case.h, rng, lazy=algorithm.signed)
        try:
            report = check_run(algorithm, case.h, name="mutant", schedule=schedule)
        except ModelError as error:
            verdicts[str(error).split(" ")[0]] += 1
        else:
            verdicts.update(report.broken.keys())
    return verdicts


@pytest.mark.parametrize("rule", [CosignedRate, CosignedTouch])
def test_the_unmutated_rule_passes_the_same_runs(
    rule: Callable[[Instance, int], Transcription],
) -> None:
    assert not _verdicts(rule, 37)


def test_sizes_not_taken_back_are_seen_by_the_rate_identity() -> None:
    """The potential alone misses some of them: overpaying need not break a row."""
    assert set(_verdicts(NoTakeBack, 37)) == {"solvent"}  # "solvent nodes pay for ..."
    unchecked = _verdicts(NoTakeBackUnchecked, 37)
    assert sum(unchecked[row] for row in ROWS) < _verdicts(NoTakeBack, 37)["solvent"]


@pytest.mark.parametrize("mutant", [NotRebased, ForgivenOnHit, HalfRate])
def test_mutants_are_caught(mutant: Callable[[Instance, int], Transcription]) -> None:
    assert sum(_verdicts(mutant, 37).values()) > 0


def test_survey_draw_is_a_function_of_the_seed() -> None:
    first = draw_survey(5, 3, ("landlord", *COSIGNED))
    assert first == draw_survey(5, 3, ("landlord", *COSIGNED))
    assert first != draw_survey(6, 3, ("landlord", *COSIGNED))


def test_event_order_shows_in_the_steps() -> None:
    report = check_potential(WITNESS, 3, 2, keep_events=True)
    kinds = [type(s.event) for s in report.steps]
    assert {Rent, Evict, Load, OptLoad, OptEvict} <= set(kinds)
    assert [s.request for s in report.steps] == sorted(s.request for s in report.steps)


@pytest.mark.parametrize(
    ("k", "h", "schedule", "message"),
    [
        (3.0, 2, None, "k = 3.0"),
        ("3", 2, None, "k = '3'"),
        (True, 1, None, "k = True"),
        (3, 2.0, None, "h = 2.0"),
        (3, "2", None, "h = '2'"),
        (3, 2, [frozenset({0, 1, 9})] * 6, "state 0 holds 9"),
        (3, 2, [frozenset({0, 1, -1})] * 6, "state 0 holds -1"),
        (3, 2, [frozenset({"0"})] * 6, "state 0 holds '0'"),
        (3, 2, [[0, 1]] * 6, "state 0 is of type list"),
        (3, 2, [None] * 6, "state 0 is of type NoneType"),
        (3, 2, 7, "expected a sequence of sets, got int"),
    ],
)
def test_bad_arguments_are_instance_errors(k: Any, h: Any, schedule: Any, message: str) -> None:
    with pytest.raises(InstanceError, match=message):
        check_potential(WITNESS, k, h, schedule=schedule)
