"""A log as dense block ids, the form every block policy reads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from cache_worthy.sim.cost import BlockCost, DepthFn
from cache_worthy.sim.errors import InputError
from cache_worthy.sim.forest import Forest, build_forest
from cache_worthy.sim.trace import BLOCK_SIZE_TOKENS, BlockId


@dataclass(frozen=True, slots=True)
class BlockLog:
    """Requests as dense block ids.

    Parameters
    ----------
    forest : Forest
        The log, interned.
    lengths : sequence of int
        Prompt length of each request, in tokens.
    block_size : int
        Tokens in a full block.
    by_path : bool
        Tell blocks apart by their whole prefix, as a serving engine's hashes do, instead of by the
        log's id alone. The same where ids fix their prefix.
    costs : DepthFn, optional
        Of whole blocks; prefill FLOPs of the default model by default.

    Attributes
    ----------
    blocks : sequence of sequence of int
        Per request its block ids from the start of the prompt, each in ``range(distinct)``,
        numbered in order of first appearance.
    distinct : int
        Number of distinct blocks.
    fresh : sequence of bool
        Per request whether no earlier one had its first block.

    Raises
    ------
    InputError
        When there are not as many lengths as requests, a length is negative or ``block_size`` is
        not positive.
    """

    forest: Forest
    lengths: Sequence[int]
    block_size: int = BLOCK_SIZE_TOKENS
    by_path: bool = False
    costs: DepthFn | None = None
    blocks: Sequence[Sequence[int]] = field(init=False, repr=False)
    distinct: int = field(init=False)
    fresh: Sequence[bool] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.forest.requests != len(self.lengths):
            raise InputError(f"{self.forest.requests} requests but {len(self.lengths)} lengths")
        if self.block_size < 1:
            raise InputError(f"block_size must be at least 1, not {self.block_size}")
        if self.lengths and min(self.lengths) < 0:
            raise InputError("a prompt length is negative")
        blocks: Sequence[Sequence[int]] = self.forest.paths()
        distinct = self.forest.distinct
        if not self.fixes_prefix:
            number: dict[BlockId, int] = {}
            dense = [number.setdefault(id_, len(number)) for id_ in self.forest.block_ids]
            blocks = [[dense[block] for block in path] for path in blocks]
            distinct = len(number)
        object.__setattr__(self, "blocks", blocks)
        object.__setattr__(self, "distinct", distinct)
        fresh, known = [], 0
        for path in blocks:
            fresh.append(bool(path) and path[0] == known)
            known = max(known, max(path, default=-1) + 1)
        object.__setattr__(self, "fresh", fresh)

    @property
    def fixes_prefix(self) -> bool:
        """Whether a block names its whole prefix, as the hashes of a serving engine do."""
        return self.by_path or not self.forest.reinterned

    @property
    def cost_fn(self) -> DepthFn:
        """What recomputing blocks costs."""
        return BlockCost(block_tokens=self.block_size) if self.costs is None else self.costs

    @property
    def references(self) -> int:
        """Block references, repeats included."""
        return self.forest.references

    def next_uses(self) -> list[int]:
        """For every reference, the position of the next one to the same block; `references` for none.

        Positions count through the requests. Linear in the block references.

        Examples
        --------
        >>> BlockLog.intern([[7, 8], [7, 9], [7]], [1024, 1024, 512]).next_uses()
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
        paths: Iterable[Sequence[BlockId]],
        lengths: Sequence[int],
        *,
        block_size: int = BLOCK_SIZE_TOKENS,
        by_path: bool = False,
    ) -> BlockLog:
        """A log from ids that are not interned yet.

        Examples
        --------
        >>> BlockLog.intern([[70, 80], [70, 90]], [1000, 1024]).blocks
        ((0, 1), (0, 2))
        >>> BlockLog.intern([[7, 8], [8]], [1024, 512]).blocks
        [[0, 1], [1]]
        >>> BlockLog.intern([[7, 8], [8]], [1024, 512], by_path=True).blocks
        ((0, 1), (2,))
        """
        return cls(build_forest(paths), lengths, block_size, by_path)
