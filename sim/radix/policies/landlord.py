"""Landlord under leaf-only eviction, in key form."""

from __future__ import annotations

from cache_worthy.sim.radix.policies.base import KeyRule
from cache_worthy.sim.radix.policies.greedy_dual import GreedyDual
from cache_worthy.sim.radix.tree import Node


class Landlord(GreedyDual):
    """Key ``H + cost / size``; ``H`` rises to the key of each victim and never falls.

    Rent lowers the credit per size of every resident node alike, so a node is ranked by a key that
    does not change while others are evicted. A hit resets the key before the evictions of the same
    request. On forests the flat bound does not hold: ``proofs/refutation.md``.
    """

    name = "landlord"
    summary = "rent in proportion to size, evict at credit zero"
    source = "Young 2002, On-Line File Caching, Figure 1"
    key_rule = KeyRule(base="level", weight=lambda size, cost, depth: cost / size, level="max")

    def worth(self, node: Node) -> float:
        return node.cost / node.size
