"""Greedy-dual keys with a frequency: GDSF (RAGCache's variant) and Landlord with a frequency."""

from __future__ import annotations

from collections.abc import Hashable

from cache_worthy.theory.algorithms.keyed import Key, Keyed
from cache_worthy.theory.instance import Number
from cache_worthy.theory.steps import divide


class FreqLandlord(Keyed):
    """Key ``L + freq * cost/size``, ``L = max(L, key)``; freq counts since the last load."""

    def _key(self, u: int) -> Key:
        weight = divide(self.freq[u] * self.instance.cost[u], self.instance.size[u])
        return (self.level + weight,)

    def _level_after(self, key: Key) -> Number:
        return max(self.level, key[0])

    def _state(self) -> Hashable:
        return tuple((u, self.freq[u]) for u in sorted(self.resident))


class Gdsf(FreqLandlord):
    """The same key with ``L = key`` of the last victim: under leaf-only eviction it may fall."""

    def _level_after(self, key: Key) -> Number:
        return key[0]
