"""Landlord that ranks on cost alone."""

from __future__ import annotations

from cache_worthy.sim.policies.base import EvictionPolicy, KeyRule
from cache_worthy.sim.tree import Node, Priority


class CostOnly(EvictionPolicy):
    """Key ``H + cost``: Landlord with the size flattened.

    An ablation, not a proposal: on prefix caches cost follows size, so it keeps large nodes.
    """

    name = "cost_only"
    summary = "Landlord ranking on cost alone; a diagnostic"
    source = "one-term ablation of landlord; no paper"
    key_rule = KeyRule(base="level", weight=lambda size, cost, depth: cost, level="max")

    def __init__(self) -> None:
        self.level = 0.0

    def priority(self, node: Node, clock: int) -> Priority:
        return node.key

    def on_hit(self, node: Node, clock: int) -> None:
        node.key = self.level + node.cost

    def on_insert(self, node: Node, clock: int) -> None:
        node.key = self.level + node.cost

    def on_evict(self, node: Node, clock: int) -> None:
        self.level = max(self.level, node.scalar_key)
