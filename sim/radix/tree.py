"""The online radix tree of a prefix cache, as node objects: the obviously correct form.

It stores the blocks themselves, splits nodes where a request leaves them, and evicts only childless
nodes. The interned engine (``interned.py``) does the same on integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from cache_worthy.sim.cost import SegmentFn
from cache_worthy.sim.errors import InvariantError
from cache_worthy.sim.trace import BlockId

Priority = float | tuple[float, ...]
"""What a policy ranks by: totally ordered, the same kind for every node, never NaN."""


@dataclass(slots=True, eq=False)
class Node:
    """One node of the radix tree.

    Attributes
    ----------
    id : int
        Order of creation; the root has 0.
    parent : Node or None
    blocks : tuple of (int or str)
    depth : int
        Blocks above this node.
    children : dict
        By the first block of the child.
    size, cost : int
        Of ``blocks`` at ``depth``.
    freq : int
        1 at the insertion, +1 per hit; copied by a split.
    key : float or tuple
        The policy's own; copied by a split.
    """

    id: int
    parent: Node | None
    blocks: tuple[BlockId, ...]
    depth: int
    children: dict[BlockId, Node] = field(default_factory=dict)
    size: int = 0
    cost: int = 0
    freq: int = 1
    key: Priority = 0.0

    @property
    def scalar_key(self) -> float:
        """The key of a policy whose keys are single numbers."""
        if isinstance(self.key, tuple):
            raise InvariantError(f"node {self.id}: expected a scalar key, got {self.key!r}")
        return self.key

    def __repr__(self) -> str:
        return (
            f"Node(id={self.id}, depth={self.depth}, blocks={len(self.blocks)}, "
            f"freq={self.freq}, key={self.key!r}, children={len(self.children)})"
        )


class RadixTree:
    """Resident nodes under a root that is never evicted.

    Parameters
    ----------
    size_fn, cost_fn : SegmentFn
        Size and cost of consecutive blocks at a depth; additive over concatenation (checked at
        every split).
    """

    def __init__(self, size_fn: SegmentFn, cost_fn: SegmentFn) -> None:
        self.root = Node(0, None, (), 0)
        self.nodes: dict[int, Node] = {}
        self.used = 0
        self._next = 1
        self.size_fn = size_fn
        self.cost_fn = cost_fn

    def _measure(self, node: Node) -> None:
        node.size = self.size_fn(node.blocks, node.depth)
        node.cost = self.cost_fn(node.blocks, node.depth)
        if node.size <= 0 or node.cost < 0:
            raise InvariantError(f"{node!r}: size {node.size} must be > 0, cost {node.cost} >= 0")

    def match(self, path: Sequence[BlockId]) -> tuple[list[Node], int, tuple[Node, Node] | None]:
        """Walk down ``path`` and split the node that it leaves inside.

        Returns the matched path below the root, the blocks matched, and the (upper, lower) halves of
        a node that was split. Time: the matched blocks, and the children of a node that is split.
        """
        node = self.root
        matched = 0
        nodes: list[Node] = []
        while matched < len(path):
            child = node.children.get(path[matched])
            if child is None:
                break
            k = 0
            limit = min(len(child.blocks), len(path) - matched)
            while k < limit and child.blocks[k] == path[matched + k]:
                k += 1
            matched += k
            nodes.append(child)
            if k < len(child.blocks):
                return nodes, matched, (child, self._split(child, k))
            node = child
        return nodes, matched, None

    def _split(self, upper: Node, k: int) -> Node:
        lower = Node(self._next, upper, upper.blocks[k:], upper.depth + k)
        self._next += 1
        lower.children = upper.children
        for child in lower.children.values():
            child.parent = lower
        lower.freq = upper.freq
        size, cost = upper.size, upper.cost
        upper.blocks = upper.blocks[:k]
        upper.children = {lower.blocks[0]: lower}
        self._measure(upper)
        self._measure(lower)
        if upper.size + lower.size != size or upper.cost + lower.cost != cost:
            raise InvariantError(
                f"a split changed size {size} to {upper.size} + {lower.size} or cost {cost} to "
                f"{upper.cost} + {lower.cost}: size_fn and cost_fn must be additive"
            )
        self.nodes[lower.id] = lower
        return lower

    def insert(self, parent: Node, blocks: tuple[BlockId, ...], depth: int) -> Node:
        """Load ``blocks`` below ``parent`` as one node."""
        if parent.id and parent.id not in self.nodes:
            raise InvariantError(f"insertion below {parent!r}, which is not resident")
        if blocks[0] in parent.children:
            raise InvariantError(f"insertion below {parent!r} of a block that it already has")
        node = Node(self._next, parent, blocks, depth)
        self._next += 1
        self._measure(node)
        parent.children[blocks[0]] = node
        self.nodes[node.id] = node
        self.used += node.size
        return node

    def evict(self, node: Node) -> Node:
        """Remove a childless node; returns its parent. The whole node goes."""
        if node.children:
            raise InvariantError(f"eviction of {node!r}, which has resident children")
        if self.nodes.pop(node.id, None) is not node:
            raise InvariantError(f"eviction of {node!r}, which is not resident")
        parent = node.parent
        if parent is None or parent.children.pop(node.blocks[0], None) is not node:
            raise InvariantError(f"eviction of {node!r}, which its parent does not know")
        self.used -= node.size
        return parent

    def check(self) -> None:
        """Raise InvariantError unless closure, links, depths, sizes and bytes are right."""
        total = 0
        for node in self.nodes.values():
            parent = node.parent
            if parent is None or (parent.id and self.nodes.get(parent.id) is not parent):
                raise InvariantError(f"{node!r} is resident and its parent is not")
            if parent.children.get(node.blocks[0]) is not node:
                raise InvariantError(f"{node!r} is not among its parent's children")
            if node.depth != parent.depth + len(parent.blocks):
                raise InvariantError(f"{node!r} does not start where its parent ends")
            if node.size != self.size_fn(node.blocks, node.depth):
                raise InvariantError(f"{node!r} has size {node.size}, not that of its blocks")
            total += node.size
        if total != self.used:
            raise InvariantError(f"resident sizes sum to {total}, the books say {self.used}")
