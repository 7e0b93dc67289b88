"""Landlord with a frequency term: the middle between Landlord and GDSF."""

from __future__ import annotations

from cache_worthy.sim.policies.base import EvictionPolicy, KeyRule
from cache_worthy.sim.tree import Node, Priority


class FreqLandlord(EvictionPolicy):
    """Key ``H + freq * cost / size``; ``H`` as in Landlord.

    It differs from ``gdsf`` in the ageing rule alone and from ``landlord`` in the frequency alone,
    so each gap between the three is the effect of one term.
    """

    name = "freq_landlord"
    summary = "Landlord with a frequency term; a diagnostic"
    source = "one term between gdsf and landlord; no paper"
    key_rule = KeyRule(
        base="level",
        mult="freq",
        weight=lambda size, cost, depth: cost / size,
        level="max",
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
        self.level = max(self.level, node.scalar_key)
