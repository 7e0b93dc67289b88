"""One step interface for every online algorithm of the workbench, in exact arithmetic.

A :class:`Transcription` holds the state of one algorithm over ``(Instance, k)``. Requests are
served one at a time; serving yields frozen events, and *the state between two events is the
algorithm's state at that moment*, so that a checker can read credits after every event. The
model (ancestor-closed states, pinned path, no bypassing) is enforced here, by exceptions, for
every algorithm alike: see ``proofs/model.md``.

Numbers are ``int`` or ``Fraction`` throughout; there is no float in this package.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal, Self

from cache_worthy.theory.instance import Instance, InstanceError, Number, is_integer


class ModelError(RuntimeError):
    """An algorithm left the model: a bug in the transcription, never a property of an instance."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A resident node of the requested path is touched; its credit goes ``before -> after``."""

    node: int
    before: Number
    after: Number


@dataclass(frozen=True, slots=True)
class Rent:
    """One round of rent: the level rises by ``delta``; ``paid`` lists (payer, amount > 0)."""

    delta: Number
    paid: tuple[tuple[int, Number], ...]


@dataclass(frozen=True, slots=True)
class Settle:
    """``payer`` hands ``amount`` of credit to its ancestor ``debtor``."""

    payer: int
    debtor: int
    amount: Number


@dataclass(frozen=True, slots=True)
class Evict:
    """``node``, with no resident child, leaves with ``credit``."""

    node: int
    credit: Number


@dataclass(frozen=True, slots=True)
class Load:
    """``node`` is loaded and its ``cost`` is paid."""

    node: int
    cost: Number


@dataclass(frozen=True, slots=True)
class OptLoad:
    """The offline schedule loads ``node`` at ``cost``."""

    node: int
    cost: Number


@dataclass(frozen=True, slots=True)
class OptEvict:
    """The offline schedule drops ``node``."""

    node: int


Event = Hit | Rent | Settle | Evict | Load | OptLoad | OptEvict

Tie = Literal["lru", "mru", "oldest", "newest", "node"]


#: Tie-breaks among candidates of equal key, smallest first. ``lru``: least recently touched, then
#: deepest, then lowest number (touch times alone already order the evictable leaves: two leaves
#: touched by one request would lie on one path). ``oldest``: first loaded, which is what ``sim``
#: does with node ids.
TIES: dict[Tie, Callable[[Transcription, int], tuple[int, ...]]] = {
    "lru": lambda a, u: (a.touched[u], -a.depth[u], u),
    "mru": lambda a, u: (-a.touched[u], -a.depth[u], u),
    "oldest": lambda a, u: (a.loaded[u],),
    "newest": lambda a, u: (-a.loaded[u],),
    "node": lambda a, u: (u,),
}


def divide(a: Number, b: Number) -> Number:
    """``a / b`` exactly, as an ``int`` whenever it is one (faster than ``Fraction`` later).

    Examples
    --------
    >>> divide(6, 3), divide(1, 2)
    (2, Fraction(1, 2))
    """
    if not isinstance(a, int | Fraction):
        return a / b  # a symbolic cost (search/symbolic.py), which divides itself
    q = Fraction(a) / b
    return q.numerator if q.denominator == 1 else q


