"""The static prefix forest of a trace, radix-compressed.

Every distinct block has exactly one parent and one depth. Blocks are interned once, so a request
becomes one integer: its terminal node. Ids that do not fix their prefix (the same id under two
parents) are re-interned by ``(parent, id)``, which is what a radix cache does with tokens; the
forest says so in ``reinterned``.

Evidence: rank 2 (node sizes sum to the distinct blocks; one parent a block, raised here) and
rank 1 for the Mooncake traces (node counts and sizes of the published structure table).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from cache_worthy.sim.errors import InvariantError
from cache_worthy.sim.trace import BlockId


@dataclass(frozen=True, slots=True)
class PrefixForest:
    """A trace as a radix forest. Node and block numbers are dense, parents before children.

    Attributes
    ----------
    terminal : list of int
        Per request the node its path ends with; -1 for an empty path.
    length : list of int
        Per request the path length in blocks.
    parent : list of int
        Per node its parent node, -1 for a root.
    start, end : list of int
        Per node the depth range ``[start, end)`` of its blocks, in blocks.
    refs : list of int
        Per node the number of requests whose path contains it. A node boundary lies wherever
        this count changes along a path.
    block_parent : list of int
        Per block its parent block, -1 for a root.
    last_block : list of int
        Per node its deepest block.
    block_ids : list of (int or str)
        Per block the id it had in the log.
    reinterned : bool
        Whether ids did not fix their prefix.
    """

    terminal: list[int] = field(repr=False)
    length: list[int] = field(repr=False)
    parent: list[int] = field(repr=False)
    start: list[int] = field(repr=False)
    end: list[int] = field(repr=False)
    refs: list[int] = field(repr=False)
    block_parent: list[int] = field(repr=False)
    last_block: list[int] = field(repr=False)
    block_ids: list[BlockId] = field(repr=False)
    reinterned: bool

    @property
    def requests(self) -> int:
        """Number of requests."""
        return len(self.terminal)

    @property
    def references(self) -> int:
        """Block references: the path lengths summed."""
        return sum(self.length)

    @property
    def distinct(self) -> int:
        """Distinct blocks."""
        return len(self.block_parent)

    @property
    def nodes(self) -> int:
        """Radix nodes."""
        return len(self.parent)

    @property
    def depth(self) -> int:
        """The longest path, in blocks: the least capacity that serves the trace."""
        return max(self.length, default=0)

    def path(self, request: int) -> tuple[int, ...]:
        """The blocks of one request by block number, root first. Time: depth."""
        node = self.terminal[request]
        if node < 0:
            return ()
        out = []
        block = self.last_block[node]
        while block >= 0:
            out.append(block)
            block = self.block_parent[block]
        out.reverse()
        return tuple(out)

    def paths(self) -> tuple[tuple[int, ...], ...]:
        """All requests by block number. Time and memory: the block references."""
        return tuple(self.path(r) for r in range(self.requests))

    def subtree_blocks(self) -> list[int]:
        """Per node the blocks at or below it. Time: nodes."""
        total = [e - s for s, e in zip(self.start, self.end, strict=True)]
        for node in range(self.nodes - 1, -1, -1):
            if self.parent[node] >= 0:
                total[self.parent[node]] += total[node]
        return total


def build_forest(paths: Iterable[Sequence[BlockId]]) -> PrefixForest:
    """Intern the paths of a trace.

    Parameters
    ----------
    paths : iterable of sequence of (int or str)
        One path of block ids a request, root first. Consumed once.

    Returns
    -------
    PrefixForest

    Notes
    -----
    Time and memory: linear in the block references, one dictionary look-up each.

    Examples
    --------
    >>> forest = build_forest([(1, 2, 3), (1, 2, 4), (1, 2, 3)])
    >>> forest.nodes, forest.distinct, forest.start, forest.end, forest.refs
    (3, 4, [0, 2, 2], [2, 3, 3], [3, 2, 1])
    """
    rows = [tuple(p) for p in paths]
    interned = _intern_by_id(rows)
    reinterned = interned is None
    if interned is None:
        interned = _intern_by_parent(rows)
    block_parent, block_ids, last = interned
    blocks = len(block_parent)

    count = [0] * blocks
    for block in last:
        if block >= 0:
            count[block] += 1
    for block in range(blocks - 1, -1, -1):
        up = block_parent[block]
        if up >= 0:
            count[up] += count[block]

    node_of = [0] * blocks
    depth = [0] * blocks
    parent: list[int] = []
    start: list[int] = []
    end: list[int] = []
    refs: list[int] = []
    last_block: list[int] = []
    for block in range(blocks):
        up = block_parent[block]
        above = 0 if up < 0 else depth[up]
        depth[block] = above + 1
        if up >= 0 and count[up] == count[block]:
            node = node_of[up]
            end[node] = above + 1
            last_block[node] = block
        else:
            node = len(parent)
            parent.append(-1 if up < 0 else node_of[up])
            start.append(above)
            end.append(above + 1)
            refs.append(count[block])
            last_block.append(block)
        node_of[block] = node

    terminal = [node_of[block] if block >= 0 else -1 for block in last]
    length = [len(row) for row in rows]
    if sum(end) - sum(start) != blocks:
        raise InvariantError("node sizes do not sum to the distinct blocks")
    for node, blocks_on_path in zip(terminal, length, strict=True):
        if node >= 0 and end[node] != blocks_on_path:
            raise InvariantError("a request ends inside a node of the static forest")
    return PrefixForest(
        terminal=terminal,
        length=length,
        parent=parent,
        start=start,
        end=end,
        refs=refs,
        block_parent=block_parent,
        last_block=last_block,
        block_ids=block_ids,
        reinterned=reinterned,
    )


_Interned = tuple[list[int], list[BlockId], list[int]]


def _intern_by_id(rows: list[tuple[BlockId, ...]]) -> _Interned | None:
    """Blocks keyed by id alone; None as soon as an id shows up under a second parent."""
    index: dict[BlockId, int] = {}
    parent: list[int] = []
    last: list[int] = []
    find = index.get
    for row in rows:
        above = -1
        for block_id in row:
            block = find(block_id)
            if block is None:
                block = len(parent)
                index[block_id] = block
                parent.append(above)
            elif parent[block] != above:
                return None
            above = block
        last.append(above)
    return parent, list(index), last


def _intern_by_parent(rows: list[tuple[BlockId, ...]]) -> _Interned:
    """Blocks keyed by (parent block, id)."""
    index: dict[tuple[int, BlockId], int] = {}
    parent: list[int] = []
    last: list[int] = []
    for row in rows:
        above = -1
        for block_id in row:
            key = (above, block_id)
            block = index.get(key)
            if block is None:
                block = len(parent)
                index[key] = block
                parent.append(above)
            above = block
        last.append(above)
    return parent, [block_id for _, block_id in index], last
