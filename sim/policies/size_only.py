"""Landlord that ranks on size alone."""

from __future__ import annotations

from cache_worthy.sim.policies.base import EvictionPolicy, KeyRule
from cache_worthy.sim.tree import Node, Priority


class SizeOnly(EvictionPolicy):
    """Key ``H + 1 / size``: Landlord with the cost flattened.

    An ablation, not a proposal: it sends large nodes away first.
    """

    name = "size_only"
    summary = "Landlord ranking on size alone; a diagnostic"
    source = "one-term ablation of landlord; no paper"
    key_rule = KeyRule(base="level", weight=lambda size, cost, depth: 1.0 / size, level="max")

    def __init__(self) -> None:
        self.level = 0.0

    def priority(self, node: Node, clock: int) -> Priority:
        return node.key

    def on_hit(self, node: Node, clock: int) -> None:
        node.key = self.level + 1.0 / node.size

    def on_insert(self, node: Node, clock: int) -> None:
        node.key = self.level + 1.0 / node.size

    def on_evict(self, node: Node, clock: int) -> None:
        self.level = max(self.level, node.scalar_key)
