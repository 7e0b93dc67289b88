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
* A request to a node on the path just served changes nothing, on either side, for a policy that
  does not count requests (:data:`COUNTING`), so it is skipped for the others.
* Offline, only maximal states are kept after a request (lazy eviction).

Evidence: a decision procedure over the enumerated range (established theory) for ``unsat``, exact
replay for ``sat``. ``tests/theory/test_search.py`` holds the search against brute force over
integer costs, and against the cases decided before by other means.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import gcd, lcm
from typing import Any

from cache_worthy.theory.algorithms import ALGORITHMS, run
from cache_worthy.theory.cycles import offline_mean, online_mean
from cache_worthy.theory.forests import Parent, sized_forests, symmetries
from cache_worthy.theory.instance import Instance, InstanceError, Number
from cache_worthy.theory.load_counts import Schedules, Vector, pareto
from cache_worthy.theory.steps import Tie, Transcription, bound, divide

COUNTING = frozenset({"gdsf", "freq_landlord"})
"""Policies for which repeating a request matters."""

NEGATIVE, ZERO, POSITIVE = 1, 2, 4
_ANY = NEGATIVE | ZERO | POSITIVE


class SearchError(RuntimeError):
    """The search contradicts itself: a witness that does not replay, or z3 gave no answer."""


class _TimeOut(Exception):
    pass


# -- symbolic costs -------------------------------------------------------------------------------


class Linear:
    """A linear form of the costs; comparing two asks the :class:`Space` for a decision.

    It has no constant term: a policy whose decisions are not homogeneous in the costs would raise
    ``TypeError`` here, instead of being encoded wrongly.
    """

    __slots__ = ("coefs", "space")

    def __init__(self, space: Space, coefs: tuple[Number, ...]) -> None:
        self.space = space
        self.coefs = coefs

    def _minus(self, other: object) -> tuple[Number, ...]:
        if isinstance(other, Linear):
            return tuple(a - b for a, b in zip(self.coefs, other.coefs, strict=True))
        if other == 0:
            return self.coefs
        raise TypeError(f"a cost compared or added to the constant {other!r}")

    def __add__(self, other: object) -> Linear:
        if isinstance(other, Linear):
            return Linear(
                self.space, tuple(a + b for a, b in zip(self.coefs, other.coefs, strict=True))
            )
        return Linear(self.space, self._minus(other))

    __radd__ = __add__

    def __sub__(self, other: object) -> Linear:
        return Linear(self.space, self._minus(other))

    def __rsub__(self, other: object) -> Linear:
        return -Linear(self.space, self._minus(other))

    def __neg__(self) -> Linear:
        return Linear(self.space, tuple(-a for a in self.coefs))

    def __mul__(self, factor: Number) -> Linear:
        return Linear(self.space, tuple(a * factor for a in self.coefs))

    __rmul__ = __mul__

    def __truediv__(self, divisor: Number) -> Linear:
        if divisor == 1:
            return self
        return Linear(self.space, tuple(Fraction(a) / divisor for a in self.coefs))

    def __lt__(self, other: object) -> bool:
        return self.space.decide(self._minus(other), NEGATIVE)

    def __le__(self, other: object) -> bool:
        return self.space.decide(self._minus(other), NEGATIVE | ZERO)

    def __gt__(self, other: object) -> bool:
        return self.space.decide(self._minus(other), POSITIVE)

    def __ge__(self, other: object) -> bool:
        return self.space.decide(self._minus(other), POSITIVE | ZERO)

    def __eq__(self, other: object) -> bool:
        return self.space.decide(self._minus(other), ZERO)

    def __ne__(self, other: object) -> bool:
        return not self.space.decide(self._minus(other), ZERO)

    def __bool__(self) -> bool:
        return self != 0

    __hash__ = None  # type: ignore[assignment]


Facts = dict[Vector, int]
"""What a run has established: normalised linear form -> set of its possible signs."""


