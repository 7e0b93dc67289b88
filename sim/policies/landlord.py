"""Landlord under leaf-only eviction, in key form."""

from __future__ import annotations

from cache_worthy.sim.policies.base import EvictionPolicy, KeyRule
from cache_worthy.sim.tree import Node, Priority


class Landlord(EvictionPolicy):
    """Key ``H + cost / size``; ``H`` rises to the key of each victim and never falls.

    The rent lowers cost per size of every resident node alike, so the ranking is by a key that
    does not move while other nodes leave. A hit resets the key before the evictions of the same
    request. On forests it does not keep the flat bound: ``proofs/refutation.md``.
    """

    name = "landlord"
    summary = "rent in proportion to size, evict at credit zero"
    source = "Young 2002, On-Line File Caching, Figure 1"
    key_rule = KeyRule(base="level", weight=lambda size, cost, depth: cost / size, level="max")

    def __init__(self) -> None:
        self.level = 0.0

    def priority(self, node: Node, clock: int) -> Priority:
        return node.key

    def on_hit(self, node: Node, clock: int) -> None:
        node.key = self.level + node.cost / node.size

    def on_insert(self, node: Node, clock: int) -> None:
        node.key = self.level + node.cost / node.size

    def on_evict(self, node: Node, clock: int) -> None:
        self.level = max(self.level, node.scalar_key)
