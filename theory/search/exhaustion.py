"""Small-scope exhaustion: every row at every event, for all real costs and all lazy schedules.

All forests up to a number of nodes, all sizes up to a bound, all request sequences up to a length,
all capacities ``h <= k``. Costs are symbolic (:mod:`cache_worthy.theory.search.symbolic`): the potential
checker itself runs on them, so each of its comparisons is decided for *all* non-negative real
costs, not for a grid. The offline side is every schedule that loads on request only and evicts no
more than it must. So the only thing that is not exhausted inside the scope is a wasteful schedule:
one that loads early or evicts early (the random schedules of ``scripts/check/potential.py`` do).

Only sequences of full length are run, because the rows are checked at every event and so on every
prefix; the row ``bound`` is the sum of the others and is checked at the end, for shorter sequences
``adversary find`` decides it.

Forests of total size at most ``k`` never evict; they are left out and counted as vacuous.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction

from cache_worthy.theory.algorithms import make
from cache_worthy.theory.forests import sized_forests, symmetries
from cache_worthy.theory.instance import Instance
from cache_worthy.theory.potential.check import PotentialName, Report, check_potential, check_run
from cache_worthy.theory.schedules import States
from cache_worthy.theory.search.load_counts import Schedules
from cache_worthy.theory.search.symbolic import Course, Space, courses, symbolic_instance
from cache_worthy.theory.search.task import COUNTING


@dataclass(frozen=True, slots=True)
class Found:
    """A violation with numbers: the instance cut off after the request that shows it."""

    instance: Instance
    """Integer costs of least sum."""
    k: int
    h: int
    schedule: States
    row: str
    """The first row that broke."""
    text: str
    """The checker's own description on these numbers."""


@dataclass(slots=True)
class Scope:
    """What was covered and what was found."""

    policy: str
    potential: PotentialName
    forests: int = 0
    """Sized forests, one per pair ``(k, h)``; ``vacuous`` more fit in ``k`` and were left out."""
    vacuous: int = 0
    sequences: int = 0
    """Request sequences up to symmetry."""
    schedules: int = 0
    """(sequence, offline schedule) pairs."""
    courses: int = 0
    """Runs over disjoint cones of costs that together are all costs."""
    requests: int = 0
    """This and the next three are summed over the courses."""
    events: int = 0
    evictions: int = 0
    checks: int = 0
    """Evaluated rows."""
    broken: Counter[str] = field(default_factory=Counter)
    """Violations of every row."""
    smallest: Found | None = None
    """The one of fewest nodes, then fewest requests."""

    @property
    def violations(self) -> int:
        """Violations of all rows together."""
        return sum(self.broken.values())


def exhaust(
    policy: str,
    max_nodes: int,
    requests: int,
    *,
    max_size: int = 1,
    potential: PotentialName = "young",
    k: int | None = None,
    h: int | None = None,
) -> Scope:
    """Check every row on everything in the scope.

    Parameters
    ----------
    policy : str
        A name in ``ALGORITHMS``.
    max_nodes, requests, max_size : int
        The scope; sequences have exactly ``requests`` requests (see the module).
    potential : {"young", "landlord"}
    k, h : int, optional
        One capacity each; all with ``1 <= h <= k`` when left out.

    Notes
    -----
    Time grows like ``n^T`` times the schedules; see the manifest for scopes and times.
    """
    scope = Scope(policy, potential)
    for n in range(1, max_nodes + 1):
        for parent, size in sized_forests(n, max_size):
            top = max(sum(size), k or 0)
            for kk in (k,) if k is not None else range(1, top + 1):
                for hh in (h,) if h is not None else range(1, kk + 1):
                    if hh > kk:
                        continue
                    if kk >= sum(size):
                        scope.vacuous += 1
                        continue
                    scope.forests += 1
                    _one(scope, Instance(parent, size, (0,) * n, ()), kk, hh, requests)
    return scope


def _one(scope: Scope, forest: Instance, k: int, h: int, length: int) -> None:
    """Everything on one sized forest under one pair of capacities."""
    space = Space(forest.n)
    schedules = Schedules(forest.parent, forest.size, h)
    for sequence in sequences(forest, h, length, repeats=scope.policy in COUNTING):
        scope.sequences += 1
        instance = symbolic_instance(forest.parent, forest.size, space, sequence)
        for states in _schedules(schedules, sequence):
            scope.schedules += 1

            def play(instance: Instance = instance, states: States = states) -> Report:
                return check_run(
                    make(scope.policy, instance, k),
                    h,
                    name=scope.policy,
                    schedule=states,
                    potential=scope.potential,
                )

            for course in courses(space, play, {}, (Fraction(1),) * forest.n):
                report = course.result
                scope.courses += 1
                scope.requests += report.requests
                scope.events += report.events
                scope.evictions += report.evictions
                scope.checks += sum(report.checks.values())
                scope.broken.update(report.broken)
                if report.violations:
                    _keep_smallest(scope, space, course, instance, states)


def _keep_smallest(
    scope: Scope, space: Space, course: Course[Report], symbolic: Instance, states: States
) -> None:
    report = course.result
    first = min(v.request for v in report.violations)
    length = min(first + 1, len(symbolic.requests))
    if scope.smallest is not None:
        best = scope.smallest.instance
        if (best.n, len(best.requests)) <= (symbolic.n, length):
            return
    cost = space.least_integers(course.facts)
    instance = replace(symbolic, cost=cost, requests=symbolic.requests[:length])
    again = check_potential(
        instance,
        report.k,
        report.h,
        policy=scope.policy,
        schedule=states[:length],
        potential=scope.potential,
    )
    violation = again.violations[0]
    scope.smallest = Found(
        instance, report.k, report.h, states[:length], violation.row, violation.describe()
    )


def sequences(
    forest: Instance, h: int, length: int, *, repeats: bool = False
) -> Iterator[tuple[int, ...]]:
    """Request sequences of one length that request every leaf, up to symmetry.

    Parameters
    ----------
    repeats : bool
        Also requests to nodes of the path just served, which change nothing for a policy that does
        not count requests.
    """
    allowed = [v for v in range(forest.n) if forest.path_size(v) <= h]
    kids = forest.children()
    leaves = frozenset(v for v in range(forest.n) if not kids[v])
    if not leaves <= set(allowed):
        return
    paths = [frozenset(forest.path(v)) for v in range(forest.n)]

    def extend(
        done: tuple[int, ...], group: tuple[tuple[int, ...], ...], left: frozenset[int]
    ) -> Iterator[tuple[int, ...]]:
        if len(done) + len(left) > length:
            return
        if len(done) == length:
            yield done
            return
        for v in allowed:
            if done and not repeats and v in paths[done[-1]]:
                continue
            if not any(g[v] < v for g in group):
                yield from extend((*done, v), tuple(g for g in group if g[v] == v), left - {v})

    yield from extend((), symmetries(forest.parent, forest.size), leaves)


def _schedules(schedules: Schedules, sequence: tuple[int, ...]) -> Iterator[States]:
    """All lazy schedules that evict no more than they must."""

    def extend(t: int, mask: int, done: States) -> Iterator[States]:
        if t == len(sequence):
            yield done
            return
        for new in schedules.successors(mask, sequence[t]):
            state = frozenset(u for u in range(schedules.n) if new >> u & 1)
            yield from extend(t + 1, new, (*done, state))

    yield from extend(0, 0, ())