class Space:
    """Non-negative cost vectors in ``n`` dimensions, and decisions about linear forms of them."""

    def __init__(self, n: int) -> None:
        import z3

        self.n = n
        self._z3: Any = z3
        self._costs = [z3.Real(f"c{v}") for v in range(n)]
        self._solver = z3.SolverFor("QF_LRA")
        self._solver.add(*(c >= 0 for c in self._costs))
        self._normal: dict[tuple[Number, ...], tuple[Vector, bool]] = {}
        self._terms: dict[Vector, Any] = {}
        self._models: dict[object, tuple[Fraction, ...] | None] = {}
        self.checks = 0
        self.facts: Facts = {}
        self.model: tuple[Fraction, ...] = (Fraction(1),) * n
        self.script: tuple[bool, ...] = ()
        self.trail: list[tuple[Vector, int, int, bool]] = []

    def unit(self, v: int) -> Linear:
        """The cost of node ``v``."""
        return Linear(self, tuple(int(u == v) for u in range(self.n)))

    def begin(self, facts: Facts, model: tuple[Fraction, ...], script: tuple[bool, ...]) -> None:
        """Start a run: follow ``script``, then ``model``, recording what was decided."""
        self.facts = dict(facts)
        self.model = model
        self.script = script
        self.trail = []

    def normal(self, coefs: tuple[Number, ...]) -> tuple[Vector, bool]:
        """The form scaled to coprime integers, first one positive, and whether that negated it."""
        known = self._normal.get(coefs)
        if known is None:
            scale = lcm(*(Fraction(a).denominator for a in coefs))
            whole = tuple(int(a * scale) for a in coefs)
            divisor = gcd(*whole)
            if divisor:
                whole = tuple(a // divisor for a in whole)
            flip = next((a < 0 for a in whole if a), False)
            known = (tuple(-a for a in whole) if flip else whole, flip)
            self._normal[coefs] = known
        return known

    def decide(self, coefs: tuple[Number, ...], truth: int) -> bool:
        """Whether the sign of the form is in ``truth``, deciding it if both answers are open."""
        form, flip = self.normal(coefs)
        if not any(form):
            return bool(truth & ZERO)
        if flip:
            truth = (
                (truth & ZERO)
                | (NEGATIVE if truth & POSITIVE else 0)
                | (POSITIVE if truth & NEGATIVE else 0)
            )
        possible = self.facts.get(form)
        if possible is None:
            possible = ZERO | POSITIVE if min(form) >= 0 else _ANY
        yes, no = possible & truth, possible & ~truth
        if not no:
            return True
        if not yes:
            return False
        step = len(self.trail)
        if step < len(self.script):
            answer = self.script[step]
        else:
            answer = bool(self._sign(form, self.model) & yes)
        self.trail.append((form, yes if answer else no, no if answer else yes, answer))
        self.facts[form] = yes if answer else no
        return answer

    @staticmethod
    def _sign(form: Vector, model: tuple[Fraction, ...]) -> int:
        value = sum(a * c for a, c in zip(form, model, strict=True) if a)
        return POSITIVE if value > 0 else NEGATIVE if value < 0 else ZERO

    def holds(self, facts: Facts, model: tuple[Fraction, ...]) -> bool:
        """Whether ``model`` satisfies ``facts``."""
        return all(self._sign(form, model) & signs for form, signs in facts.items())

    def _constraint(self, form: Vector, signs: int) -> Any:
        term = self._terms.get(form)
        if term is None:
            term = self._z3.Sum([a * c for a, c in zip(form, self._costs, strict=True) if a])
            self._terms[form] = term
        if signs == NEGATIVE:
            return term < 0
        if signs == ZERO:
            return term == 0
        if signs == POSITIVE:
            return term > 0
        if signs == NEGATIVE | ZERO:
            return term <= 0
        if signs == POSITIVE | ZERO:
            return term >= 0
        return term != 0

    def find(
        self, facts: Facts, gains: frozenset[Vector] = frozenset()
    ) -> tuple[Fraction, ...] | None:
        """Costs that satisfy ``facts`` and make one of ``gains`` positive (if any are given)."""
        key = (frozenset(facts.items()), gains)
        if key in self._models:
            return self._models[key]
        z3 = self._z3
        self.checks += 1
        self._solver.push()
        self._solver.add(*(self._constraint(form, signs) for form, signs in facts.items()))
        if gains:
            self._solver.add(z3.Or([self._constraint(g, POSITIVE) for g in sorted(gains)]))
        outcome = self._solver.check()
        found: tuple[Fraction, ...] | None = None
        if outcome == z3.sat:
            model = self._solver.model()
            values = [model.eval(c, model_completion=True) for c in self._costs]
            found = tuple(Fraction(v.numerator_as_long(), v.denominator_as_long()) for v in values)
        self._solver.pop()
        if outcome == z3.unknown:
            raise SearchError("z3 did not decide a system of linear inequalities")
        self._models[key] = found
        return found

    def least_integers(self, facts: Facts, gains: frozenset[Vector]) -> tuple[int, ...]:
        """Integer costs of least sum that satisfy ``facts`` and make one of ``gains`` positive."""
        z3 = self._z3
        costs = [z3.Int(f"i{v}") for v in range(self.n)]
        pairs = list(zip(self._costs, [z3.ToReal(c) for c in costs], strict=True))
        optimizer = z3.Optimize()
        optimizer.add(*(c >= 0 for c in costs))
        for form, signs in facts.items():
            optimizer.add(z3.substitute(self._constraint(form, signs), *pairs))
        optimizer.add(
            z3.Or([z3.substitute(self._constraint(g, POSITIVE), *pairs) for g in sorted(gains)])
        )
        optimizer.minimize(z3.Sum(costs))
        if optimizer.check() != z3.sat:
            raise SearchError("a cone with a rational witness has no integer one")
        model = optimizer.model()
        return tuple(model.eval(c, model_completion=True).as_long() for c in costs)


def symbolic_instance(parent: Parent, size: tuple[int, ...], space: Space) -> Instance:
    """An instance whose costs are the unknowns of ``space``; it has no requests."""
    instance = Instance(parent=parent, size=size, cost=(0,) * len(parent), requests=())
    # The one place where an Instance holds something other than exact numbers: its own checks
    # would refuse, and a second class with the same methods could drift away from it.
    object.__setattr__(instance, "cost", tuple(space.unit(v) for v in range(len(parent))))
    return instance


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
        Sized forests, one a pair ``(k, h)``.
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

    So a witness that is returned with ``complete`` has the fewest requests on this forest.
    """
    explorer = _Explorer(task, deadline)
    complete = True
    try:
        explorer.go()
    except _TimeOut:
        complete = False
    explorer.coverage.forests = 1
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
        self.deadline = deadline
        self.coverage = Coverage()
        self.found: _Found | None = None
        self.space = Space(len(task.parent))
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
        group = symmetries(task.parent, task.size)
        if task.tie == "node":
            group = group[:1]
        algorithm = ALGORITHMS[task.policy](self.instance, task.k, tie=task.tie)
        start = _Run(algorithm, {}, (Fraction(1),) * len(task.parent), (0,) * len(task.parent))
        self._extend((), group, self.schedules.start(), [start], self.leaves)

    def _extend(
        self,
        requests: tuple[int, ...],
        group: tuple[tuple[int, ...], ...],
        layer: dict[int, list[Vector]],
        runs: list[_Run],
        untouched: frozenset[int],
    ) -> None:
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise _TimeOut
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
        space = self.space
        stack: list[tuple[tuple[bool, ...], tuple[Fraction, ...]]] = [((), run_.model)]
        while stack:
            script, model = stack.pop()
            space.begin(run_.facts, model, script)
            algorithm = run_.algorithm.fork()
            missing = [u for u in self.instance.path(v) if u not in algorithm.resident]
            for _ in algorithm.serve(v):
                pass
            loads = list(run_.loads)
            for u in missing:
                loads[u] += 1
            facts, trail = space.facts, space.trail
            yield _Run(algorithm, facts, model, tuple(loads))
            before = dict(run_.facts)
            answers: list[bool] = []
            for i, (form, kept, other, answer) in enumerate(trail):
                if i >= len(script):
                    alternative = {**before, form: other}
                    costs = space.find(alternative)
                    if costs is not None:
                        stack.append(((*answers, not answer), costs))
                before[form] = kept
                answers.append(answer)

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
                allowed = more.get(form, _ANY) & ZERO
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


Runner = Callable[[list[Task], float | None], Iterator[Outcome]]


def one_by_one(tasks: list[Task], deadline: float | None) -> Iterator[Outcome]:
    """Run the tasks in this process, each no deeper than the best witness so far."""
    best: int | None = None
    for task in tasks:
        if best is not None:
            if best <= 1:
                return
            task = replace(task, max_requests=best - 1)
        outcome = search_task(task, deadline)
        if outcome.witness is not None:
            best = len(outcome.witness.instance.requests)
        yield outcome


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
) -> list[Task]:
    """All sized forests on ``n`` nodes under all admissible capacities.

    Left out: ``k`` at or above the total size, where nothing is ever evicted and the policy pays
    what every schedule pays.
    """
    if policy not in ALGORITHMS:
        raise InstanceError(f"policy {policy!r}: expected one of {', '.join(ALGORITHMS)}")
    tasks: list[Task] = []
    for parent, size in sized_forests(n, max_size):
        for kk in (k,) if k is not None else range(1, sum(size)):
            if kk >= sum(size):
                continue
            for hh in (h,) if h is not None else range(1, kk + 1):
                if hh <= kk:
                    tasks.append(
                        Task(policy, parent, size, kk, hh, max_requests, tie, cycle, ratio)
                    )
    return tasks


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
        search looks for a course with period one or two cycles, after two cycles to warm up,
        against schedules with period one; "unsat" is to be read with these limits. The means of a
        witness are exact.
    ratio : int or Fraction, optional
        Beat this instead of ``k/(k-h+1)``.
    timeout : float, optional
        Seconds after which to stop with status ``"timeout"``.
    runner : callable
        How the tasks of one node count are run; the command line passes a pool of processes.

    Notes
    -----
    Time grows like ``n! max_size^n n^T`` at worst. No additive constant: the bounds are stated
    from empty caches.
    """
    deadline = None if timeout is None else time.monotonic() + timeout
    coverage = Coverage()
    for n in range(1, max_nodes + 1):
        tasks = tasks_for(
            policy, n, max_requests, max_size=max_size, k=k, h=h, tie=tie, cycle=cycle, ratio=ratio
        )
        complete = True
        witnesses: list[Witness] = []
        for outcome in runner(tasks, deadline):
            coverage.add(outcome.coverage)
            complete = complete and outcome.complete
            if outcome.witness is not None:
                witnesses.append(outcome.witness)
        if witnesses:
            best = min(
                witnesses,
                key=lambda w: (len(w.instance.requests), sum(w.instance.size), w.k, w.h),
            )
            return SearchResult("sat", best, n if complete else n - 1, coverage)
        if not complete:
            return SearchResult("timeout", None, n - 1, coverage)
    return SearchResult("unsat", None, max_nodes, coverage)
