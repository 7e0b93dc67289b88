"""The static prefix forest of a trace, radix-compressed.

Every distinct block has exactly one parent and one depth. Blocks are interned once, so a request
becomes one integer: its terminal node. Ids that do not fix their prefix (the same id under two
parents) are interned by ``(parent, id)``, as a radix cache does with tokens; the forest says so in
``reinterned``.

Two forms build it: the plain one block by block in a dictionary, and for large logs the columnar one,
which sorts whole columns in numpy (a million requests refer to 29 million blocks;
``scripts/bench/scale.py`` has its time and memory).

Evidence: rank 2 (node sizes sum to the distinct blocks, one parent per block, raised here); rank 1
for the Mooncake traces (node counts and sizes of the published structure table); rank 5, the two
forms agree attribute by attribute.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any

from cache_worthy.sim.columns import Ints, Paths, RequestTable
from cache_worthy.sim.errors import InvariantError
from cache_worthy.sim.trace import BlockId, Request

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

COLUMNAR_FROM = 200_000
"""Block references from which the columnar form is used: fewer take less time than importing numpy."""

COLUMNAR_TO = 1 << 31
"""Block references from which it is not: positions have 32 bits."""

KEEP_PATHS = 1_000_000
"""Block references up to which a forest keeps its paths once made: 40 MB."""


@dataclass(frozen=True)  # without slots, for the cached properties
class Forest:
    """A trace as a radix forest. Node and block numbers are dense, parents before children.

    Sequences of integers are arrays (:class:`~cache_worthy.sim.columns.Ints`): 4 bytes per element,
    indexed and compared as lists are.

    Attributes
    ----------
    terminal : sequence of int
        Per request the node its path ends with; -1 for an empty path.
    length : sequence of int
        Per request the path length in blocks.
    parent : sequence of int
        Per node its parent node, -1 for a root.
    start, end : sequence of int
        Per node the depth range ``[start, end)`` of its blocks, in blocks.
    refs : sequence of int
        Per node the number of requests whose path contains it. A node ends where this count
        changes along a path.
    block_parent : sequence of int
        Per block its parent block, -1 for a root.
    last_block : sequence of int
        Per node its deepest block.
    block_ids : sequence of (int or str)
        Per block the id it had in the log.
    reinterned : bool
        Whether ids did not fix their prefix.
    """

    terminal: Ints = field(repr=False)
    length: Ints = field(repr=False)
    parent: Ints = field(repr=False)
    start: Ints = field(repr=False)
    end: Ints = field(repr=False)
    refs: Ints = field(repr=False)
    block_parent: Ints = field(repr=False)
    last_block: Ints = field(repr=False)
    block_ids: Sequence[BlockId] = field(repr=False)
    reinterned: bool
    memo: dict[object, Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    """What others have computed from this forest, kept for the next call."""

    def __post_init__(self) -> None:
        if sum(self.end) - sum(self.start) != self.distinct:
            raise InvariantError("node sizes do not sum to the distinct blocks")
        end = self.end
        for node, blocks_on_path in zip(self.terminal, self.length, strict=True):
            if node >= 0 and end[node] != blocks_on_path:
                raise InvariantError("a request ends inside a node of the static forest")

    def __reduce__(self) -> tuple[type[Forest], tuple[object, ...]]:
        """Another process gets the forest alone, without what was computed from it."""
        return Forest, tuple(getattr(self, f.name) for f in fields(self) if f.init)

    @property
    def requests(self) -> int:
        """Number of requests."""
        return len(self.terminal)

    @property
    def references(self) -> int:
        """Block references: the path lengths summed."""
        return sum(n * depth for depth, n in self.lengths.items())

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
        """The longest path, in blocks: the smallest capacity that serves the trace."""
        return max(self.lengths, default=0)

    @cached_property
    def lengths(self) -> Counter[int]:
        """Requests by path length."""
        return Counter(self.length)

    @cached_property
    def depths(self) -> Counter[int]:
        """Distinct blocks by the depth they end at, from 1."""
        change: Counter[int] = Counter(self.start)
        change.subtract(Counter(self.end))
        return Counter(dict(enumerate(accumulate(change[d] for d in range(self.depth)), 1)))

    def path(self, request: int) -> tuple[int, ...]:
        """The block numbers of one request, root first. Time: depth."""
        return self._path_to(self.terminal[request], range(self.distinct))

    def paths(self) -> tuple[tuple[int, ...], ...]:
        """The block numbers of every request. Time and memory: the block references.

        Kept up to ``KEEP_PATHS`` references, because every replay on node objects asks.
        """
        found: tuple[tuple[int, ...], ...] | None = self.memo.get("paths")
        if found is None:
            blocks = tuple(range(self.distinct))  # one object per number, shared by all paths
            to = {node: self._path_to(node, blocks) for node in set(self.terminal)}
            found = tuple(to[node] for node in self.terminal)
            if self.references <= KEEP_PATHS:
                self.memo["paths"] = found
        return found

    def _path_to(self, node: int, blocks: Sequence[int]) -> tuple[int, ...]:
        """The path that ends with a node; the blocks of a node are numbered consecutively.

        Blocks are numbered by first appearance, and a request with a node's first block has them all.
        """
        runs = []
        while node >= 0:
            last = self.last_block[node]
            runs.append(blocks[last + 1 - (self.end[node] - self.start[node]) : last + 1])
            node = self.parent[node]
        return tuple(chain.from_iterable(reversed(runs)))

    def compulsory(self, costs: Sequence[int]) -> int:
        """Cost of each distinct block once, from the costs of the paths of 0, 1, ... blocks."""
        return sum(n * (costs[depth] - costs[depth - 1]) for depth, n in self.depths.items())

    def recomputed(self, costs: Sequence[int], matched: Iterable[int] = ()) -> int:
        """Cost of what each request did not find, given the blocks it matched; of all by default."""
        whole = sum(n * costs[depth] for depth, n in self.lengths.items())
        return whole - sum(map(costs.__getitem__, matched))

    @cached_property
    def subtree_blocks(self) -> Ints:
        """Per node the blocks at or below it. Time: nodes."""
        total = [e - s for s, e in zip(self.start, self.end, strict=True)]
        for node in range(self.nodes - 1, -1, -1):
            if self.parent[node] >= 0:
                total[self.parent[node]] += total[node]
        return Ints("i", total)

    @cached_property
    def shared(self) -> Ints:
        """The nodes that more than one request contains."""
        return Ints("i", (node for node, refs in enumerate(self.refs) if refs > 1))


def build_forest(paths: Iterable[Sequence[BlockId]]) -> Forest:
    """Intern the paths of a trace.

    Parameters
    ----------
    paths : iterable of sequence of (int or str)
        One path of block ids per request, root first. Consumed once.

    Notes
    -----
    Time and memory: linear in the block references (a sort where the ids of a large log are spread
    wide); where ids do not fix their prefix, a dictionary look-up for each.

    Examples
    --------
    >>> forest = build_forest([(1, 2, 3), (1, 2, 4), (1, 2, 3)])
    >>> forest.nodes, forest.distinct, forest.start, forest.end, forest.refs
    (3, 4, [0, 2, 2], [2, 3, 3], [3, 2, 1])
    """
    if isinstance(paths, Paths):
        first, last = paths.span
        if isinstance(paths.table.ids, array) and COLUMNAR_FROM <= last - first < COLUMNAR_TO:
            found = _columnar(paths)
            if found is not None:
                return found
    return _plain(paths)


def forest_of(requests: Sequence[Request]) -> Forest:
    """The forest of a log's requests; that of a table is built once.

    Examples
    --------
    >>> table = RequestTable([Request((7, 8), 600), Request((7,), 512)])
    >>> forest_of(table) is forest_of(table), forest_of(table).nodes
    (True, 2)
    """
    table = RequestTable.of(requests)
    found: Forest | None = table.memo.get("forest")
    if found is None:
        found = table.memo["forest"] = build_forest(table.paths)
    return found


def _plain(paths: Iterable[Sequence[BlockId]]) -> Forest:
    """Block by block."""
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
    return Forest(
        terminal=Ints("i", terminal),
        length=Ints("i", map(len, rows)),
        parent=Ints("i", parent),
        start=Ints("i", start),
        end=Ints("i", end),
        refs=Ints("i", refs),
        block_parent=Ints("i", block_parent),
        last_block=Ints("i", last_block),
        block_ids=block_ids,
        reinterned=reinterned,
    )


def _columnar(paths: Paths) -> Forest | None:
    """From the columns of a table; None where an id appears under a second parent."""
    import numpy as np

    column = paths.table.ids
    unsigned = isinstance(column, array) and column.typecode == "Q"
    first_id, last_id = paths.span
    ids = np.frombuffer(column, np.uint64 if unsigned else np.int64)[first_id:last_id]  # type: ignore[arg-type]
    ends = np.frombuffer(paths.table.ends, np.int64)[paths.begin : paths.end] - first_id
    begins = np.concatenate((np.zeros(1, np.int64), ends[:-1]))
    # The blocks of a node are numbered consecutively; see Forest._path_to.
    number, block_of = _numbered(ids)
    above = np.empty_like(block_of)
    above[1:] = block_of[:-1]
    above[begins[begins < ends]] = -1
    block_parent = above[number]
    if not np.array_equal(block_parent[block_of], above):
        return None
    del above
    blocks = len(number)
    count = np.zeros(blocks, np.int32)
    np.add.at(count, block_of, np.int32(1))  # bincount would copy the column as 64 bits
    opens = (block_parent < 0) | (count[block_parent] != count)
    node_of = np.cumsum(opens, dtype=np.int32) - np.int32(1)
    first = np.flatnonzero(opens)
    last = np.append(first[1:] - 1, blocks - 1)
    opened = number[first]
    start = opened - begins[np.searchsorted(ends, opened, side="right")]
    up = block_parent[first]
    terminal = np.full(len(ends), -1, np.int32)
    filled = begins < ends
    terminal[filled] = node_of[block_of[ends[filled] - 1]]
    return Forest(
        terminal=_ints(terminal),
        length=_ints(ends - begins),
        parent=_ints(np.where(up < 0, up, node_of[up])),
        start=_ints(start),
        end=_ints(start + last - first + 1),
        refs=_ints(count[first]),
        block_parent=_ints(block_parent),
        last_block=_ints(last),
        block_ids=_ints(ids[number], "Q" if unsigned else "q"),
        reinterned=False,
    )


def _numbered(ids: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Where each distinct id first appears, in order, and for every id its number in that order."""
    import numpy as np

    low = int(ids.min())
    span = int(ids.max()) - low + 1
    size = len(ids)
    if span <= 4 * size:  # a table by id takes less than sorting
        code = np.empty(size, np.int32 if span <= 1 << 31 else np.int64)
        np.subtract(ids, ids.dtype.type(low), out=code, casting="unsafe")
    else:
        distinct, code = np.unique(ids, return_inverse=True)
        span = len(distinct)
        del distinct
    first = np.empty(span, np.int32)
    # Of several assignments to one element the last counts: backwards, the first appearance.
    first[code[::-1]] = np.arange(size - 1, -1, -1, dtype=np.int32)
    at = first[code]
    del code, first
    opens = np.zeros(size, bool)
    opens[at] = True
    number = np.cumsum(opens, dtype=np.int32)
    number -= np.int32(1)
    return np.flatnonzero(opens), number[at]


def _ints(values: NDArray[Any], typecode: str = "i") -> Ints:
    import numpy as np

    out = Ints(typecode)
    out.frombytes(np.ascontiguousarray(values, dtype=typecode).view(np.uint8).data)  # no copy
    return out


_Interned = tuple[list[int], list[BlockId], list[int]]


def _intern_by_id(rows: list[tuple[BlockId, ...]]) -> _Interned | None:
    """Blocks keyed by id alone; None as soon as an id appears under a second parent."""
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
