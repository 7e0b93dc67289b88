"""LRU: the least recently used leaf is evicted first."""

from __future__ import annotations

from cache_worthy.sim.radix.policies.base import EvictionPolicy, KeyRule
from cache_worthy.sim.radix.tree import Node, Priority


class LRU(EvictionPolicy):
    """Least recently used leaf; time is counted in requests.

    The default of SGLang's radix cache, and what vLLM's block pool amounts to.
    """

    name = "lru"
    summary = "least recently used leaf; the deployed default"
    source = "SGLang radix cache; Sleator and Tarjan 1985 for the flat case"
    key_rule = KeyRule(base="clock")

    def priority(self, node: Node, clock: int) -> Priority:
        return node.key

    def on_hit(self, node: Node, clock: int) -> None:
        node.key = clock

    on_insert = on_hit
