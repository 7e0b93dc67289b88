"""Greedy-Dual-Size-Frequency as RAGCache uses it on its knowledge tree."""

from __future__ import annotations

from cache_worthy.sim.policies.base import EvictionPolicy, KeyRule
from cache_worthy.sim.tree import Node, Priority


class GDSF(EvictionPolicy):
    """Key ``H + freq * cost / size``; ``H`` becomes the key of each victim.

    Under leaf-only eviction the level may fall: a cheap ancestor can become a leaf after a dear
    descendant has left.
    """

    name = "gdsf"
    summary = "frequency times cost per size, aged by the last victim"
    source = "RAGCache (Jin et al. 2024); Cherkasova 1998 for GDSF"
    key_rule = KeyRule(
        base="level",
        mult="freq",
        weight=lambda size, cost, depth: cost / size,
        level="last",
    )

    def __init__(self) -> None:
        self.level = 0.0

    def priority(self, node: Node, clock: int) -> Priority:
        return node.key

    def on_hit(self, node: Node, clock: int) -> None:
        node.key = self.level + node.freq * (node.cost / node.size)

    def on_insert(self, node: Node, clock: int) -> None:
        node.key = self.level + node.freq * (node.cost / node.size)

    def on_evict(self, node: Node, clock: int) -> None:
        self.level = node.scalar_key
