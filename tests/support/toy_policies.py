"""Two policies of a stranger's, with and without a key rule; both evict as they should."""

from __future__ import annotations

from cache_worthy import EvictionPolicy
from cache_worthy.sim.radix.policies import KeyRule, Node, Priority


class Untouched(EvictionPolicy):
    """First in, first out: no key rule can say that a hit changes nothing."""

    name = "toy_fifo"
    summary = "oldest leaf first, whatever was used"
    source = "tests"

    def priority(self, node: Node, clock: int) -> Priority:
        return node.key

    def on_insert(self, node: Node, clock: int) -> None:
        node.key = clock


class Shallow(EvictionPolicy):
    """LRU among nodes of one depth, the deepest first, by a key rule."""

    name = "toy_depth"
    summary = "deepest leaf first"
    source = "tests"
    key_rule = KeyRule(base="level", weight=lambda size, cost, depth: -depth)

    def priority(self, node: Node, clock: int) -> Priority:
        return node.key

    def on_hit(self, node: Node, clock: int) -> None:
        node.key = 0.0 - node.depth

    on_insert = on_hit
