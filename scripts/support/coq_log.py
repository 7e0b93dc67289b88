"""Runs of the cosigned transcriptions in the notation of ``proofs/coq/Log.v`` and ``TouchLog.v``.

The proof kernel checks a relation; this module is the link to the code. A run is recorded event by
event, with the state after every request, and written as a term that the checker of ``Log.v``
evaluates. The checker is proved to accept runs of the relation only, so whatever this module gets
wrong can lead to a rejection, never to a false acceptance.

``Log.v`` asks who paid for whom; the transcriptions say only what everybody paid. On a forest any
assignment can be rebuilt greedily (:func:`who_pays`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random

from cache_worthy.theory.algorithms import make
from cache_worthy.theory.instance import Instance, Number
from cache_worthy.theory.sampling import random_instance
from cache_worthy.theory.steps import Evict, Hit, Load, ModelError, Rent, Settle, Transcription

Payment = tuple[int, int, Number]


@dataclass(frozen=True, slots=True)
class Pay:
    """A rent round: ``delta`` per unit of size; ``payments`` lists (payer, payee, amount)."""

    delta: Number
    payments: tuple[Payment, ...]


@dataclass(frozen=True, slots=True)
class Leave:
    """One unpinned node without credit leaves."""

    node: int


@dataclass(frozen=True, slots=True)
class LoggedRequest:
    """A request, what made room for it, and the residents with their credits afterwards."""

    request: int
    steps: tuple[Pay | Leave, ...]
    after: tuple[tuple[int, Number], ...]


@dataclass(frozen=True, slots=True)
class LoggedRun:
    """A whole run from an empty cache, and the cost that the transcription reports for it."""

    instance: Instance
    k: int
    requests: tuple[LoggedRequest, ...]
    cost: Number

    @property
    def evictions(self) -> int:
        """Nodes that left."""
        return sum(isinstance(s, Leave) for r in self.requests for s in r.steps)

    @property
    def cosigned(self) -> int:
        """Payments that a node made for another one."""
        return sum(
            payer != payee
            for r in self.requests
            for s in r.steps
            if isinstance(s, Pay)
            for payer, payee, _ in s.payments
        )


def who_pays(algorithm: Transcription, rent: Rent) -> tuple[Payment, ...]:
    """Assign what everybody paid in a round to those it was paid for.

    Deepest payee first, each from its own subtree, itself first: what a subtree has left over can
    only serve nodes above it, and all of it serves them equally, so the greedy choice never loses.
    Where the sums do not match, the assignment falls short and the checker rejects it.

    Running time: quadratic in the number of residents.
    """
    left = dict(rent.paid)
    payments: list[Payment] = []
    size = algorithm.instance.size
    for payee in sorted(algorithm.unpinned(), key=lambda u: -algorithm.depth[u]):
        owed: Number = rent.delta * size[payee]
        for payer in algorithm.subtree(payee):
            amount = min(owed, left.get(payer, 0))
            if amount > 0:
                left[payer] -= amount
                owed -= amount
                payments.append((payer, payee, amount))
    return tuple(payments)


def record(algorithm: Transcription) -> LoggedRun:
    """Serve ``algorithm.instance.requests`` and log what happens.

    Raises
    ------
    ModelError
        For an event that the relation of ``Cosigned.v`` does not know (the touch form settles:
        :func:`record_touch`).
    """
    logged: list[LoggedRequest] = []
    for v in algorithm.instance.requests:
        steps: list[Pay | Leave] = []
        for event in algorithm.serve(v):  # the state is the one at the moment of the event
            match event:
                case Rent():
                    steps.append(Pay(event.delta, who_pays(algorithm, event)))
                case Evict():
                    steps.append(Leave(event.node))
                case Hit() | Load():
                    pass  # both follow from the request; the state after it shows their effect
                case _:
                    raise ModelError(f"no such step in proofs/coq/Cosigned.v: {event}")
        after = tuple((u, algorithm.credit(u)) for u in sorted(algorithm.resident))
        logged.append(LoggedRequest(v, tuple(steps), after))
    return LoggedRun(algorithm.instance, algorithm.k, tuple(logged), algorithm.cost)


@dataclass(frozen=True, slots=True)
class TouchRequest:
    """A request to the touch form: what was settled before the touch, the events that made room."""

    request: int
    before: tuple[Settle, ...]
    making: tuple[Settle | Rent | Evict, ...]
    after: tuple[tuple[int, Number], ...]


@dataclass(frozen=True, slots=True)
class TouchRun:
    """A run of the touch form; credits may be negative."""

    instance: Instance
    k: int
    requests: tuple[TouchRequest, ...]
    cost: Number

    @property
    def evictions(self) -> int:
        """Nodes that left."""
        return sum(isinstance(e, Evict) for r in self.requests for e in r.making)

    @property
    def settlements(self) -> int:
        """Debts, or parts of debts, that a dependent paid."""
        return sum(
            len(r.before) + sum(isinstance(e, Settle) for e in r.making) for r in self.requests
        )


def record_touch(algorithm: Transcription) -> TouchRun:
    """Serve ``algorithm.instance.requests`` and log it in the terms of ``Touch.v``."""
    logged: list[TouchRequest] = []
    for v in algorithm.instance.requests:
        before: list[Settle] = []
        making: list[Settle | Rent | Evict] = []
        for event in algorithm.prepare(v):
            if isinstance(event, Settle):
                before.append(event)
        for event in algorithm.process(v):
            if isinstance(event, Settle | Rent | Evict):
                making.append(event)
        after = tuple((u, algorithm.credit(u)) for u in sorted(algorithm.resident))
        logged.append(TouchRequest(v, tuple(before), tuple(making), after))
    return TouchRun(algorithm.instance, algorithm.k, tuple(logged), algorithm.cost)


def forgive_settlement(run: TouchRun) -> TouchRun:
    """The same log with the first settlement left out.

    Raises
    ------
    ValueError
        If nothing was ever settled.
    """
    for i, request in enumerate(run.requests):
        if request.before:
            changed = replace(request, before=request.before[1:])
        else:
            first = next((e for e in request.making if isinstance(e, Settle)), None)
            if first is None:
                continue
            changed = replace(request, making=tuple(e for e in request.making if e is not first))
        return replace(run, requests=(*run.requests[:i], changed, *run.requests[i + 1 :]))
    raise ValueError("nothing is settled in this run")


def forgive(run: LoggedRun) -> LoggedRun:
    """The same log with one debt forgiven: the first payment of a dependent is left out.

    Raises
    ------
    ValueError
        If no node ever paid for another one.
    """
    for i, request in enumerate(run.requests):
        for j, step in enumerate(request.steps):
            if not isinstance(step, Pay):
                continue
            for payment in step.payments:
                if payment[0] != payment[1]:
                    fewer = replace(
                        step, payments=tuple(p for p in step.payments if p is not payment)
                    )
                    steps = (*request.steps[:j], fewer, *request.steps[j + 1 :])
                    changed = replace(request, steps=steps)
                    return replace(
                        run, requests=(*run.requests[:i], changed, *run.requests[i + 1 :])
                    )
    raise ValueError("no node pays for another one in this run")


def sample(
    rng: Random, policy: str, *, max_nodes: int = 6, requests: int = 12
) -> Transcription | None:
    """A fresh transcription on a random forest at a random capacity; ``None`` if nothing can leave.

    Sizes up to 3; costs are multiples of 1/2, so that exact fractions are exercised.
    """
    drawn = random_instance(
        rng, nodes=rng.randint(3, max_nodes), requests=requests, max_size=3, max_cost=18
    )
    costs = tuple(Fraction(c, 2) for c in drawn.cost)
    instance = Instance(drawn.parent, drawn.size, costs, drawn.requests)
    total = sum(instance.size[u] for u in instance.touched())
    if instance.floor >= total:
        return None
    return make(policy, instance, rng.randint(instance.floor, total - 1))


# -- notation -----------------------------------------------------------------------------------


def number(x: Number) -> str:
    """A rational in Coq's notation.

    Examples
    --------
    >>> number(3), number(Fraction(-1, 2))
    ('(3#1)', '(-1#2)')
    """
    q = Fraction(x)
    return f"({q.numerator}#{q.denominator})"


def listed(terms: Iterable[str]) -> str:
    """A list in Coq's notation.

    Examples
    --------
    >>> listed(["1", "2"])
    '[1; 2]'
    """
    return f"[{'; '.join(terms)}]"


def forest_terms(instance: Instance) -> str:
    """Parents, sizes and costs, as ``forest_of`` of ``Execute.v`` takes them."""
    parents = listed("None" if p is None else f"Some {p}%nat" for p in instance.parent)
    sizes = listed(f"{s}%Z" for s in instance.size)
    return f"{parents} {sizes} {listed(number(c) for c in instance.cost)}"


def _step(step: Pay | Leave) -> str:
    if isinstance(step, Leave):
        return f"Leave [{step.node}%nat]"
    payments = listed(f"({w}%nat, {u}%nat, {number(x)})" for w, u, x in step.payments)
    return f"Pay {number(step.delta)} {payments}"


def _entry(entry: LoggedRequest) -> str:
    after = listed(f"({u}%nat, {number(c)})" for u, c in entry.after)
    return f"Entry {entry.request}%nat {listed(map(_step, entry.steps))} {after}"


def logged_term(run: LoggedRun) -> str:
    """The run as a term of type ``logged`` of ``Log.v``."""
    entries = ";\n    ".join(_entry(e) for e in run.requests)
    return f"Logged {forest_terms(run.instance)} {run.k}%Z\n   [{entries}]\n   {number(run.cost)}"


def _touch_step(event: Settle | Rent | Evict) -> str:
    match event:
        case Settle():
            return f"Settle {event.payer} {event.debtor} {number(event.amount)}"
        case Rent():
            return f"Rise {number(event.delta)}"
        case Evict():
            return f"Gone [{event.node}%nat]"


def _touch_entry(entry: TouchRequest) -> str:
    before = listed(f"({e.payer}%nat, {e.debtor}%nat, {number(e.amount)})" for e in entry.before)
    after = listed(f"({u}%nat, {number(c)})" for u, c in entry.after)
    making = listed(map(_touch_step, entry.making))
    return f"TouchEntry {entry.request} {before} {making} {after}"


def touch_term(run: TouchRun) -> str:
    """The run as a term of type ``touch_logged`` of ``TouchLog.v``."""
    entries = ";\n    ".join(_touch_entry(e) for e in run.requests)
    return (
        f"TouchLogged {forest_terms(run.instance)} {run.k}%Z\n   [{entries}]\n   {number(run.cost)}"
    )
