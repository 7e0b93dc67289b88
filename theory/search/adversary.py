"""Constructions that play against a live policy, in exact arithmetic.

*Phases* (``proofs/refutation.md``): why Landlord's ratio on forests is ``1 + (h-1)/m``. The
requests depend on what the policy evicts.

*LRU's cycle* (``proofs/lru.md``): why LRU's ratio is bounded by no function of the capacity once
costs differ. The closed forms are derived there and in the docstrings here, and checked by
``scripts/check/adversary.py``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from cache_worthy.theory.algorithms import make
from cache_worthy.theory.instance import Instance, InstanceError, Number
from cache_worthy.theory.steps import bound, divide


@dataclass(frozen=True, slots=True)
class PhaseForest:
    """The forest of the phase construction.

    Two copies of ``m`` trees whose sizes, at most ``path``, sum to ``k-h+1``; every tree is a root
    of cost 0 with an expensive child of size 1 (the child alone for a tree of size 1). And ``h`` unit
    roots of cost 1.
    """

    forest: Instance
    """Without requests."""
    k: int
    h: int
    path: int
    cost: Number
    costly: tuple[tuple[int, ...], tuple[int, ...]]
    """The costly nodes of both copies."""
    units: tuple[int, ...]

    @property
    def m(self) -> int:
        """Dear nodes in a copy, ``ceil((k-h+1)/path)``."""
        return len(self.costly[0])

    @property
    def exact_ratio(self) -> Number:
        """Landlord's competitive ratio on forests with paths of this size, ``1 + (h-1)/m``."""
        return 1 + divide(self.h - 1, self.m)

    @property
    def phase_floor(self) -> Number:
        """What Landlord pays per phase at least: ``m M + (h-1)(M-1)``."""
        return self.m * self.cost + (self.h - 1) * (self.cost - 1)

    @property
    def phase_offline(self) -> Number:
        """What the offline pays per phase at most: ``m M + h``.

        It serves the costly nodes one after the other, then loads all ``h`` units and keeps them.
        """
        return self.m * self.cost + self.h


