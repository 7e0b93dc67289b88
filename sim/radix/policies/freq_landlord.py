"""Landlord with a frequency term: the middle between Landlord and GDSF."""

from __future__ import annotations

from cache_worthy.sim.radix.policies.base import KeyRule
from cache_worthy.sim.radix.policies.greedy_dual import GreedyDual
from cache_worthy.sim.radix.tree import Node


class FreqLandlord(GreedyDual):
    """Key ``H + freq * cost / size``; ``H`` as in Landlord.

    It differs from ``gdsf`` only in the ageing rule and from ``landlord`` only in the frequency.
    """

    name = "freq_landlord"
    summary = "Landlord with a frequency term; a diagnostic"
    source = "one term between gdsf and landlord; no paper"
    key_rule = KeyRule(
        base="level", mult="freq", weight=lambda size, cost, depth: cost / size, level="max"
    )

    def worth(self, node: Node) -> float:
        return node.freq * (node.cost / node.size)
