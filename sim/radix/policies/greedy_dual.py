"""What the greedy-dual policies share: a level that rises as nodes leave."""

from __future__ import annotations

from abc import abstractmethod

from cache_worthy.sim.radix.policies.base import EvictionPolicy
from cache_worthy.sim.radix.tree import Node, Priority


class GreedyDual(EvictionPolicy):
    """Key ``H + worth``, set anew by every hit; ``H`` rises to the key of each victim, never falls.

    Young, "The k-server dual and loose competitiveness for paging", Algorithmica 11, 1994.
    """

    def __init__(self) -> None:
        self.level = 0.0

    @abstractmethod
    def worth(self, node: Node) -> float:
        """The node's key above the level."""

    def priority(self, node: Node, clock: int) -> Priority:
        return node.key

    def on_hit(self, node: Node, clock: int) -> None:
        node.key = self.level + self.worth(node)

    on_insert = on_hit

    def on_evict(self, node: Node, clock: int) -> None:
        self.level = max(self.level, node.scalar_key)
