"""Existential search: is there an instance on which a policy beats a bound?

Forests, sizes and requests are enumerated up to symmetry; costs are symbolic non-negative reals.
The online run is encoded step by step by running the policy's own transcription
(:mod:`cache_worthy.theory.algorithms`) on :class:`Linear` costs: every number it computes is a
linear form of the costs, and every comparison it makes splits the run into the cases that z3 finds
feasible. One run is thus a cone of cost vectors on which the policy takes one fixed course and
pays a fixed linear form. The offline side is part of the witness: every Pareto-minimal vector of
load counts that a feasible schedule at capacity ``h`` can have. A violation is a cost vector in
the cone with ``(k-h+1) online > k offline`` for one of them, which z3 decides.

So "unsat" is a statement about *all* real costs, for the sequences enumerated, with the stated
tie-break. "sat" counts only after the witness has been replayed in exact arithmetic; the command
line then replaces the schedule by the exhaustive optimum of ``oracles``.

Reductions, each of which keeps every violation up to a smaller one:

* A sequence is enumerated in its least form under the symmetries of the sized forest.
* Every leaf of the forest must be requested: otherwise a smaller forest does.
* Capacities at which nothing is ever evicted are left out: there the policy pays what every
  schedule pays, which beats no ratio of 1 or more (:func:`find` refuses a smaller one).
* A request to a node on the path just served changes nothing, on either side, for a policy that
  does not count requests (:data:`COUNTING`), so it is skipped for the others.
* Offline, only maximal states are kept after a request (lazy eviction).

Evidence: a decision procedure over the enumerated range (established theory) for ``unsat``, exact
replay for ``sat``. ``tests/theory/test_search.py`` holds the search against brute force over
integer costs, and against the cases decided before by other means.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import islice

from cache_worthy.theory.algorithms import ALGORITHMS, run
from cache_worthy.theory.forests import Parent, Tick, sized_forests, symmetries
from cache_worthy.theory.instance import Instance, InstanceError, Number
from cache_worthy.theory.search.cycles import offline_mean, online_mean
from cache_worthy.theory.search.load_counts import Schedules, Vector, pareto
from cache_worthy.theory.search.symbolic import (
    ANY,
    ZERO,
    Facts,
    Linear,
    Space,
    courses,
    symbolic_instance,
)
from cache_worthy.theory.steps import Tie, Transcription, bound, divide

COUNTING = frozenset({"gdsf", "freq_landlord"})
"""Policies for which repeating a request matters."""


class SearchError(RuntimeError):
    """The search contradicts itself: a witness that does not replay."""


class _TimeOut(Exception):
    pass


def _ticker(deadline: float | None) -> Tick:
    """What raises ``_TimeOut`` once the deadline has passed."""

    def tick() -> None:
        if deadline is not None and time.monotonic() > deadline:
            raise _TimeOut

    return tick


_UNHURRIED = _ticker(None)


# -- the search -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Witness:
    """An instance on which a policy costs more than a bound times a feasible schedule.

    Attributes
    ----------
    instance : Instance
        Integer costs.
    k, h : int
    policy : str
    tie : str
        Tie-break of the transcription.
    online : int or Fraction
        The policy's cost, from exact replay; for a cycle, its mean cost a cycle.
    offline : int or Fraction
        Cost of the witness's schedule at ``h``, of which the optimum is no larger; for a cycle,
        the optimum's exact minimum mean cost a cycle.
    cycle : bool
        The requests are one cycle, to be repeated for ever.
    """

    instance: Instance
    k: int
    h: int
    policy: str
    tie: str
    online: Number
    offline: Number
    cycle: bool = False

    @property
    def ratio(self) -> Number | None:
        """``online / offline``; None if the offline side pays nothing."""
        return divide(self.online, self.offline) if self.offline else None


@dataclass(slots=True)
class Coverage:
    """What a search has gone through, in numbers.

    Attributes
    ----------
    forests : int
        Sized forests searched to the end, one a pair ``(k, h)``.
    sequences : int
        Request sequences that touch every leaf, up to symmetry.
    runs : int
        (sequence, cost cone) pairs; ``vacuous`` of them never evict.
    checks : int
        Calls of z3.
    """

    forests: int = 0
    sequences: int = 0
    runs: int = 0
    vacuous: int = 0
    checks: int = 0

    def add(self, other: Coverage) -> None:
        """Add the numbers of another search."""
        self.forests += other.forests
        self.sequences += other.sequences
        self.runs += other.runs
        self.vacuous += other.vacuous
        self.checks += other.checks


@dataclass(frozen=True, slots=True)
class Task:
    """One sized forest under one pair of capacities."""

    policy: str
    parent: Parent
    size: tuple[int, ...]
    k: int
    h: int
    max_requests: int
    tie: Tie = "lru"
    cycle: bool = False
    ratio: Number | None = None
    falling: bool = False

    @property
    def limit(self) -> Fraction:
        """The ratio to beat: ``k/(k-h+1)`` unless another was asked for."""
        return Fraction(bound(self.k, self.h) if self.ratio is None else self.ratio)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one task: a witness of fewest requests or none, and whether it finished."""

    witness: Witness | None
    complete: bool
    coverage: Coverage


