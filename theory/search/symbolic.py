"""Symbolic costs: run exact code on all non-negative real costs at once.

Code that adds costs, scales them and compares them runs unchanged on :class:`Linear` numbers.
Every comparison that both answers are still open for splits the run; :func:`courses` follows all
of them. z3 says which answers are open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm
from typing import Any, Generic, TypeVar

from cache_worthy.theory.forests import Parent
from cache_worthy.theory.instance import Instance, Number
from cache_worthy.theory.search.load_counts import Vector

T = TypeVar("T")
NEGATIVE, ZERO, POSITIVE = 1, 2, 4
ANY = NEGATIVE | ZERO | POSITIVE


class SymbolicError(RuntimeError):
    """z3 did not decide linear arithmetic, or contradicts itself."""


def _comparison(truth: int) -> Callable[[Linear, object], bool]:
    return lambda self, other: self.space.decide(self._minus(other), truth)


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

    __lt__ = _comparison(NEGATIVE)
    __le__ = _comparison(NEGATIVE | ZERO)
    __gt__ = _comparison(POSITIVE)
    __ge__ = _comparison(POSITIVE | ZERO)

    def __eq__(self, other: object) -> bool:
        return other is not None and self.space.decide(self._minus(other), ZERO)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __bool__(self) -> bool:
        return self != 0

    __hash__ = None  # type: ignore[assignment]


Facts = dict[Vector, int]
"""What a run has established: normalised linear form -> set of its possible signs."""


class Space:
    """Non-negative cost vectors in ``n`` dimensions, and decisions about linear forms of them.

    Parameters
    ----------
    n : int
    apart : bool
        Use a z3 context of its own (about 10 ms). Which of several models z3 finds depends on what
        its context has seen before, so without it a search depends on what ran before it.
    """

    def __init__(self, n: int, *, apart: bool = False) -> None:
        import z3

        self.n = n
        self._z3: Any = z3
        self._context = z3.Context() if apart else None
        self._costs = [z3.Real(f"c{v}", self._context) for v in range(n)]
        self._solver = z3.SolverFor("QF_LRA", ctx=self._context)
        self._solver.add(*(c >= 0 for c in self._costs))
        self._normal: dict[tuple[Number, ...], tuple[Vector, bool]] = {}
        self._constraints: dict[tuple[Vector, int], Any] = {}
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
            possible = ZERO | POSITIVE if min(form) >= 0 else ANY
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
        # Kept, because building an expression costs as much as deciding it.
        constraint = self._constraints.get((form, signs))
        if constraint is None:
            term = self._z3.Sum([a * c for a, c in zip(form, self._costs, strict=True) if a])
            constraint = {
                NEGATIVE: term < 0,
                ZERO: term == 0,
                POSITIVE: term > 0,
                NEGATIVE | ZERO: term <= 0,
                POSITIVE | ZERO: term >= 0,
                NEGATIVE | POSITIVE: term != 0,
            }[signs]
            self._constraints[form, signs] = constraint
        return constraint

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
            raise SymbolicError("z3 did not decide a system of linear inequalities")
        self._models[key] = found
        return found

    def least_integers(
        self, facts: Facts, gains: frozenset[Vector] = frozenset()
    ) -> tuple[int, ...]:
        """Integer costs of least sum in the same sense as :meth:`find`."""
        z3 = self._z3
        costs = [z3.Int(f"i{v}", self._context) for v in range(self.n)]
        pairs = list(zip(self._costs, [z3.ToReal(c) for c in costs], strict=True))
        optimizer = z3.Optimize(ctx=self._context)
        optimizer.add(*(c >= 0 for c in costs))
        for form, signs in facts.items():
            optimizer.add(z3.substitute(self._constraint(form, signs), *pairs))
        if gains:
            positive = [self._constraint(g, POSITIVE) for g in sorted(gains)]
            optimizer.add(z3.Or([z3.substitute(g, *pairs) for g in positive]))
        optimizer.minimize(z3.Sum(costs))
        if optimizer.check() != z3.sat:
            raise SymbolicError("a cone with a rational witness has no integer one")
        model = optimizer.model()
        return tuple(model.eval(c, model_completion=True).as_long() for c in costs)


@dataclass(frozen=True, slots=True)
class Course(Generic[T]):
    """One course of a computation: its result, and the costs on which it takes it."""

    result: T
    facts: Facts
    """The signs of linear forms that hold exactly on the costs of this course."""
    model: tuple[Fraction, ...]
    """One such cost vector."""


def courses(
    space: Space, play: Callable[[], T], facts: Facts, model: tuple[Fraction, ...]
) -> Iterator[Course[T]]:
    """All courses that ``play`` can take on costs that satisfy ``facts``.

    ``play`` must be deterministic but for the comparisons of :class:`Linear` numbers of ``space``,
    and must start from the same state at every call. The cones of the courses are disjoint and
    cover all costs that satisfy ``facts``.

    Parameters
    ----------
    model : tuple of Fraction
        Costs that satisfy ``facts``.
    """
    stack: list[tuple[tuple[bool, ...], tuple[Fraction, ...]]] = [((), model)]
    while stack:
        script, costs = stack.pop()
        space.begin(facts, costs, script)
        result = play()
        reached, trail = space.facts, space.trail
        before = dict(facts)
        answers: list[bool] = []
        for i, (form, kept, other, answer) in enumerate(trail):
            if i >= len(script):
                found = space.find({**before, form: other})
                if found is not None:
                    stack.append(((*answers, not answer), found))
            before[form] = kept
            answers.append(answer)
        yield Course(result, reached, costs)


def symbolic_instance(
    parent: Parent, size: tuple[int, ...], space: Space, requests: tuple[int, ...] = ()
) -> Instance:
    """An instance whose costs are the unknowns of ``space``."""
    instance = Instance(parent=parent, size=size, cost=(0,) * len(parent), requests=requests)
    # The one place where an Instance holds something other than exact numbers: its own checks
    # would refuse, and a second class with the same methods could drift away from it.
    object.__setattr__(instance, "cost", tuple(space.unit(v) for v in range(len(parent))))
    return instance
