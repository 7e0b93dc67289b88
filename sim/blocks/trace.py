"""A log as dense block ids, the form every block policy reads.

A policy keeps its state in flat arrays indexed by block, so the ids of a log (which may be
unsigned 64-bit hashes) are renumbered 0, 1, 2, ... in order of first appearance, once a log.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field

from cache_worthy.sim.errors import InputError
from cache_worthy.sim.trace import BLOCK_SIZE_TOKENS, Request


@dataclass(frozen=True, slots=True)
class BlockTrace:
    """Requests as lists of dense block ids.

    Parameters
    ----------
    blocks : list of list of int
        ``blocks[r]`` are the block ids of request ``r``, from the start of its prompt, each in
        ``range(distinct)``, numbered in order of first appearance.
    lengths : list of int
        Prompt length of each request, in tokens.
    block_size : int
        Tokens in a full block.

    Attributes
    ----------
    distinct : int
        Number of distinct blocks.
    fresh : list of bool
        ``fresh[r]`` when no earlier request had the first block of request ``r``.
    fixes_prefix : bool
        Every id stands behind one and the same predecessor wherever it occurs (so a block id
        names its whole prefix, as the hashes of a serving engine do).

    Raises
    ------
    InputError
        When the two lists differ in length, ids are not dense in order of first appearance,
        a length is negative or ``block_size`` is not positive.

    Notes
    -----
    Linear in the number of block references.
    """

    blocks: list[list[int]]
    lengths: list[int]
    block_size: int = BLOCK_SIZE_TOKENS
    distinct: int = field(init=False)
    fresh: list[bool] = field(init=False)
    fixes_prefix: bool = field(init=False)

    def __post_init__(self) -> None:
        if len(self.blocks) != len(self.lengths):
            raise InputError(f"{len(self.blocks)} requests but {len(self.lengths)} lengths")
        if self.block_size < 1:
            raise InputError(f"block_size must be at least 1, not {self.block_size}")
        if self.lengths and min(self.lengths) < 0:
            raise InputError("a prompt length is negative")
        parent: list[int] = []
        fresh: list[bool] = []
        fixes_prefix = True
        for path in self.blocks:
            fresh.append(bool(path) and path[0] == len(parent))
            above = -1
            for block in path:
                if block < len(parent):
                    if block < 0:
                        raise InputError("a dense block id is negative")
                    if parent[block] != above:
                        fixes_prefix = False
                elif block == len(parent):
                    parent.append(above)
                else:
                    raise InputError(f"block {block} appears before block {len(parent)}")
                above = block
        object.__setattr__(self, "distinct", len(parent))
        object.__setattr__(self, "fresh", fresh)
        object.__setattr__(self, "fixes_prefix", fixes_prefix)

    @property
    def references(self) -> int:
        """Block references, repeats included."""
        return sum(map(len, self.blocks))

    def next_uses(self) -> list[int]:
        """For every reference, the place of the next one to the same block; `references` for none.

        Places count through the requests, 0, 1, 2, ...

        Notes
        -----
        Linear in the number of block references.

        Examples
        --------
        >>> BlockTrace.intern([[7, 8], [7, 9], [7]], [1024, 1024, 512]).next_uses()
        [2, 5, 4, 5, 5]
        """
        t = self.references
        places = [t] * t
        soonest = [t] * self.distinct
        for path in reversed(self.blocks):
            for block in reversed(path):
                t -= 1
                places[t] = soonest[block]
                soonest[block] = t
        return places

    @classmethod
    def intern(
        cls,
        hash_ids: Iterable[Sequence[Hashable]],
        lengths: Iterable[int],
        *,
        block_size: int = BLOCK_SIZE_TOKENS,
        by_path: bool = False,
    ) -> BlockTrace:
        """Renumber the ids of a log.

        Parameters
        ----------
        hash_ids : iterable of sequence of hashable
            The block ids of each request: integers of any size, strings.
        lengths : iterable of int
            Prompt tokens of each request.
        block_size : int
            Tokens in a full block.
        by_path : bool
            Take (predecessor, id) as the identity of a block instead of the id alone. The same
            for ids that are prefix hashes; needed for the others, where one id can stand behind
            two different prefixes.

        Examples
        --------
        >>> BlockTrace.intern([[70, 80], [70, 90]], [1000, 1024]).blocks
        [[0, 1], [0, 2]]
        >>> BlockTrace.intern([[7, 8], [8]], [1024, 512]).fixes_prefix
        False
        >>> BlockTrace.intern([[7, 8], [8]], [1024, 512], by_path=True).blocks
        [[0, 1], [2]]
        """
        number: dict[Hashable, int] = {}
        blocks = [[number.setdefault(block, len(number)) for block in ids] for ids in hash_ids]
        made = cls(blocks, list(lengths), block_size)
        if made.fixes_prefix or not by_path:
            return made  # where every id has one predecessor, pairs have the numbers of their ids
        paths: dict[int, int] = {}
        for ids in blocks:
            above = -1
            for i, block in enumerate(ids):
                pair = (above + 1) * len(number) + block
                ids[i] = above = paths.setdefault(pair, len(paths))
        return cls(blocks, made.lengths, block_size)

    @classmethod
    def from_requests(
        cls,
        requests: Sequence[Request],
        *,
        block_size: int = BLOCK_SIZE_TOKENS,
        by_path: bool = False,
    ) -> BlockTrace:
        """Renumber the ids of loaded requests; see `intern`."""
        return cls.intern(
            (r.hash_ids for r in requests),
            (r.input_length for r in requests),
            block_size=block_size,
            by_path=by_path,
        )

    def without_partial_blocks(self) -> BlockTrace:
        """The same requests with only their full blocks (``length // block_size`` of them)."""
        full = [p[: n // self.block_size] for p, n in zip(self.blocks, self.lengths, strict=True)]
        return BlockTrace.intern(full, self.lengths, block_size=self.block_size)
