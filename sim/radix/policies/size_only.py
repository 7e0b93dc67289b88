"""Landlord that ranks on size alone."""

from __future__ import annotations

from cache_worthy.sim.radix.policies.base import KeyRule
from cache_worthy.sim.radix.policies.greedy_dual import GreedyDual
from cache_worthy.sim.radix.tree import Node


class SizeOnly(GreedyDual):
    """Key ``H + 1 / size``: Landlord with the cost flattened.

    An ablation, not a proposal: it evicts large nodes first.
    """

    name = "size_only"
    summary = "Landlord ranking on size alone; a diagnostic"
    source = "one-term ablation of landlord; no paper"
    key_rule = KeyRule(base="level", weight=lambda size, cost, depth: 1.0 / size, level="max")

    def worth(self, node: Node) -> float:
        return 1.0 / node.size
