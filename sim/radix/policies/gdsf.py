"""Greedy-Dual-Size-Frequency as RAGCache uses it on its knowledge tree."""

from __future__ import annotations

from cache_worthy.sim.radix.policies.base import KeyRule
from cache_worthy.sim.radix.policies.greedy_dual import GreedyDual
from cache_worthy.sim.radix.tree import Node


class GDSF(GreedyDual):
    """Key ``H + freq * cost / size``; ``H`` becomes the key of each victim.

    Under leaf-only eviction the level may fall: a cheap ancestor can become a leaf after an expensive
    descendant was evicted.
    """

    name = "gdsf"
    summary = "frequency times cost per size, aged by the last victim"
    source = "RAGCache (Jin et al. 2024); Cherkasova 1998 for GDSF"
    key_rule = KeyRule(
        base="level", mult="freq", weight=lambda size, cost, depth: cost / size, level="last"
    )

    def worth(self, node: Node) -> float:
        return node.freq * (node.cost / node.size)

    def on_evict(self, node: Node, clock: int) -> None:
        self.level = node.scalar_key
