"""Sizes and costs of blocks: exact integer FLOPs of prefill and bytes of KV cache.

`cache_worthy.sim.models` prices ranges of tokens; here that is applied to blocks. A block's cost is
``prefill(end) - prefill(start)``, exact because the causal pairs whose query lies in the range
number ``(end^2 - start^2) / 2``.

Evidence: rank 1, parameter counts with embeddings equal the published 8.03 B and 70.55 B
(``Model.parameters_total``), and compulsory FLOPs of the Mooncake traces.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Protocol, runtime_checkable

from cache_worthy.sim.models.loading import load_model
from cache_worthy.sim.models.memory import kv_bytes_of, require_full_cache
from cache_worthy.sim.models.model import DEFAULT_MODEL, MODELS, Model
from cache_worthy.sim.trace import BLOCK_SIZE_TOKENS, BlockId

__all__ = ["DEFAULT_MODEL", "MODELS", "BlockCost", "BlockSize", "Model", "TableCost", "load_model"]


class SegmentFn(Protocol):
    """A size or a cost of consecutive blocks, additive over concatenation.

    Called as ``fn(block_ids, depth)``: the blocks and the depth in blocks of the first one.
    """

    def __call__(self, block_ids: Sequence[BlockId], depth: int, /) -> int: ...


@runtime_checkable
class DepthFn(Protocol):
    """A :class:`SegmentFn` of depths only, which the fast engines tabulate."""

    def __call__(self, block_ids: Sequence[BlockId], depth: int, /) -> int: ...

    def cumulative(self, depth: int) -> list[int]:
        """Values of the paths of 0, 1, ..., ``depth`` blocks: 0 first, non-decreasing."""
        ...


@dataclass(frozen=True, slots=True)
class BlockSize:
    """Bytes of KV cache of whole blocks; the default ``size_fn``.

    Raises
    ------
    InputError
        For a model whose prefix cache does not keep every token of every layer.
    """

    model: Model = DEFAULT_MODEL
    block_tokens: int = BLOCK_SIZE_TOKENS

    def __post_init__(self) -> None:
        require_full_cache(self.model)

    @property
    def block(self) -> int:
        """Bytes of one block."""
        return kv_bytes_of(self.model, self.block_tokens)

    def __call__(self, block_ids: Sequence[BlockId], depth: int, /) -> int:
        return len(block_ids) * self.block

    def cumulative(self, depth: int) -> list[int]:
        return [n * self.block for n in range(depth + 1)]


@dataclass(frozen=True, slots=True)
class BlockCost:
    """Prefill FLOPs of whole blocks; the default ``cost_fn``.

    A block is always whole, a request's partial last block included, as in the reference table.
    """

    model: Model = DEFAULT_MODEL
    block_tokens: int = BLOCK_SIZE_TOKENS

    def __call__(self, block_ids: Sequence[BlockId], depth: int, /) -> int:
        b = self.block_tokens
        return self.model.segment(depth * b, (depth + len(block_ids)) * b)

    def cumulative(self, depth: int) -> list[int]:
        b = self.block_tokens
        steps = (self.model.segment(n * b, (n + 1) * b) for n in range(depth))
        return list(accumulate(steps, initial=0))


@dataclass(frozen=True, slots=True)
class TableCost:
    """A cost of whole blocks as a table, in any unit: other coefficients, a measured curve.

    Attributes
    ----------
    table : tuple of int
        Costs of the paths of 0, 1, ... blocks; the first is 0, none falls.

    Examples
    --------
    >>> TableCost((0, 3, 7, 12))([1, 2], 1)
    9
    """

    table: tuple[int, ...]

    def __call__(self, block_ids: Sequence[BlockId], depth: int, /) -> int:
        return self.table[depth + len(block_ids)] - self.table[depth]

    def cumulative(self, depth: int) -> list[int]:
        return list(self.table[: depth + 1])