def phase_forest(
    k: int, h: int, path: int, cost: Number = 100, *, unit_sizes: bool = False
) -> PhaseForest:
    """The forest of the phase construction.

    Parameters
    ----------
    k, h : int
        ``2 <= h <= k``.
    path : int
        ``H``, the largest requested path, ``1..h``.
    cost : int or Fraction
        ``M``, the cost of a costly node, above 1.
    unit_sizes : bool
        A chain of unit nodes of cost 0 in place of every root.

    Raises
    ------
    InstanceError
        For arguments out of range.

    Examples
    --------
    >>> small = phase_forest(3, 2, 2)
    >>> small.forest.parent, small.forest.size, small.costly, small.units
    ((None, 0, None, 2, None, None), (1, 1, 1, 1, 1, 1), ((1,), (3,)), (4, 5))
    >>> small.exact_ratio, phase_forest(9, 5, 5).exact_ratio
    (2, 5)
    """
    if not 2 <= h <= k:
        raise InstanceError(f"h = {h}: expected 2..k with k = {k}")
    if not 1 <= path <= h:
        raise InstanceError(f"path = {path}: expected 1..h with h = {h}")
    if not cost > 1:
        raise InstanceError(f"cost of a costly node = {cost}: expected a number above 1")
    rest = k - h + 1
    sizes = [path] * (rest // path) + ([rest % path] if rest % path else [])
    parent: list[int | None] = []
    size: list[int] = []
    price: list[Number] = []

    def add(up: int | None, units: int, worth: Number) -> int:
        parent.append(up)
        size.append(units)
        price.append(worth)
        return len(parent) - 1

    copies: list[tuple[int, ...]] = []
    for _ in range(2):
        costly: list[int] = []
        for d in sizes:
            up: int | None = None
            for s in [1] * (d - 1) if unit_sizes else [d - 1]:
                if s:
                    up = add(up, s, 0)
            costly.append(add(up, 1, cost))
        copies.append(tuple(costly))
    units = tuple(add(None, 1, 1) for _ in range(h))
    forest = Instance(tuple(parent), tuple(size), tuple(price), ())
    return PhaseForest(forest, k, h, path, cost, (copies[0], copies[1]), units)


@dataclass(frozen=True, slots=True)
class Phase:
    """What the policy paid in one phase."""

    cost: Number
    requests: int
    units: int
    """Different unit nodes requested."""
    ended: bool
    """False if no costly node left within the limit, so that the phase was broken off."""


@dataclass(frozen=True, slots=True)
class Play:
    """A played construction."""

    policy: str
    stage: PhaseForest
    phases: tuple[Phase, ...]
    instance: Instance
    """The forest with the requests that were made."""

    @property
    def cost(self) -> Number:
        """Online cost of all phases, from an empty cache."""
        return sum((p.cost for p in self.phases), 0)

    @property
    def offline(self) -> Number:
        """An offline schedule's cost, at least the optimum.

        ``m M + h`` per phase; in a phase that was broken off, only the units that it requested.
        """
        spared = sum(self.stage.h - p.units for p in self.phases if not p.ended)
        return len(self.phases) * self.stage.phase_offline - spared

    @property
    def ratio(self) -> Number:
        """Online cost over that offline cost: at most the ratio to the optimum."""
        return divide(self.cost, self.offline)

    @property
    def young(self) -> Number:
        """Young's bound ``k/(k-h+1)``."""
        return bound(self.stage.k, self.stage.h)


def play(
    policy: str,
    k: int,
    h: int,
    path: int,
    phases: int,
    *,
    cost: Number = 100,
    unit_sizes: bool = False,
    limit: int = 100_000,
    **options: Any,
) -> Play:
    """Play phases against a live policy.

    A phase, copies alternating: request the costly nodes of the copy, then keep requesting a unit
    that the policy does not hold until one of those costly nodes has been evicted. There always is
    such a unit: the copy takes ``k-h+1`` of the capacity, so not all ``h`` fit as well.

    Parameters
    ----------
    policy : str
        A name of :data:`cache_worthy.theory.algorithms.ALGORITHMS`.
    phases : int
        At least 1.
    limit : int
        Requests after which a phase is broken off (a policy that never lets a costly node go pays
        forever, which is worse for it).
    **options
        Passed to the policy (``tie``, ``hits``).

    Examples
    --------
    >>> game = play("landlord", 9, 5, 5, 4)
    >>> [int(p.cost) for p in game.phases], game.stage.phase_floor, game.stage.phase_offline
    ([501, 500, 500, 500], 496, 105)
    >>> float(play("cosigned", 9, 5, 5, 4).ratio) < game.young < game.ratio
    True
    """
    if phases < 1:
        raise InstanceError(f"phases = {phases}: expected at least 1")
    stage = phase_forest(k, h, path, cost, unit_sizes=unit_sizes)
    algorithm = make(policy, stage.forest, k, **options)
    requests: list[int] = []
    done: list[Phase] = []

    def ask(v: int) -> None:
        requests.append(v)
        algorithm.step(v)

    for number in range(phases):
        paid, since = algorithm.cost, len(requests)
        costly = stage.costly[number % 2]
        for v in costly:
            ask(v)
        while algorithm.resident.issuperset(costly) and len(requests) - since < limit:
            ask(next(u for u in stage.units if u not in algorithm.resident))
        ended = not algorithm.resident.issuperset(costly)
        units = len(set(requests[since:]).difference(costly))
        done.append(Phase(algorithm.cost - paid, len(requests) - since, units, ended))
    return Play(policy, stage, tuple(done), replace(stage.forest, requests=tuple(requests)))


def lru_cycle(k: int, cost: Number, phases: int) -> Instance:
    """One costly and ``k`` cheap independent unit items, in turn, ``phases`` times; then the costly one.

    Node 0 costs ``cost``, nodes 1..k cost 1. The closing request gives the optimum a reason to
    hold the costly item to the end, which makes its cost one formula.

    Examples
    --------
    >>> lru_cycle(2, 10, 2).requests
    (0, 1, 2, 0, 1, 2, 0)
    """
    if k < 2 or phases < 1:
        raise InstanceError(f"k = {k}, phases = {phases}: expected k >= 2 and phases >= 1")
    return Instance(
        (None,) * (k + 1),
        (1,) * (k + 1),
        (cost, *(1 for _ in range(k))),
        (*(*range(k + 1),) * phases, 0),
    )


def lru_cycle_cost(k: int, cost: Number, phases: int) -> Number:
    """LRU's cost on :func:`lru_cycle` at capacity ``k``: ``phases * (cost + k) + cost``.

    Between two requests of an item the ``k`` others are all requested, so LRU has dropped it, and
    every request misses.
    """
    return phases * (cost + k) + cost


def lru_cycle_optimum(k: int, cost: Number, phases: int) -> Number:
    """The optimum at capacity ``k``: ``cost + k + floor(k (phases - 1) / (k - 1))``, cost >= 2.

    The costly item is loaded once and kept (why evicting it never pays: ``proofs/lru.md``). The
    cheap requests then are a cycle of ``k`` items over ``k - 1`` slots, where Belady's rule is
    optimal. The first ``k`` requests miss. At a miss the item needed last is the one requested
    just before, so it makes room, and the next miss is its request, ``k - 1`` requests later: one
    miss in every ``k - 1`` of the ``k (phases - 1)`` requests left. (Not one per phase: for
    ``k = 2`` it is two.)

    Examples
    --------
    >>> [lru_cycle_optimum(3, 100, p) for p in (1, 2, 3)]
    [103, 104, 106]
    """
    if cost < 2:
        raise InstanceError(f"cost = {cost}: expected at least 2")
    return cost + k + k * (phases - 1) // (k - 1)
