"""A trace: requests, each a path of block ids.

A block id stands for the whole prefix up to and including its block, as in the Mooncake FAST'25
traces. Evidence: rank 1, the published trace table (``scripts/check/traces.py --check``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

BLOCK_SIZE_TOKENS = 512
"""Tokens in one block of a Mooncake trace."""

BlockId = int | str
"""Opaque: integers of any size and sign, or strings."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request of a trace.

    Attributes
    ----------
    hash_ids : tuple of (int or str)
        Block ids from the root of the prompt on.
    input_length : int
        Prompt length in tokens.
    output_length : int or None
        Generated tokens, where the log has them.
    timestamp : int or float or None
        Arrival, in the log's own unit; no result depends on it.
    priority : int
        Only ``sglang_priority`` reads it.
    """

    hash_ids: tuple[BlockId, ...]
    input_length: int
    output_length: int | None = None
    timestamp: int | float | None = None
    priority: int = 0


def paths_of(requests: Iterable[Request]) -> Sequence[tuple[BlockId, ...]]:
    """The block paths of the requests; of a table, a view."""
    view: Sequence[tuple[BlockId, ...]] | None = getattr(requests, "paths", None)
    return tuple(r.hash_ids for r in requests) if view is None else view
