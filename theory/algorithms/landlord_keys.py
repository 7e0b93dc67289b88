"""Landlord in key form: evict the minimum of ``L + cost/size``.

Rent lowers credit per size by the same amount for every node, so it moves no node past another
and one level ``L`` stands for all of it. ``tests/theory`` holds this against the literal rent loop.
"""

from __future__ import annotations

from cache_worthy.theory.algorithms.keyed import Key, Keyed
from cache_worthy.theory.instance import Number
from cache_worthy.theory.steps import divide


class LandlordKeys(Keyed):
    """Key ``L + cost/size``; ``L = max(L, key)`` at an eviction, so that ``L`` never falls."""

    def _key(self, u: int) -> Key:
        return (self.level + divide(self.instance.cost[u], self.instance.size[u]),)

    def _level_after(self, key: Key) -> Number:
        return max(self.level, key[0])