@dataclass(slots=True)
class _Found:
    requests: tuple[int, ...]
    facts: Facts
    gains: frozenset[Vector]


def search_task(task: Task, deadline: float | None = None) -> Outcome:
    """Search one sized forest depth first; the depth shrinks with every witness found.

    The outcome is a function of the task, wherever and after whatever it runs, unless time runs
    out. A witness that is returned with ``complete`` has the fewest requests on this forest.
    """
    explorer = _Explorer(task, deadline)
    complete = True
    try:
        explorer.go()
    except _TimeOut:
        complete = False
    explorer.coverage.forests = int(complete)
    explorer.coverage.checks = explorer.space.checks
    found = explorer.found
    replayed = _replayed_cycle if task.cycle else _replayed
    return Outcome(
        witness=None if found is None else replayed(task, explorer.space, found),
        complete=complete,
        coverage=explorer.coverage,
    )


@dataclass(frozen=True, slots=True)
class _Run:
    algorithm: Transcription
    facts: Facts
    model: tuple[Fraction, ...]
    loads: Vector


class _Explorer:
    def __init__(self, task: Task, deadline: float | None) -> None:
        self.task = task
        self.tick = _ticker(deadline)
        self.coverage = Coverage()
        self.found: _Found | None = None
        self.space = Space(len(task.parent), apart=True)
        self.instance = symbolic_instance(task.parent, task.size, self.space)
        self.schedules = Schedules(task.parent, task.size, task.h)
        n = len(task.parent)
        inner = set(task.parent)
        self.leaves = frozenset(v for v in range(n) if v not in inner)
        self.allowed = tuple(v for v in range(n) if self.instance.path_size(v) <= task.h)
        self.paths = tuple(frozenset(self.instance.path(v)) for v in range(n))
        self.limit = task.max_requests
        self.limit_ratio = task.limit.as_integer_ratio()

    def go(self) -> None:
        task = self.task
        if not self.leaves <= set(self.allowed):
            return  # a leaf that may not be requested: a smaller forest covers this
        # A tie-break by node number is not symmetric.
        group = symmetries(task.parent, task.size, self.tick)
        if task.tie == "node":
            group = group[:1]
        algorithm = ALGORITHMS[task.policy](self.instance, task.k, tie=task.tie)
        facts = self._falling() if task.falling else {}
        # Cost per size 1 everywhere satisfies them.
        model = tuple(Fraction(s) for s in task.size)
        start = _Run(algorithm, facts, model, (0,) * len(task.parent))
        self._extend((), group, self.schedules.start(), [start], self.leaves)

    def _falling(self) -> Facts:
        """Cost per size never rises from parent to child."""
        space, size = self.space, self.task.size
        space.begin({}, tuple(Fraction(s) for s in size), ())
        for v, p in enumerate(self.task.parent):
            if p is not None and not space.unit(v) * size[p] <= space.unit(p) * size[v]:
                raise SearchError("equal densities do not satisfy the assumption")
        return space.facts

    def _extend(
        self,
        requests: tuple[int, ...],
        group: tuple[tuple[int, ...], ...],
        layer: dict[int, list[Vector]],
        runs: list[_Run],
        untouched: frozenset[int],
    ) -> None:
        self.tick()
        counting = self.task.policy in COUNTING
        for v in self.allowed:
            left = untouched - {v}
            if len(requests) + 1 + len(left) > self.limit:
                continue
            if requests and not counting and v in self.paths[requests[-1]]:
                continue
            if any(g[v] < v for g in group):
                continue
            after = self.schedules.advance(layer, v)
            children = [child for run_ in runs for child in self._serve(run_, v)]
            sequence = (*requests, v)
            if not left:
                self.coverage.sequences += 1
                self.coverage.runs += len(children)
                self.coverage.vacuous += sum(not c.algorithm.evictions for c in children)
                check = self._cycle_violated if self.task.cycle else self._violated
                if check(sequence, children, after):
                    self.limit = len(sequence) - 1
                    return
            self._extend(sequence, tuple(g for g in group if g[v] == v), after, children, left)

    def _serve(self, run_: _Run, v: int) -> Iterator[_Run]:
        """All courses that the policy can take when ``v`` is requested next."""

        def play() -> tuple[Transcription, Vector]:
            self.tick()
            algorithm = run_.algorithm.fork()
            loads = list(run_.loads)
            for u in self.instance.path(v):
                loads[u] += u not in algorithm.resident
            algorithm.step(v)
            return algorithm, tuple(loads)

        for course in courses(self.space, play, run_.facts, run_.model):
            algorithm, loads = course.result
            yield _Run(algorithm, course.facts, course.model, loads)

    def _violated(
        self, sequence: tuple[int, ...], runs: list[_Run], layer: dict[int, list[Vector]]
    ) -> bool:
        offline = self.schedules.vectors(layer)
        for run_ in runs:
            gains = frozenset(
                gain for vector in offline if max(gain := self._gain(run_.loads, vector)) > 0
            )
            if gains and self.space.find(run_.facts, gains) is not None:
                self.found = _Found(sequence, run_.facts, gains)
                return True
        return False

    def _cycle_violated(
        self, cycle: tuple[int, ...], runs: list[_Run], layer: dict[int, list[Vector]]
    ) -> bool:
        """Whether ``cycle``, repeated, costs the policy more than the bound times a schedule."""
        counting = self.task.policy in COUNTING
        if not counting and len(cycle) > 1 and cycle[0] in self.paths[cycle[-1]]:
            return False  # the first request of the next round changes nothing
        # A rotation is the same cycle; keep the least. (Symmetry is dealt with by the caller up to
        # rotation, so some cycles are looked at twice.)
        if any(cycle[i:] + cycle[:i] < cycle for i in range(1, len(cycle))):
            return False
        offline = self._periodic(cycle, layer)
        for warm in self._repeat(runs, cycle):
            at_start = _flat(warm.algorithm.state())
            current = [warm]
            for period in (1, 2):
                current = self._repeat(current, cycle)
                for run_ in current:
                    facts = self._same(at_start, _flat(run_.algorithm.state()), run_.facts)
                    if facts is None:
                        continue
                    paid = tuple(a - b for a, b in zip(run_.loads, warm.loads, strict=True))
                    gains = frozenset(
                        gain
                        for vector in offline
                        if max(gain := self._gain(paid, tuple(period * b for b in vector))) > 0
                    )
                    if gains and self.space.find(facts, gains) is not None:
                        self.found = _Found(cycle, facts, gains)
                        return True
        return False

    def _repeat(self, runs: list[_Run], cycle: tuple[int, ...]) -> list[_Run]:
        for v in cycle:
            runs = [child for run_ in runs for child in self._serve(run_, v)]
        return runs

    def _periodic(self, cycle: tuple[int, ...], layer: dict[int, list[Vector]]) -> list[Vector]:
        """Minimal load counts of one round of schedules that end it in the state they began in."""
        vectors: list[Vector] = []
        for state in layer:
            current = {state: [(0,) * self.space.n]}
            for v in cycle:
                self.tick()
                current = self.schedules.advance(current, v)
            vectors.extend(current.get(state, ()))
        return pareto(vectors)

    def _same(self, one: list[object], two: list[object], facts: Facts) -> Facts | None:
        """``facts`` and the equality of two states, or None if they cannot be equal."""
        if len(one) != len(two):
            return None
        more = dict(facts)
        for a, b in zip(one, two, strict=True):
            if not isinstance(a, Linear) and not isinstance(b, Linear):
                if a != b:
                    return None
                continue
            form, _ = self.space.normal(
                a._minus(b) if isinstance(a, Linear) else _as_linear(b)._minus(a)
            )
            if any(form):
                allowed = more.get(form, ANY) & ZERO
                if not allowed:
                    return None
                more[form] = allowed
        return more if self.space.find(more) is not None else None

    def _gain(self, online: Vector, offline: Vector) -> Vector:
        p, q = self.limit_ratio
        return tuple(q * a - p * b for a, b in zip(online, offline, strict=True))


