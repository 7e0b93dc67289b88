"""The existential search against brute force, and on the cases decided before by other means.

Rank of evidence: the smallest witness and the ranges were known before this code existed
(hand-computed and independently searched); brute force over integer costs and the dynamic program
of ``oracles`` are differentials.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from random import Random
from time import monotonic
from typing import Any

import pytest

from cache_worthy.oracles.optimum.optimal import optimal_cost
from cache_worthy.theory.algorithms import ALGORITHMS, exact_cost, run
from cache_worthy.theory.forests import forests, sized_forests, symmetries
from cache_worthy.theory.instance import Instance, InstanceError
from cache_worthy.theory.search.cycles import CycleError, offline_mean, online_mean
from cache_worthy.theory.search.explorer import Explorer, Run
from cache_worthy.theory.search.find import cycle_scope, find
from cache_worthy.theory.search.load_counts import Schedules
from cache_worthy.theory.search.symbolic import Linear, Space, courses, symbolic_instance
from cache_worthy.theory.search.task import Task
from cache_worthy.theory.steps import bound


def test_finds_the_smallest_witness_from_nothing() -> None:
    result = find("landlord", 4, 6, k=3, h=2)
    assert result.status == "sat"
    assert result.complete_nodes == 4
    witness = result.witness
    assert witness is not None
    assert witness.instance.n == 4
    assert len(witness.instance.requests) == 6
    assert witness.online == exact_cost("landlord", witness.instance, 3)
    optimum = optimal_cost(witness.instance, 2)
    assert optimum == witness.offline
    assert Fraction(witness.online) / optimum > bound(3, 2)


@pytest.mark.parametrize(("nodes", "requests"), [(3, 6), (4, 5)])
def test_nothing_smaller_exists(nodes: int, requests: int) -> None:
    result = find("landlord", nodes, requests, k=3, h=2)
    assert (result.status, result.complete_nodes) == ("unsat", nodes)


def test_safe_sub_case_holds_where_the_rule_fails() -> None:
    """The same range that holds the smallest witness, with cost per size falling with depth."""
    assert find("landlord", 4, 6, k=3, h=2, falling=True).status == "unsat"


def test_lru_is_beaten_without_bound_on_flat_instances() -> None:
    witness = find("lru", 4, 5, k=3, h=2).witness
    assert witness is not None
    assert run("lru", witness.instance, 3).cost == witness.online


def test_timeout_reports_what_was_covered() -> None:
    result = find("landlord", 6, 6, timeout=0.05)
    assert result.status == "timeout"
    assert result.witness is None
    assert result.complete_nodes < 6


def test_unknown_policy_is_refused() -> None:
    with pytest.raises(InstanceError, match="expected one of"):
        find("belady", 3, 3)


@pytest.mark.parametrize("ratio", [0, Fraction(99, 100), 1.5])
def test_a_ratio_below_one_is_refused(ratio: Any) -> None:
    """At ``R < 1`` an instance without evictions is a violation, and those are left out."""
    with pytest.raises(InstanceError, match="ratio"):
        find("landlord", 2, 2, ratio=ratio)


def test_the_deadline_holds_while_forests_are_enumerated() -> None:
    """6.25 million size vectors at four nodes, all of which fit in k: no task ever starts."""
    since = monotonic()
    result = find("cosigned", 4, 3, max_size=50, k=200, timeout=1)
    assert result.status == "timeout"
    assert monotonic() - since < 5  # the enumeration takes more than a minute


@pytest.mark.parametrize(("policy", "h"), [("landlord", 2), ("gdsf", 2), ("cosigned", 2)])
def test_agrees_with_brute_force_over_integer_costs(policy: str, h: int) -> None:
    """The worst ratio over small integer costs is found, and nothing that was found is beaten."""
    worst = _worst(policy, 2, h)
    assert worst > 1
    below = find(policy, 3, 4, k=2, h=h, ratio=worst - Fraction(1, 1000))
    assert below.status == "sat"
    above = find(policy, 3, 4, k=2, h=h, ratio=worst)
    if above.witness is not None:  # real costs can do better than the integers tried
        assert above.witness.ratio is None or above.witness.ratio > worst
        assert max(above.witness.instance.cost) > 3
    assert find(policy, 3, 4, k=2, h=h, ratio=worst + 1).status == "unsat"


def _worst(policy: str, k: int, h: int) -> Fraction:
    """The largest ratio on 3 unit nodes, costs 0..3, up to 4 requests."""
    worst = Fraction(0)
    for parent in forests(3):
        for requests in itertools.product(range(3), repeat=4):
            for cost in itertools.product(range(4), repeat=3):
                instance = Instance(parent, (1,) * 3, cost, requests)
                if instance.floor > h or not instance.compulsory:
                    continue
                online = run(policy, instance, k).cost
                if online > worst * instance.compulsory:
                    worst = max(worst, Fraction(online) / optimal_cost(instance, h))
    return worst


@pytest.mark.parametrize("policy", sorted(ALGORITHMS))
def test_symbolic_course_equals_the_concrete_run(policy: str) -> None:
    """The load counts that the symbolic run predicts, at costs inside its cone."""
    rng = Random(f"courses {policy}")
    for _ in range(12):
        n = rng.randint(3, 5)
        parent = rng.choice(list(forests(n)))
        size = tuple(rng.randint(1, 2) for _ in range(n))
        cost = tuple(Fraction(rng.randint(0, 6), rng.randint(1, 3)) for _ in range(n))
        requests = tuple(rng.randrange(n) for _ in range(7))
        instance = Instance(parent, size, cost, requests)
        k = max(instance.floor, sum(size) - 2)
        space = Space(n)
        space.begin({}, cost, ())
        symbolic = ALGORITHMS[policy](symbolic_instance(parent, size, space), k)
        for v in requests:
            symbolic.step(v)
        assert space.holds(space.facts, cost)
        total = symbolic.cost
        assert isinstance(total, Linear)
        predicted = sum(a * c for a, c in zip(total.coefs, cost, strict=True))
        assert predicted == run(policy, instance, k).cost


def test_load_counts_give_the_optimum() -> None:
    rng = Random(7)
    for _ in range(60):
        n = rng.randint(2, 6)
        parent = rng.choice(list(forests(n)))
        size = tuple(rng.randint(1, 3) for _ in range(n))
        cost = tuple(rng.randint(0, 5) for _ in range(n))
        instance = Instance(parent, size, cost, tuple(rng.randrange(n) for _ in range(7)))
        h = instance.floor + rng.randint(0, 2)
        schedules = Schedules(parent, size, h)
        layer = schedules.start()
        for v in instance.requests:
            layer = schedules.advance(layer, v)
        least = min(
            sum(a * c for a, c in zip(vector, cost, strict=True))
            for vector in schedules.vectors(layer)
        )
        assert least == optimal_cost(instance, h)


def test_courses_split_the_costs_without_overlap() -> None:
    """Sorting three unknowns: 13 weak orders, each with a model that belongs to it alone."""
    space = Space(3)

    def play() -> tuple[bool, ...]:
        a, b, c = (space.unit(v) for v in range(3))
        return (a < b, a == b, b < c, b == c, a < c, a == c)

    found = list(courses(space, play, {}, (Fraction(1),) * 3))
    assert len(found) == len({c.result for c in found}) == 13
    for course in found:
        assert [space.holds(other.facts, course.model) for other in found].count(True) == 1


def test_a_constant_never_slips_into_a_cost() -> None:
    space = Space(2)
    with pytest.raises(TypeError, match="constant"):
        _ = space.unit(0) + 1
    assert (space.unit(0) + 0).coefs == (1, 0)


def test_sized_forests_are_distinct_up_to_symmetry() -> None:
    seen = set()
    for parent, size in sized_forests(4, 2):
        images = frozenset(
            tuple(size[g[v]] for v in range(4)) for g in symmetries(parent, (1,) * 4)
        )
        assert (parent, images) not in seen
        seen.add((parent, images))
    # Every labelled size vector is the image of one of them.
    assert sum(len(images) for _, images in seen) == 9 * 2**4


# -- cycles ---------------------------------------------------------------------------------------

CYCLE = Instance((None, 0, None, None), (1,) * 4, (0, 9, 2, 2), (1, 2, 3, 2, 3, 2, 3))


def test_published_cycle() -> None:
    assert offline_mean(CYCLE, 2) == 13
    assert online_mean("landlord", CYCLE, 3) == 20
    assert online_mean("landlord_keys", CYCLE, 3) == 20
    assert online_mean("landlord_eager", CYCLE, 3) == 21
    assert online_mean("cosigned", CYCLE, 3) <= Fraction(3, 2) * 13


@pytest.mark.parametrize(
    ("policy", "cost", "requests", "online", "offline"),
    [
        ("landlord", (0, 7, 2, 2), (1, 2, 3, 2, 3, 2, 3), 17, 11),
        ("landlord_eager", (0, 3, 1, 1), (1, 2, 3, 2, 3, 2), 8, 5),
    ],
)
def test_cycles_found_by_the_search(
    policy: str, cost: tuple[int, ...], requests: tuple[int, ...], online: int, offline: int
) -> None:
    """What ``adversary find --cycle`` returned (minutes); here only the replay."""
    instance = Instance((None, 0, None, None), (1,) * 4, cost, requests)
    assert online_mean(policy, instance, 3) == online
    assert offline_mean(instance, 2) == offline
    assert online > bound(3, 2) * offline


def test_cycle_mean_is_the_limit_of_finite_optima() -> None:
    """n repetitions cost at least n means, and at most that plus a constant."""
    rng = Random(3)
    for _ in range(10):
        parent = rng.choice(list(forests(4)))
        cost = tuple(rng.randint(0, 5) for _ in range(4))
        requests = tuple(rng.randrange(4) for _ in range(4))
        instance = Instance(parent, (1,) * 4, cost, requests)
        h = max(2, instance.floor)
        mean = offline_mean(instance, h)
        for times in (6, 12):
            total = optimal_cost(Instance(parent, (1,) * 4, cost, requests * times), h)
            assert times * mean <= total <= times * mean + 2 * sum(cost) * len(requests)


def test_search_for_cycles_says_unsat_below_the_shortest() -> None:
    assert find("landlord", 4, 4, k=3, h=2, cycle=True).status == "unsat"


@pytest.mark.parametrize(
    ("policy", "seen"), [("landlord", True), ("landlord_keys", True), ("freq_landlord", False)]
)
def test_the_search_sees_the_published_cycle(policy: str, seen: bool) -> None:
    """On this forest and cycle alone, over all costs: a counter nobody reads would hide it."""
    task = Task(policy, CYCLE.parent, CYCLE.size, 3, 2, len(CYCLE.requests), cycle=True)
    explorer = Explorer(task, None)
    algorithm = ALGORITHMS[policy](explorer.instance, 3)
    runs = [Run(algorithm, {}, (Fraction(1),) * 4, (0,) * 4)]
    layer = explorer.schedules.start()
    for v in CYCLE.requests:
        layer = explorer.schedules.advance(layer, v)
    runs = explorer._repeat(runs, CYCLE.requests)
    assert explorer._cycle_violated(CYCLE.requests, runs, layer) is seen


def test_frequencies_return_only_where_every_node_is_evicted() -> None:
    """What ``cycle_scope`` says of the policies that count requests."""
    kept = Instance((None, None), (1, 1), (1, 1), (0, 1))
    evicted = Instance((None,) * 3, (1,) * 3, (1,) * 3, (0, 1, 2))
    for policy in ("gdsf", "freq_landlord"):
        assert "evict every node" in cycle_scope(policy)
        with pytest.raises(CycleError):
            online_mean(policy, kept, 2, max_cycles=50)
        assert online_mean(policy, evicted, 2) == 3
    assert "evict" not in cycle_scope("landlord_keys")


def test_online_mean_refuses_to_guess() -> None:
    with pytest.raises(CycleError):
        online_mean("landlord", CYCLE, 3, max_cycles=0)
