"""Least recently used, and its recursive form for dependencies."""

from __future__ import annotations

from cache_worthy.theory.algorithms.keyed import Key, Keyed
from cache_worthy.theory.instance import Number


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