def _flat(value: object) -> list[object]:
    """The leaves of nested tuples, lists and dicts, with the lengths."""
    if isinstance(value, tuple | list):
        return [len(value), *(leaf for part in value for leaf in _flat(part))]
    return [value]


def _as_linear(value: object) -> Linear:
    if not isinstance(value, Linear):
        raise SearchError(f"expected a linear form, got {value!r}")
    return value


def _replayed_cycle(task: Task, space: Space, found: _Found) -> Witness:
    """The cycle with least integer costs, and exact means of both sides."""
    cost = space.least_integers(found.facts, found.gains)
    instance = Instance(parent=task.parent, size=task.size, cost=cost, requests=found.requests)
    online = online_mean(task.policy, instance, task.k, tie=task.tie)
    offline = offline_mean(instance, task.h)
    if not online > task.limit * offline:
        raise SearchError(f"{instance} repeats at {online} against {offline}: no violation")
    return Witness(instance, task.k, task.h, task.policy, task.tie, online, offline, cycle=True)


def _replayed(task: Task, space: Space, found: _Found) -> Witness:
    """The witness with least integer costs, replayed in exact arithmetic."""
    cost = space.least_integers(found.facts, found.gains)
    instance = Instance(parent=task.parent, size=task.size, cost=cost, requests=found.requests)
    online = run(task.policy, instance, task.k, tie=task.tie).cost
    schedules = Schedules(task.parent, task.size, task.h)
    layer = schedules.start()
    for v in found.requests:
        layer = schedules.advance(layer, v)
    offline = min(
        sum(a * c for a, c in zip(vector, cost, strict=True)) for vector in schedules.vectors(layer)
    )
    if not online > task.limit * offline:
        raise SearchError(f"{instance} replays to {online} against {offline}: no violation")
    return Witness(instance, task.k, task.h, task.policy, task.tie, online, offline)


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Outcome of :func:`find`.

    Attributes
    ----------
    status : str
        ``"sat"``, ``"unsat"`` (the whole range) or ``"timeout"``.
    witness : Witness or None
    complete_nodes : int
        Every forest of up to this many nodes was searched to the end.
    coverage : Coverage
    """

    status: str
    witness: Witness | None
    complete_nodes: int
    coverage: Coverage = field(default_factory=Coverage)


def cycle_scope(policy: str) -> str:
    """Which courses a search for cycles can see.

    Examples
    --------
    >>> print(cycle_scope("landlord"))
    only courses that repeat after one or two cycles, after two cycles to warm up, against \
