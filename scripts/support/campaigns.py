"""Batches of potential checks: the flat gate, the dependency survey, random forests.

Each returns counts that a caller can hold against an expectation; runs without an eviction are
counted apart as vacuous, because a check that passes without evicting has checked nothing about
eviction.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from random import Random
from typing import Any

from cache_worthy.theory.algorithms import ALGORITHMS
from cache_worthy.theory.instance import Instance
from cache_worthy.theory.potential.check import ROWS, PotentialName, Report, check_potential
from cache_worthy.theory.sampling import random_instance
from cache_worthy.theory.schedules import random_states


@dataclass(frozen=True, slots=True)
class Case:
    """An instance with its capacities; ``name`` is how reports call it."""

    name: str
    instance: Instance
    k: int
    h: int


@dataclass(slots=True)
class Tally:
    """Sums over many checked runs of one policy.

    Attributes
    ----------
    replays, vacuous, drawn, requests, events, evictions : int
        ``drawn`` counts the requests of every case once, ``requests`` once per replay.
    checks, violations : Counter of str
        By row.
    broken_replays : Counter of str
        In how many replays a row broke at least once.
    worst : float
        Largest ratio to the offline cost over the ratio bound (display only; the ``bound`` row
        decides exactly).
    examples : dict of str to str
        The first violation of every row.
    """

    policy: str
    replays: int = 0
    vacuous: int = 0
    drawn: int = 0
    requests: int = 0
    events: int = 0
    evictions: int = 0
    checks: Counter[str] = field(default_factory=Counter)
    violations: Counter[str] = field(default_factory=Counter)
    broken_replays: Counter[str] = field(default_factory=Counter)
    worst: float = 0.0
    examples: dict[str, str] = field(default_factory=dict)

    def add(self, report: Report, name: str) -> None:
        """Count one run."""
        self.replays += 1
        self.vacuous += report.vacuous
        self.requests += report.requests
        self.events += report.events
        self.evictions += report.evictions
        self.checks.update(report.checks)
        self.violations.update(report.broken)
        self.broken_replays.update(report.broken.keys())
        if report.offline_cost:
            self.worst = max(
                self.worst, float(report.cost / report.offline_cost / report.ratio_bound)
            )
        for violation in report.violations:
            self.examples.setdefault(violation.row, f"{name}: {violation.describe()}")

    def document(self) -> dict[str, Any]:
        """Plain values for JSON, rows in the order of the table."""
        return {
            "policy": self.policy,
            "replays": self.replays,
            "vacuous": self.vacuous,
            "drawn": self.drawn,
            "requests": self.requests,
            "events": self.events,
            "evictions": self.evictions,
            "violations": sum(self.violations.values()),
            "worst_ratio_over_bound": self.worst,
            "rows": {
                row: {
                    "checks": self.checks[row],
                    "violations": self.violations[row],
                    "replays": self.broken_replays[row],
                    "first": self.examples.get(row),
                }
                for row in ROWS
                if self.checks[row]
            },
        }


def _cases(name: str, rng: Random, draw: Callable[[], Instance], *, deep: bool) -> Iterator[Case]:
    """Endless cases with ``floor <= h <= k`` below the total size of what is requested.

    So a run can evict. With ``deep``, at least one dependency is under the requests.
    """
    number = 0
    while True:
        instance = draw()
        total = sum(instance.size[u] for u in instance.touched())
        if deep and all(len(instance.path(v)) == 1 for v in instance.requests):
            continue
        if instance.floor < total:
            k = rng.randint(instance.floor, total - 1)
            number += 1
            yield Case(f"{name}-{number}", instance, k, rng.randint(instance.floor, k))


def flat_cases(seed: int) -> Iterator[Case]:
    """Endless random flat instances."""
    rng = Random(seed)

    def draw() -> Instance:
        return random_instance(rng, nodes=rng.randint(2, 7), requests=rng.randint(6, 24), flat=True)

    return _cases("flat", rng, draw, deep=False)


def forest_cases(seed: int, requests: tuple[int, int] = (10, 40)) -> Iterator[Case]:
    """Endless random forests: deep chains, bushes, zero costs and ``h = k`` all occur."""
    rng = Random(seed)

    def draw() -> Instance:
        return random_instance(
            rng,
            nodes=rng.randint(3, 9),
            requests=rng.randint(*requests),
            max_size=rng.choice((1, 2, 4)),
            max_cost=rng.choice((1, 9, 100)),
            max_path=rng.randint(2, 9),
            leaves_only=rng.random() < 0.3,
        )

    return _cases("forest", rng, draw, deep=True)


def falling_cases(seed: int) -> Iterator[Case]:
    """:func:`forest_cases` with cost per size never rising from root to leaf."""
    rng = Random(seed)

    def draw() -> Instance:
        return random_instance(
            rng,
            nodes=rng.randint(3, 9),
            requests=rng.randint(10, 40),
            max_size=rng.choice((1, 2, 4)),
            max_cost=rng.choice((9, 100)),
            max_path=rng.randint(2, 9),
            falling=True,
        )

    return _cases("falling", rng, draw, deep=True)


def check_cases(
    cases: Iterable[Case],
    policy: str,
    *,
    schedules: int = 0,
    seed: int = 0,
    potential: PotentialName = "young",
    max_replays: int | None = None,
    max_requests: int | None = None,
    exclude_vacuous: bool = False,
    **options: Any,
) -> Tally:
    """Check ``policy`` on cases until they or a limit run out.

    Parameters
    ----------
    schedules : int
        Random feasible schedules per case, drawn from ``seed`` (lazy ones for a policy with signed
        credits); 0 for the exhaustive optimum.
    max_replays, max_requests : int, optional
        Stop once so many replays or requests were counted.
    exclude_vacuous : bool
        Do not let vacuous replays count towards the limits (they are still checked and counted in
        ``vacuous``).
    """
    rng = Random(seed)
    tally = Tally(" ".join([policy, *(f"{name}={value}" for name, value in options.items())]))
    for case in cases:
        instance, k, h = case.instance, case.k, case.h
        lazy = ALGORITHMS[policy](instance, k).signed
        tally.drawn += len(instance.requests)
        for _ in range(max(schedules, 1)):
            schedule = random_states(instance, h, rng, lazy=lazy) if schedules else None
            tally.add(
                check_potential(
                    instance, k, h, policy, schedule=schedule, potential=potential, **options
                ),
                case.name,
            )
        counted = tally.replays - tally.vacuous if exclude_vacuous else tally.replays
        if (max_replays is not None and counted >= max_replays) or (
            max_requests is not None and tally.requests >= max_requests
        ):
            break
    return tally


def draw_survey(seed: int, count: int, policies: Sequence[str]) -> tuple[Case, ...]:
    """The first ``count`` random forests of at most eight nodes on which every policy evicts.

    Nothing else is selected for: whether a row breaks plays no part.
    """
    fit = (
        case
        for case in forest_cases(seed, requests=(8, 16))
        if case.instance.n <= 8
        and not any(check_potential(case.instance, case.k, case.h, p).vacuous for p in policies)
    )
    return tuple(replace(c, name=f"drawn-{n}") for n, c in enumerate(islice(fit, count), 1))
