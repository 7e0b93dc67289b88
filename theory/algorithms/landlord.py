"""Landlord, the literal rent loop, under leaf-only eviction.

Young 2002, "On-Line File Caching", Figure 1, with one line changed: line 4's minimum ranges over
the evictable nodes, because line 5 can only evict those. On a forest that leaves choices open,
which are the options here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from cache_worthy.theory.algorithms.keyed import Hits, check_hits
from cache_worthy.theory.instance import Instance, InstanceError, Number
from cache_worthy.theory.steps import (
    Event,
    Evict,
    Hit,
    Load,
    ModelError,
    Rent,
    Tie,
    Transcription,
    divide,
)


class Landlord(Transcription):
    """Rent loop of Young's Figure 1.

    Parameters
    ----------
    rent : {"all", "leaf"}
        Line 3 charges every resident node, or the evictable ones only.
    eager : bool
        Line 5 evicts every evictable node of credit <= 0, and those that become evictable by it,
        or one node at a time while room is short.
    clamp : bool
        Credits that rent takes below zero are set back to zero.
    hits : {"after", "before"}
        ``"after"``: pinned nodes pay no rent (they are keyed with the level after the service).
        ``"before"``: they are reset first and then pay like everyone else.

    Notes
    -----
    Line 4's minimum may be negative on a forest: an interior node is charged past zero while it
    cannot leave, and becomes evictable later. The rent is then 0, not negative: the level of the
    key form never falls.
    """

    def __init__(
        self,
        instance: Instance,
        k: int,
        *,
        tie: Tie = "lru",
        hits: Hits = "after",
        rent: Literal["all", "leaf"] = "all",
        eager: bool = False,
        clamp: bool = False,
    ) -> None:
        super().__init__(instance, k, tie=tie)
        check_hits(hits)
        if rent not in ("all", "leaf"):
            raise InstanceError(f"rent = {rent!r}: expected 'all' or 'leaf'")
        self.hits = hits
        self.rent = rent
        self.eager = eager
        self.clamp = clamp
        self._credit: dict[int, Number] = {}

    def credit(self, u: int) -> Number:
        return self._credit[u]

    def _process(self, path: tuple[int, ...], missing: tuple[int, ...]) -> Iterator[Event]:
        cost = self.instance.cost
        for u in path[: len(path) - len(missing)]:  # line 7
            before = self._credit[u]
            self._credit[u] = cost[u]
            yield Hit(u, before, cost[u])
        while self.short(missing):  # line 2
            leaves = self.evictable()
            if not leaves:
                raise ModelError("no evictable node, yet the path fits")
            yield from self._charge(leaves)  # lines 3 and 4
            yield from self._evict(leaves)  # line 5
        for u in missing:  # line 6
            self._bring(u)
            self._credit[u] = cost[u]
            yield Load(u, cost[u])

    def _density(self, u: int) -> Number:
        return divide(self._credit[u], self.instance.size[u])

    def _charge(self, leaves: list[int]) -> Iterator[Event]:
        delta = max(0, min(self._density(u) for u in leaves))
        if delta == 0:
            return
        payers = leaves if self.rent == "leaf" else self.resident
        paid: list[tuple[int, Number]] = []
        for u in sorted(payers):
            if u in self.pinned and self.hits == "after":
                continue
            before = self._credit[u]
            after = before - delta * self.instance.size[u]
            self._credit[u] = max(0, after) if self.clamp else after
            if before != self._credit[u]:
                paid.append((u, before - self._credit[u]))
        yield Rent(delta, tuple(paid))

    def _evict(self, leaves: list[int]) -> Iterator[Event]:
        if not self.eager:
            yield self._remove(min(leaves, key=self._density))  # ties: the order of the list
            return
        while broke := [u for u in self.evictable() if self._credit[u] <= 0]:
            for u in broke:
                yield self._remove(u)

    def _remove(self, u: int) -> Evict:
        if self._credit[u] > 0:
            raise ModelError(f"node {u} would leave with credit {self._credit[u]}")
        self._drop(u)
        return Evict(u, self._credit.pop(u))
