"""The cost model, defined once: exact integer FLOPs of prefill and bytes of KV cache.

Prefilling ``n`` tokens through a decoder-only transformer, multiply and add counted apart::

    projections and feed-forward   2 FLOPs a parameter a token       2 N n
    scores and weighted values     n^2 / 2 causal pairs, each        2 layers heads head_dim n^2
                                   2 * 2 * heads * head_dim FLOPs

so ``prefill(n) = a n + b n^2`` with ``a = 2 N`` and ``b = 2 layers heads head_dim``; ``N`` counts
attention and feed-forward weights, no embeddings and no norms. A block's cost is the difference
``prefill(end) - prefill(start)``, exact because the causal pairs whose query lies in the range
number ``(end^2 - start^2) / 2``.

Evidence: rank 1, parameter counts with embeddings equal the published 8.03 B and 70.55 B
(``Model.parameters_total``), and compulsory FLOPs of the Mooncake traces.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import accumulate
from pathlib import Path
from typing import Protocol, runtime_checkable

from cache_worthy.sim.errors import InputError
from cache_worthy.sim.trace import BLOCK_SIZE_TOKENS, BlockId

LARGEST = 10**9
"""No architecture constant is larger; the products stay within what a float can show."""


@dataclass(frozen=True, slots=True)
class Model:
    """Architecture constants of a decoder-only transformer.

    Attributes
    ----------
    name : str
    layers, d_model, heads, kv_heads, head_dim, d_ff : int
        Positive. ``d_ff`` is the width of a gated (three-matrix) feed-forward block.
    dtype_bytes : int
        Bytes of one KV element.
    vocabulary : int
        Rows of the embedding matrix, 0 if unknown; used for ``parameters_total`` only.
    """

    name: str
    layers: int
    d_model: int
    heads: int
    kv_heads: int
    head_dim: int
    d_ff: int
    dtype_bytes: int = 2
    vocabulary: int = 0

    def __post_init__(self) -> None:
        for f in fields(self):
            value = getattr(self, f.name)
            if f.name == "name":
                if not isinstance(value, str):
                    raise InputError(f"model: name: expected a string, got {value!r}")
                continue
            least = 0 if f.name == "vocabulary" else 1
            if type(value) is not int or not least <= value <= LARGEST:
                shown = repr(value) if len(repr(value)) <= 40 else "a longer number"
                raise InputError(
                    f"model: {f.name}: expected an integer from {least} to {LARGEST}, got {shown}"
                )
        if self.heads % self.kv_heads:
            raise InputError(
                f"model: kv_heads: expected a divisor of heads = {self.heads}, got {self.kv_heads}"
            )

    @property
    def parameters(self) -> int:
        """``N``: attention and feed-forward weights, without embeddings and norms."""
        d = self.d_model
        attention = 2 * d * self.heads * self.head_dim + 2 * d * self.kv_heads * self.head_dim
        return self.layers * (attention + 3 * d * self.d_ff)

    @property
    def parameters_total(self) -> int:
        """All weights: ``N``, untied input and output embeddings, RMS norms."""
        norms = (2 * self.layers + 1) * self.d_model
        return self.parameters + 2 * self.vocabulary * self.d_model + norms

    @property
    def linear(self) -> int:
        """``a`` of ``prefill(n) = a n + b n^2``, FLOPs a token."""
        return 2 * self.parameters

    @property
    def quadratic(self) -> int:
        """``b`` of ``prefill(n) = a n + b n^2``, FLOPs a token squared."""
        return 2 * self.layers * self.heads * self.head_dim


MODELS: dict[str, Model] = {
    m.name: m
    for m in (
        Model(
            name="Llama-3.1-8B",
            layers=32,
            d_model=4096,
            heads=32,
            kv_heads=8,
            head_dim=128,
            d_ff=14336,
            vocabulary=128256,
        ),
        Model(
            name="Llama-3.1-70B",
            layers=80,
            d_model=8192,
            heads=64,
            kv_heads=8,
            head_dim=128,
            d_ff=28672,
            vocabulary=128256,
        ),
    )
}
"""Shipped models by name. Constants: Grattafiori et al. 2024, The Llama 3 Herd, table 3."""

DEFAULT_MODEL = MODELS["Llama-3.1-8B"]


def load_model(name: str) -> Model:
    """A shipped model by name (case ignored), or one read from a JSON file.

    The file holds an object with ``layers d_model heads kv_heads head_dim d_ff`` and optionally
    ``name dtype_bytes vocabulary``.

    Raises
    ------
    InputError
        For an unknown name, an unreadable file, a missing or unknown key, or a bad value.

    Examples
    --------
    >>> load_model("llama-3.1-8b").parameters
    6979321856
    """
    for known, model in MODELS.items():
        if known.lower() == name.lower():
            return model
    if not name.endswith(".json") and not Path(name).is_file():
        raise InputError(
            f"--model {name}: expected one of {', '.join(MODELS)}, or a JSON file with "
            f"{' '.join(_REQUIRED)}"
        )
    try:
        data = json.loads(Path(name).read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InputError(f"--model {name}: cannot read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"--model {name}: not JSON: {error}") from error
    if not isinstance(data, dict):
        raise InputError(f"--model {name}: expected a JSON object with {' '.join(_REQUIRED)}")
    missing = [k for k in _REQUIRED if k not in data]
    unknown = [k for k in data if k not in _KNOWN]
    if missing or unknown:
        what = f"lacks {' '.join(missing)}" if missing else f"unknown key {unknown[0]!r}"
        raise InputError(f"--model {name}: {what}; expected {' '.join(_REQUIRED)}")
    try:
        return Model(**{"name": Path(name).stem, **data})
    except InputError as error:
        raise InputError(f"--model {name}: {error}") from None


_REQUIRED = ("layers", "d_model", "heads", "kv_heads", "head_dim", "d_ff")
_KNOWN = tuple(f.name for f in fields(Model))


def prefill_cost(tokens: int, model: Model = DEFAULT_MODEL) -> int:
    """FLOPs of prefilling ``tokens`` tokens from nothing."""
    return model.linear * tokens + model.quadratic * tokens * tokens


def segment_cost(start: int, end: int, model: Model = DEFAULT_MODEL) -> int:
    """FLOPs of prefilling tokens ``[start, end)`` while those before are cached.

    Examples
    --------
    >>> segment_cost(0, 512) + segment_cost(512, 1024) == segment_cost(0, 1024)
    True
    """
    return model.linear * (end - start) + model.quadratic * (end * end - start * start)


def kv_bytes(tokens: int, model: Model = DEFAULT_MODEL) -> int:
    """Bytes of KV cache that ``tokens`` tokens occupy: keys and values, every layer.

    Examples
    --------
    >>> kv_bytes(512) == 64 * 2**20
    True
    """
    return tokens * 2 * model.layers * model.kv_heads * model.head_dim * model.dtype_bytes


class SegmentFn(Protocol):
    """A size or a cost of consecutive blocks, additive over concatenation.

    Called as ``fn(block_ids, depth)``: the blocks and the depth in blocks of the first one.
    """

    def __call__(self, block_ids: Sequence[BlockId], depth: int, /) -> int: ...


@runtime_checkable
class DepthFn(Protocol):
    """A :class:`SegmentFn` that looks at depths only, so that the fast engine can tabulate it."""

    def __call__(self, block_ids: Sequence[BlockId], depth: int, /) -> int: ...

    def cumulative(self, depth: int) -> list[int]:
        """Values of the paths of 0, 1, ..., ``depth`` blocks; non-decreasing, first 0."""
        ...


@dataclass(frozen=True, slots=True)
class BlockSize:
    """Bytes of KV cache of whole blocks; the default ``size_fn``."""

    model: Model = DEFAULT_MODEL
    block_tokens: int = BLOCK_SIZE_TOKENS

    @property
    def block(self) -> int:
        """Bytes of one block."""
        return kv_bytes(self.block_tokens, self.model)

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
        return segment_cost(depth * b, (depth + len(block_ids)) * b, self.model)

    def cumulative(self, depth: int) -> list[int]:
        b = self.block_tokens
        steps = (segment_cost(n * b, (n + 1) * b, self.model) for n in range(depth))
        return list(accumulate(steps, initial=0))


@dataclass(frozen=True, slots=True)
class TableCost:
    """A cost of whole blocks given as its table, in any unit: other coefficients, a measured curve.

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
