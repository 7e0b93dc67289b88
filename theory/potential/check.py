"""A potential argument as a checker: every row of the table, at every event.

Young 2002 proves Landlord's bound on independent files by a potential that no event may raise by
more than its row allows. Summed over a run from empty caches, the rows give

    (b - a) * online cost <= b * offline cost.

Two potentials ``Phi = a * sum_A credit + b * sum_O (cost - credit)`` are checked here: Young's
(``a = h - 1``, ``b = k``; ratio ``k/(k-h+1)``) and that of the exact ratio of Landlord on forests
(``a = (h-1)/m``, ``b = a + 1``, on credits cut off at zero; ``proofs/refutation.md``). The rows are
derived in ``proofs/cosigned.md`` and ``proofs/refutation.md``.

A row that holds on every event of every run tried is "verified", never proven; the checker is
itself checked by flat instances, where the theorem is established, and by broken algorithms.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from cache_worthy.theory.algorithms import make
from cache_worthy.theory.instance import Instance, InstanceError, Number
from cache_worthy.theory.schedules import check_states, moves, optimal_states
from cache_worthy.theory.steps import (
    Event,
    Evict,
    Hit,
    Load,
    OptEvict,
    OptLoad,
    Rent,
    Settle,
    Transcription,
    bound,
    divide,
)

PotentialName = Literal["young", "landlord"]

#: Rows in the order of the table; ``bound`` is their sum.
ROWS = (
    "credit-floor",
    "credit-cap",
    "phi-floor",
    "opt-load",
    "opt-evict",
    "hit",
    "rent",
    "evict",
    "settle",
    "load",
    "bound",
)


@dataclass(frozen=True, slots=True)
class Weights:
    """``Phi = a * sum_A credit + b * sum_O (cost - credit)``, credits cut off at 0 if ``clamp``."""

    a: Number
    b: Number
    clamp: bool


def weights(name: PotentialName, instance: Instance, k: int, h: int) -> Weights:
    """The weights of a named potential.

    ``m = ceil((k-h+1)/H)`` paths of size at most ``H``, the largest requested path, are needed to
    cover what the online holds beyond the offline.

    Examples
    --------
    >>> chain = Instance((None, 0), (1, 1), (0, 5), (1,))
    >>> weights("young", chain, 3, 2), weights("landlord", chain, 3, 2)
    (Weights(a=1, b=3, clamp=False), Weights(a=1, b=2, clamp=True))
    """
    if name == "young":
        return Weights(h - 1, k, clamp=False)
    if name == "landlord":
        m = -(-(k - h + 1) // max(instance.floor, 1))
        a = divide(h - 1, m)
        return Weights(a, a + 1, clamp=True)
    raise InstanceError(f"potential {name!r}: expected 'young' or 'landlord'")


@dataclass(frozen=True, slots=True)
class Violation:
    """One row that did not hold."""

    row: str
    request: int
    """Index into the requests; ``len(requests)`` for the sum over the whole run."""
    event: Event | None
    excess: Number
    """By how much, positive."""
    detail: str

    def describe(self) -> str:
        """One line: which row, at which event, by how much."""
        where = f"request {self.request}, {_name(self.event)}" if self.event else "whole run"
        return f"row {self.row} broke at {where}: {self.detail}, by {self.excess}"


def _name(event: Event) -> str:
    match event:
        case Hit(node, before, after):
            return f"hit of node {node} ({before} -> {after})"
        case Rent(delta, _):
            return f"rent of {delta} per unit"
        case Settle(payer, debtor, amount):
            return f"node {payer} paying {amount} for node {debtor}"
        case Evict(node, credit):
            return f"eviction of node {node} (credit {credit})"
        case Load(node, cost):
            return f"load of node {node} (cost {cost})"
        case OptLoad(node, cost):
            return f"offline load of node {node} (cost {cost})"
        case OptEvict(node):
            return f"offline eviction of node {node}"


@dataclass(frozen=True, slots=True)
class Step:
    """A kept event: when, what, and the potential after it."""

    request: int
    event: Event
    phi: Number


@dataclass(frozen=True, slots=True)
class Report:
    """What one checked run showed."""

    policy: str
    k: int
    h: int
    cost: Number
    offline_cost: Number
    """Of the schedule that was used."""
    ratio_bound: Number
    """``b / (b - a)``: Young's ``k/(k-h+1)``, or Landlord's exact ratio."""
    requests: int
    evictions: int
    events: int
    checks: dict[str, int]
    """How often every row was evaluated."""
    violations: tuple[Violation, ...]
    steps: tuple[Step, ...] = field(default=(), repr=False)
    """Empty unless events were kept."""

    @property
    def vacuous(self) -> bool:
        """The online algorithm never evicted: the run shows nothing about eviction."""
        return self.evictions == 0

    @property
    def broken(self) -> dict[str, int]:
        """Number of violations of every row that broke, in the order of the table."""
        counts = Counter(v.row for v in self.violations)
        return {row: counts[row] for row in ROWS if counts[row]}


def check_potential(
    instance: Instance,
    k: int,
    h: int,
    policy: str = "landlord",
    schedule: Sequence[frozenset[int]] | None = None,
    keep_events: bool = False,
    potential: PotentialName = "young",
    **options: Any,
) -> Report:
    """Run ``policy`` beside an offline schedule and check every row at every event.

    Parameters
    ----------
    instance : Instance
    k, h : int
        Online and offline capacity, ``floor <= h <= k``.
    policy : str
        A name of :data:`cache_worthy.theory.algorithms.ALGORITHMS`.
    schedule : sequence of frozenset of int, optional
        Resident sets of the offline after every request; an exhaustive optimum by default.
    keep_events : bool
        Keep every event with the potential after it in ``report.steps``.
    potential : {"young", "landlord"}
    **options
        Passed to the policy (``tie``, ``hits``).

    Returns
    -------
    Report

    Raises
    ------
    InstanceError
        If the capacities are no integers or out of range, or the schedule is no sequence of sets
        of nodes, or not feasible (for a policy with signed credits: not lazy).

    Examples
    --------
    >>> witness = Instance(parent=(None, 0, None, None), size=(1, 1, 1, 1), cost=(0, 5, 2, 0),
    ...                    requests=(1, 2, 3, 2, 3, 2))
    >>> report = check_potential(witness, 3, 2)
    >>> report.broken
    {'credit-floor': 2, 'phi-floor': 1, 'bound': 1}
    >>> print(report.violations[0].describe())
    row credit-floor broke at request 2, rent of 2 per unit: node 0 has credit -2, must be >= 0, by 2
    >>> check_potential(witness, 3, 2, policy="cosigned").violations
    ()
    """
    return check_run(
        make(policy, instance, k, **options),
        h,
        name=policy,
        schedule=schedule,
        keep_events=keep_events,
        potential=potential,
    )


def check_run(
    algorithm: Transcription,
    h: int,
    *,
    name: str,
    schedule: Sequence[frozenset[int]] | None = None,
    keep_events: bool = False,
    potential: PotentialName = "young",
) -> Report:
    """:func:`check_potential` on a fresh transcription, registered or not."""
    instance, k = algorithm.instance, algorithm.k
    bound(k, h)  # checks 1 <= h <= k
    if schedule is not None and not isinstance(schedule, Sequence):
        raise InstanceError(f"schedule: expected a sequence of sets, got {type(schedule).__name__}")
    states = optimal_states(instance, h) if schedule is None else tuple(schedule)
    offline_cost = check_states(instance, h, states, lazy=algorithm.signed)
    checker = _Checker(algorithm, h, weights(potential, instance, k, h), keep_events)
    for t, v in enumerate(instance.requests):
        checker.request(t, v, states[t])
    checker.finish(offline_cost)
    return Report(
        policy=name,
        k=k,
        h=h,
        cost=algorithm.cost,
        offline_cost=offline_cost,
        ratio_bound=divide(checker.w.b, checker.w.b - checker.w.a),
        requests=len(instance.requests),
        evictions=algorithm.evictions,
        events=checker.events,
        checks=dict(checker.checks),
        violations=tuple(checker.violations),
        steps=tuple(checker.steps),
    )


class _Checker:
    """Follows one run; holds the offline set and the credits after the last event."""

    def __init__(self, algorithm: Transcription, h: int, w: Weights, keep: bool) -> None:
        self.algorithm = algorithm
        self.instance = algorithm.instance
        self.k, self.h, self.w = algorithm.k, h, w
        self.keep = keep
        self.offline: frozenset[int] = frozenset()
        self.credits: dict[int, Number] = {}
        self.phi: Number = 0
        self.t = 0
        self.q = 0
        self.events = 0
        self.checks: Counter[str] = Counter()
        self.violations: list[Violation] = []
        self.steps: list[Step] = []

    def request(self, t: int, v: int, after: frozenset[int]) -> None:
        self.t = t
        self.q = self.instance.path_size(v)
        for event in self.algorithm.prepare(v):
            self.see(event)
        for move in moves(self.instance, self.offline, after):
            self.offline = (
                self.offline | {move.node}
                if isinstance(move, OptLoad)
                else self.offline - {move.node}
            )
            self.see(move)
        for event in self.algorithm.process(v):
            self.see(event)

    def see(self, event: Event) -> None:
        self.events += 1
        credits = self.read_credits()
        phi = self.potential(credits)
        rise = phi - self.phi
        allowed, row = self.allowance(event)
        self.require(row, rise - allowed, event, f"Phi rose by {rise}, at most {allowed} allowed")
        self.require("phi-floor", -phi, event, f"Phi is {phi}, must be >= 0")
        self.check_range(event, credits)
        self.credits, self.phi = credits, phi
        if self.keep:
            self.steps.append(Step(self.t, event, phi))

    def finish(self, offline_cost: Number) -> None:
        self.t = len(self.instance.requests)
        paid, allowed = (self.w.b - self.w.a) * self.algorithm.cost, self.w.b * offline_cost
        detail = f"(b - a) * cost is {paid}, at most b * offline cost = {allowed} allowed"
        self.require("bound", paid - allowed, None, detail)

    def read_credits(self) -> dict[int, Number]:
        credit = self.algorithm.credit
        if self.w.clamp:
            return {u: max(0, credit(u)) for u in self.algorithm.resident}
        return {u: credit(u) for u in self.algorithm.resident}

    def potential(self, credits: dict[int, Number]) -> Number:
        cost = self.instance.cost
        unpaid = sum((cost[u] - credits.get(u, 0) for u in self.offline), 0)
        return self.w.a * sum(credits.values()) + self.w.b * unpaid

    def allowance(self, event: Event) -> tuple[Number, str]:
        """By how much ``event`` may raise the potential, and the name of its row."""
        match event:
            case OptLoad(_, cost):
                return self.w.b * cost, "opt-load"
            case OptEvict():
                return 0, "opt-evict"
            case Hit():
                return 0, "hit"
            case Rent(delta, _):
                if self.w.clamp:
                    return 0, "rent"
                return -(self.q - 1) * (self.k - self.h + 1) * delta, "rent"
            case Evict():
                return 0, "evict"
            case Settle():
                return 0, "settle"
            case Load(_, cost):
                return -(self.w.b - self.w.a) * cost, "load"

    def check_range(self, event: Event, credits: dict[int, Number]) -> None:
        """``0 <= credit <= cost`` where this event changed a credit.

        Signed credits are summed over resident subtrees for the lower half of the row.
        """
        if self.w.clamp:
            return
        changed = sorted(u for u in credits if self.credits.get(u) != credits[u])
        for u in changed:
            over = credits[u] - self.instance.cost[u]
            self.require("credit-cap", over, event, f"node {u} has credit {credits[u]} above cost")
        if not self.algorithm.signed:
            for u in changed:
                detail = f"node {u} has credit {credits[u]}, must be >= 0"
                self.require("credit-floor", -credits[u], event, detail)
        elif changed:
            for u in sorted(credits):
                total = sum((credits[w] for w in self.algorithm.subtree(u)), 0)
                detail = f"the subtree of node {u} has credit {total}, must be >= 0"
                self.require("credit-floor", -total, event, detail)

    def require(self, row: str, excess: Number, event: Event | None, detail: str) -> None:
        self.checks[row] += 1
        if excess > 0:
            self.violations.append(Violation(row, self.t, event, excess, detail))