schedules that repeat after one
    """
    scope = (
        "only courses that repeat after one or two cycles, after two cycles to warm up, against "
        "schedules that repeat after one"
    )
    if policy in COUNTING:
        scope += (
            f"; {policy} counts the requests of a node while it is resident, so only courses that "
            "evict every node once in these one or two cycles repeat"
        )
    return scope


Runner = Callable[[Sequence[Task], float | None], Sequence[Outcome]]
"""Outcomes of tasks in their order; the tasks are independent of each other."""

FIRST_BATCH, LARGEST_BATCH = 16, 1024


def batches(tasks: Iterator[Task]) -> Iterator[list[Task]]:
    """Batches that double in size.

    A batch is searched no deeper than the best witness of the batches before it, whoever runs it:
    so the result and the coverage do not depend on how many workers there are. The first are
    small, so that an early witness saves work; the later large, so that nobody waits.
    """
    size = FIRST_BATCH
    while batch := list(islice(tasks, size)):
        yield batch
        size = min(2 * size, LARGEST_BATCH)


def one_by_one(tasks: Sequence[Task], deadline: float | None) -> list[Outcome]:
    """Run the tasks in this process."""
    return [search_task(task, deadline) for task in tasks]


def tasks_for(
    policy: str,
    n: int,
    max_requests: int,
    *,
    max_size: int = 1,
    k: int | None = None,
    h: int | None = None,
    tie: Tie = "lru",
    cycle: bool = False,
    ratio: Number | None = None,
    falling: bool = False,
    tick: Tick = _UNHURRIED,
) -> Iterator[Task]:
    """All sized forests on ``n`` nodes under all admissible capacities.

    Left out: ``k`` at or above the total size, where nothing is ever evicted and the policy pays
    what every schedule pays. ``tick`` is called again and again, and may raise to stop.
    """
    for parent, size in sized_forests(n, max_size, tick):
        for kk in (k,) if k is not None else range(1, sum(size)):
            if kk >= sum(size):
                continue
            for hh in (h,) if h is not None else range(1, kk + 1):
                if hh <= kk:
                    tick()
                    yield Task(
                        policy, parent, size, kk, hh, max_requests, tie, cycle, ratio, falling
                    )


def find(
    policy: str,
    max_nodes: int,
    max_requests: int,
    *,
    max_size: int = 1,
    k: int | None = None,
    h: int | None = None,
    tie: Tie = "lru",
    cycle: bool = False,
    ratio: Number | None = None,
    falling: bool = False,
    timeout: float | None = None,
    runner: Runner = one_by_one,
) -> SearchResult:
    """Search for a violation of ``k/(k-h+1)``, fewest nodes first, then fewest requests.

    Parameters
    ----------
    policy : str
        A name in ``ALGORITHMS``.
    max_nodes, max_requests, max_size : int
        Bounds of the range; sizes are ``1..max_size``.
    k, h : int, optional
        One capacity each; all with ``1 <= h <= k`` when left out.
    tie : str
        Tie-break of the transcription.
    cycle : bool
        Look for request cycles, repeated for ever, of at most ``max_requests`` requests. The
        search sees only what :func:`cycle_scope` says; "unsat" is to be read with these limits.
        The means of a witness are exact.
    ratio : int or Fraction, optional
        Beat this, at least 1, instead of ``k/(k-h+1)``.
    falling : bool
        Only costs per size that never rise from root to leaf: the safe sub-case of Landlord.
    timeout : float, optional
        Seconds after which to stop with status ``"timeout"``; forests not enumerated by then count
        as not searched.
    runner : callable
        How a batch of tasks is run; the command line passes one that uses workers.

    Raises
    ------
    InstanceError
        For an unknown policy, or a ratio below 1 (the reductions would not hold).

    Notes
    -----
    Time grows like ``n! max_size^n n^T`` at worst. No additive constant: the bounds are stated
    from empty caches.
    """
    if policy not in ALGORITHMS:
        raise InstanceError(f"policy {policy!r}: expected one of {', '.join(ALGORITHMS)}")
    if ratio is not None and not (isinstance(ratio, int | Fraction) and ratio >= 1):
        raise InstanceError(f"ratio {ratio}: expected an integer or Fraction >= 1")
    deadline = None if timeout is None else time.monotonic() + timeout
    coverage = Coverage()
    complete = True

    def until_deadline(tasks: Iterator[Task]) -> Iterator[Task]:
        nonlocal complete
        try:
            yield from tasks
        except _TimeOut:
            complete = False

    for n in range(1, max_nodes + 1):
        tasks = tasks_for(
            policy,
            n,
            max_requests,
            max_size=max_size,
            k=k,
            h=h,
            tie=tie,
            cycle=cycle,
            ratio=ratio,
            falling=falling,
            tick=_ticker(deadline),
        )
        witnesses: list[Witness] = []
        depth = max_requests
        for batch in batches(until_deadline(tasks)):
            for outcome in runner([replace(t, max_requests=depth) for t in batch], deadline):
                coverage.add(outcome.coverage)
                complete = complete and outcome.complete
                if outcome.witness is not None:
                    witnesses.append(outcome.witness)
            if witnesses:
                depth = min(len(w.instance.requests) for w in witnesses) - 1
            if not depth:
                break
        if witnesses:
            best = min(
                witnesses,
                key=lambda w: (len(w.instance.requests), sum(w.instance.size), w.k, w.h),
            )
            return SearchResult("sat", best, n if complete else n - 1, coverage)
        if not complete:
            return SearchResult("timeout", None, n - 1, coverage)
    return SearchResult("unsat", None, max_nodes, coverage)