class Transcription(ABC):
    """State of one online algorithm over ``(instance, k)``.

    Parameters
    ----------
    instance : Instance
        Forest, sizes, costs. ``instance.requests`` is not read by ``serve``: adversaries choose
        their own requests.
    k : int
        Online capacity, in size units.
    tie : {"lru", "mru", "oldest", "newest", "node"}
        Order among candidates that the rule itself does not order.

    Attributes
    ----------
    resident : set of int
        Ancestor-closed at every moment.
    used : int
        Total size of ``resident``, at most ``k`` after every service.
    cost : int or Fraction
        Paid so far.
    evictions, loads, clock : int
        Nodes evicted and loaded, requests served.
    touched, loaded : dict of int to int
        For every resident node, the clock of its last touch and the number of its load.
    """

    #: Credits may be negative by design, and the resident subtrees' sums are what may not.
    signed: ClassVar[bool] = False

    def __init__(self, instance: Instance, k: int, *, tie: Tie = "lru") -> None:
        if not is_integer(k) or k < 1:
            raise InstanceError(f"k = {k!r}: expected a positive capacity, an integer")
        if tie not in TIES:
            raise InstanceError(f"tie = {tie!r}: expected one of {', '.join(TIES)}")
        self.instance = instance
        self.k = k
        self.tie = tie
        self._tie = TIES[tie]
        self.depth: tuple[int, ...] = tuple(len(instance.path(v)) - 1 for v in range(instance.n))
        self._paths = tuple(instance.path(v) for v in range(instance.n))
        self._children = instance.children()
        self.resident: set[int] = set()
        self.resident_children = [0] * instance.n
        self.used = 0
        self.cost: Number = 0
        self.evictions = 0
        self.loads = 0
        self.clock = 0
        self.touched: dict[int, int] = {}
        self.loaded: dict[int, int] = {}
        self.pinned: frozenset[int] = frozenset()

    # -- what an algorithm supplies -------------------------------------------------------------

    @abstractmethod
    def _process(self, path: tuple[int, ...], missing: tuple[int, ...]) -> Iterator[Event]:
        """Serve ``path`` (root first), of which ``missing`` is the tail that is not resident."""

    @abstractmethod
    def credit(self, u: int) -> Number:
        """Credit of resident node ``u`` now; what a keyed policy would call remaining value."""

    def _state(self) -> Hashable:
        """What decides future behaviour besides residents, touch order, load order and credit."""
        return ()

    def prepare(self, v: int) -> Iterator[Event]:
        """Whatever the algorithm does before the offline schedule moves (touch form: settle)."""
        return iter(())

    # -- serving --------------------------------------------------------------------------------

    def serve(self, v: int) -> Iterator[Event]:
        """Serve one request; a generator that must be exhausted.

        Raises
        ------
        InstanceError
            If the path to ``v`` is larger than ``k``.
        ModelError
            If the algorithm leaves the model.
        """
        yield from self.prepare(v)
        yield from self.process(v)

    def process(self, v: int) -> Iterator[Event]:
        """Serve ``v`` without :meth:`prepare`, for a checker that lets the offline move between."""
        path = self._paths[v]
        size = self.instance.size
        if sum(size[u] for u in path) > self.k:
            raise InstanceError(
                f"the path to node {v} has size {self.instance.path_size(v)}, above k = {self.k}"
            )
        self.clock += 1
        self.pinned = frozenset(path)
        missing = tuple(u for u in path if u not in self.resident)
        yield from self._process(path, missing)
        for u in path:
            if u not in self.resident:
                raise ModelError(f"request {v} served without node {u} resident")
            self.touched[u] = self.clock
        if self.used > self.k:
            raise ModelError(f"{self.used} units resident, capacity {self.k}")
        self.pinned = frozenset()

    def step(self, v: int) -> tuple[Event, ...]:
        """Serve one request and return its events."""
        return tuple(self.serve(v))

    # -- what algorithms share ------------------------------------------------------------------

    def short(self, missing: tuple[int, ...]) -> bool:
        """Whether there is no room yet for the missing nodes."""
        return self.used + sum(self.instance.size[u] for u in missing) > self.k

    def evictable(self) -> list[int]:
        """Unpinned resident nodes without a resident child, by the tie-break, the first to leave first."""
        leaves = [
            u for u in self.resident if not self.resident_children[u] and u not in self.pinned
        ]
        return sorted(leaves, key=lambda u: self._tie(self, u))

    def unpinned(self) -> list[int]:
        """The unpinned resident nodes, ascending: closed under resident descendants."""
        return sorted(self.resident - self.pinned)

    def kids(self, u: int) -> list[int]:
        """Resident children of ``u``, ascending."""
        return [w for w in self._children[u] if w in self.resident]

    def subtree(self, u: int) -> list[int]:
        """``T_u``: ``u`` and its resident descendants, parents before children."""
        out = [u]
        for w in out:
            out.extend(self.kids(w))
        return out

    def _drop(self, u: int) -> None:
        """Remove a leaf from the resident set."""
        if u not in self.resident or self.resident_children[u] or u in self.pinned:
            raise ModelError(f"node {u} cannot leave: absent, pinned, or with a resident child")
        self.resident.remove(u)
        self.used -= self.instance.size[u]
        self.evictions += 1
        del self.touched[u], self.loaded[u]
        p = self.instance.parent[u]
        if p is not None:
            self.resident_children[p] -= 1

    def _bring(self, u: int) -> None:
        """Load a node whose parent is resident, into room that exists, and pay its cost."""
        p = self.instance.parent[u]
        if u in self.resident or (p is not None and p not in self.resident):
            raise ModelError(f"node {u} cannot be loaded: resident already, or without its parent")
        if self.used + self.instance.size[u] > self.k:
            raise ModelError(f"no room for node {u}: {self.used} of {self.k} units used")
        self.resident.add(u)
        self.used += self.instance.size[u]
        self.cost += self.instance.cost[u]
        self.loads += 1
        self.touched[u] = self.clock
        self.loaded[u] = self.loads
        if p is not None:
            self.resident_children[p] += 1

    # -- copies and comparison ------------------------------------------------------------------

    def fork(self) -> Self:
        """An independent copy of the state, for searches that branch on the next request."""
        twin = copy.copy(self)
        for name, value in vars(self).items():
            if isinstance(value, dict | list | set):
                setattr(twin, name, value.copy())
        return twin

    def state(self) -> Hashable:
        """Equal states have equal futures: what a repeatable cycle must restore."""
        by_touch = {t: i for i, t in enumerate(sorted(set(self.touched.values())))}
        by_load = {t: i for i, t in enumerate(sorted(self.loaded.values()))}
        return (
            tuple(
                (u, by_touch[self.touched[u]], by_load[self.loaded[u]], self.credit(u))
                for u in sorted(self.resident)
            ),
            self._state(),
        )


