"""Recursive LRU: among nodes of the same age the deeper one is evicted first."""

from __future__ import annotations

from cache_worthy.sim.radix.policies.base import EvictionPolicy, KeyRule
from cache_worthy.sim.radix.tree import Node, Priority

# Any depth under 2**24 and any clock under 2**29 keep clock - depth / 2**24 exact in a double.
_DEPTH_UNIT = 2.0**-24


class RecursiveLRU(EvictionPolicy):
    """Least recently used first, then the deeper one.

    On requests that are root paths it coincides with LRU (``proofs/dallot.md``): two evictable
    leaves never carry the same clock.
    """

    name = "recursive_lru"
    summary = "LRU with descendants before ancestors; equals lru on path requests"
    source = "Dallot et al. 2024, Dependency-Aware Online Caching"
    key_rule = KeyRule(base="clock", weight=lambda size, cost, depth: -depth * _DEPTH_UNIT)

    def priority(self, node: Node, clock: int) -> Priority:
        return node.key

    def on_hit(self, node: Node, clock: int) -> None:
        node.key = (clock, -node.depth)

    on_insert = on_hit
