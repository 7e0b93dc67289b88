"""Landlord that ranks on cost alone."""

from __future__ import annotations

from cache_worthy.sim.radix.policies.base import KeyRule
from cache_worthy.sim.radix.policies.greedy_dual import GreedyDual
from cache_worthy.sim.radix.tree import Node


class CostOnly(GreedyDual):
    """Key ``H + cost``: Landlord with the size flattened.

    An ablation, not a proposal: on prefix caches cost follows size, so it keeps large nodes.
    """

    name = "cost_only"
    summary = "Landlord ranking on cost alone; a diagnostic"
    source = "one-term ablation of landlord; no paper"
    key_rule = KeyRule(base="level", weight=lambda size, cost, depth: cost, level="max")

    def worth(self, node: Node) -> float:
        return node.cost