@dataclass(frozen=True, slots=True)
class Run:
    """One exact run over ``instance.requests``."""

    cost: Number
    """Total load cost from an empty cache."""
    evictions: int
    request_costs: tuple[Number, ...]
    """What every request paid."""
    events: tuple[tuple[Event, ...], ...] = ()
    """The events of every request, or ``()`` unless they were kept."""

    @property
    def vacuous(self) -> bool:
        """No eviction happened, so no eviction rule was exercised."""
        return self.evictions == 0


def drive(algorithm: Transcription, *, keep_events: bool = False) -> Run:
    """Serve ``algorithm.instance.requests`` in order and report the run."""
    costs: list[Number] = []
    kept: list[tuple[Event, ...]] = []
    for v in algorithm.instance.requests:
        before = algorithm.cost
        events = algorithm.step(v)
        costs.append(algorithm.cost - before)
        if keep_events:
            kept.append(events)
    return Run(
        cost=algorithm.cost,
        evictions=algorithm.evictions,
        request_costs=tuple(costs),
        events=tuple(kept),
    )


def bound(k: int, h: int) -> Number:
    """Young's ratio ``k / (k - h + 1)``.

    Examples
    --------
    >>> bound(3, 2), bound(4, 4)
    (Fraction(3, 2), 4)
    """
    if not (is_integer(h) and is_integer(k)):
        raise InstanceError(f"h = {h!r}, k = {k!r}: expected integers")
    if not 1 <= h <= k:
        raise InstanceError(f"h = {h}: expected 1..k with k = {k}")
    return divide(k, k - h + 1)
