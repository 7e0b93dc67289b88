"""Policies that evict the evictable node of least key: the part they share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
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
