"""The existential search on one sized forest: all sequences up to symmetry, all costs at once.

The online run is encoded step by step by running the policy's own transcription
(:mod:`cache_worthy.theory.algorithms`) on :class:`Linear` costs: every number it computes is a
linear form of the costs, and every comparison it makes splits the run into the cases that z3 finds
feasible. One run is thus a cone of cost vectors on which the policy takes one fixed course and
pays a fixed linear form. The offline side is part of the witness: every Pareto-minimal vector of
load counts that a feasible schedule at capacity ``h`` can have. A violation is a cost vector in
the cone with ``(k-h+1) online > k offline`` for one of them, which z3 decides.

Reductions, each of which keeps every violation up to a smaller one:

* A sequence is enumerated in its least form under the symmetries of the sized forest.
* Every leaf of the forest must be requested: otherwise a smaller forest does.
* A request to a node on the path just served changes nothing, on either side, for a policy that
  does not count requests (:data:`COUNTING`), so it is skipped for the others.
* Offline, only maximal states are kept after a request (lazy eviction).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from cache_worthy.theory.algorithms import ALGORITHMS, run
from cache_worthy.theory.forests import symmetries
from cache_worthy.theory.instance import Instance, Number
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
from cache_worthy.theory.search.task import (
    COUNTING,
    Coverage,
    Outcome,
    SearchError,
    Task,
    TimeOut,
    Witness,
    ticker,
)
from cache_worthy.theory.steps import Transcription


def search_task(task: Task, deadline: float | None = None) -> Outcome:
    """Search one sized forest depth first; the depth shrinks with every witness found.

    The outcome is a function of the task, wherever and after whatever it runs, unless time runs
    out. A witness that is returned with ``complete`` has the fewest requests on this forest.
    """
    explorer = Explorer(task, deadline)
    complete = True
    try:
        explorer.go()
    except TimeOut:
        complete = False
    explorer.coverage.forests = int(complete)
    explorer.coverage.checks = explorer.space.checks
    found = explorer.found
    return Outcome(
        witness=None if found is None else _replayed(task, explorer.space, found),
        complete=complete,
        coverage=explorer.coverage,
    )


@dataclass(slots=True)
class Found:
    """A sequence, the cone of costs of one run over it, and the gains over a schedule."""

    requests: tuple[int, ...]
    facts: Facts
    gains: frozenset[Vector]


@dataclass(frozen=True, slots=True)
class Run:
    """One course of the policy: its state, the costs that take it, and what it has loaded."""

    algorithm: Transcription
    facts: Facts
    model: tuple[Fraction, ...]
    loads: Vector


class Explorer:
    """The depth-first search of one task."""

    def __init__(self, task: Task, deadline: float | None) -> None:
        self.task = task
        self.tick = ticker(deadline)
        self.coverage = Coverage()
        self.found: Found | None = None
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
        """Search; what is found is in ``found``."""
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
        start = Run(algorithm, facts, model, (0,) * len(task.parent))
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
        runs: list[Run],
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

    def _serve(self, run_: Run, v: int) -> Iterator[Run]:
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
            yield Run(algorithm, course.facts, course.model, loads)

    def _violated(
        self, sequence: tuple[int, ...], runs: list[Run], layer: dict[int, list[Vector]]
    ) -> bool:
        offline = self.schedules.vectors(layer)
        return any(self._wins(sequence, r.facts, r.loads, offline) for r in runs)

    def _wins(
        self, sequence: tuple[int, ...], facts: Facts, online: Vector, offline: list[Vector]
    ) -> bool:
        """Whether some costs with ``facts`` make the policy pay too much; then they are kept."""
        p, q = self.limit_ratio
        gains = frozenset(
            tuple(q * a - p * b for a, b in zip(online, vector, strict=True)) for vector in offline
        )
        gains = frozenset(gain for gain in gains if max(gain) > 0)
        if not gains or self.space.find(facts, gains) is None:
            return False
        self.found = Found(sequence, facts, gains)
        return True

    def _cycle_violated(
        self, cycle: tuple[int, ...], runs: list[Run], layer: dict[int, list[Vector]]
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
                    more = [tuple(period * b for b in vector) for vector in offline]
                    if self._wins(cycle, facts, paid, more):
                        return True
        return False

    def _repeat(self, runs: list[Run], cycle: tuple[int, ...]) -> list[Run]:
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
            form_of, other = (a, b) if isinstance(a, Linear) else (b, a)
            if not isinstance(form_of, Linear):
                if a != b:
                    return None
                continue
            form, _ = self.space.normal(form_of._minus(other))
            if any(form):
                allowed = more.get(form, ANY) & ZERO
                if not allowed:
                    return None
                more[form] = allowed
        return more if self.space.find(more) is not None else None


def _flat(value: object) -> list[object]:
    """The leaves of nested tuples, lists and dicts, with the lengths."""
    if isinstance(value, tuple | list):
        return [len(value), *(leaf for part in value for leaf in _flat(part))]
    return [value]


def _replayed(task: Task, space: Space, found: Found) -> Witness:
    """The witness with least integer costs, replayed in exact arithmetic; exact means of a cycle."""
    cost = space.least_integers(found.facts, found.gains)
    instance = Instance(parent=task.parent, size=task.size, cost=cost, requests=found.requests)
    online: Number
    offline: Number
    if task.cycle:
        online = online_mean(task.policy, instance, task.k, tie=task.tie)
        offline = offline_mean(instance, task.h)
    else:
        online = run(task.policy, instance, task.k, tie=task.tie).cost
        schedules = Schedules(task.parent, task.size, task.h)
        layer = schedules.start()
        for v in found.requests:
            layer = schedules.advance(layer, v)
        offline = min(
            sum(a * c for a, c in zip(vector, cost, strict=True))
            for vector in schedules.vectors(layer)
        )
    if not online > task.limit * offline:
        raise SearchError(f"{instance} pays {online} against {offline}: no violation")
    return Witness(
        instance, task.k, task.h, task.policy, task.tie, online, offline, cycle=task.cycle
    )
