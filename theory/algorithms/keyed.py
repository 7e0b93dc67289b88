"""Policies that evict the evictable node of least key, literally: LRU, Landlord, with a frequency.

Landlord in key form evicts the minimum of ``L + cost/size``: rent lowers credit per size by the
same amount for every node, so it moves no node past another and one level ``L`` stands for all of
it. ``tests/theory`` holds this against the literal rent loop.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterator
from typing import Literal

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

Hits = Literal["after", "before"]
Key = tuple[Number, ...]


def check_hits(hits: str) -> None:
    """Raise ``InstanceError`` for a hit convention that is neither of the two."""
    if hits not in ("after", "before"):
        raise InstanceError(f"hits = {hits!r}: expected 'after' or 'before'")


class Keyed(Transcription):
    """Evict a minimum-key evictable node, one at a time, while room is short.

    Parameters
    ----------
    hits : {"after", "before"}
        When the resident nodes of the path are keyed: with the level after the evictions of the
        same request (the formal model: pinned nodes pay no rent) or before them (what the replay
        semantics of ``sim`` does). Loaded nodes are keyed after the evictions either way.
    """

    def __init__(
        self, instance: Instance, k: int, *, tie: Tie = "lru", hits: Hits = "after"
    ) -> None:
        super().__init__(instance, k, tie=tie)
        check_hits(hits)
        self.hits = hits
        self.level: Number = 0
        self.key: dict[int, Key] = {}
        self.freq: dict[int, int] = {}

    @abstractmethod
    def _key(self, u: int) -> Key:
        """Key of ``u`` if it were keyed now."""

    def _level_after(self, key: Key) -> Number:
        """Level once a node of this key is the victim."""
        return self.level

    def _process(self, path: tuple[int, ...], missing: tuple[int, ...]) -> Iterator[Event]:
        held = path[: len(path) - len(missing)]
        for u in held:
            before = self.credit(u)
            self.freq[u] += 1
            self.key[u] = self._key(u)
            yield Hit(u, before, self.credit(u))
        while self.short(missing):
            leaves = self.evictable()
            if not leaves:
                raise ModelError("no evictable node, yet the path fits")
            victim = min(leaves, key=lambda u: self.key[u])  # the tie-break is the list's order
            yield from self._raise_level(self._level_after(self.key[victim]), held)
            gone = Evict(victim, self.credit(victim))
            self._drop(victim)
            del self.key[victim], self.freq[victim]
            yield gone
        for u in missing:
            self._bring(u)
            self.freq[u] = 1
            self.key[u] = self._key(u)
            yield Load(u, self.instance.cost[u])

    def _raise_level(self, level: Number, held: tuple[int, ...]) -> Iterator[Event]:
        delta = level - self.level
        payers = [u for u in sorted(self.resident) if self.hits == "before" or u not in self.pinned]
        self.level = level
        if self.hits == "after":
            for u in held:
                self.key[u] = self._key(u)
        if delta > 0:
            yield Rent(delta, tuple((u, delta * self.instance.size[u]) for u in payers))

    def credit(self, u: int) -> Number:
        return self.instance.size[u] * (self.key[u][0] - self.level)


class LandlordKeys(Keyed):
    """Key ``L + cost/size``; ``L = max(L, key)`` at an eviction, so that ``L`` never falls."""

    def _key(self, u: int) -> Key:
        return (self.level + divide(self.instance.cost[u], self.instance.size[u]),)

    def _level_after(self, key: Key) -> Number:
        return max(self.level, key[0])


class FreqLandlord(Keyed):
    """Key ``L + freq * cost/size``, ``L = max(L, key)``; freq counts touches since the last load."""

    def _key(self, u: int) -> Key:
        weight = divide(self.freq[u] * self.instance.cost[u], self.instance.size[u])
        return (self.level + weight,)

    def _level_after(self, key: Key) -> Number:
        return max(self.level, key[0])

    def _state(self) -> Hashable:
        return tuple((u, self.freq[u]) for u in sorted(self.resident))


class Gdsf(FreqLandlord):
    """RAGCache's variant: ``L = key`` of the last victim, which under leaf-only eviction may fall."""

    def _level_after(self, key: Key) -> Number:
        return key[0]


class Lru(Keyed):
    """Key: the clock of the last touch."""

    def _key(self, u: int) -> Key:
        return (self.clock,)

    def credit(self, u: int) -> Number:
        return 0  # LRU keeps no credit; the order of touches is part of every state


class RecursiveLru(Lru):
    """Key ``(clock, -depth)``: a touch of a node is a touch of its ancestors, after its own.

    Dallot et al. 2024, "Dependency-Aware Online Caching", on the path requests of this model.
    """

    def _key(self, u: int) -> Key:
        return (self.clock, -self.depth[u])
