"""What a reader may choose about a log."""

from __future__ import annotations

from dataclasses import dataclass

from cache_worthy.sim.trace import BLOCK_SIZE_TOKENS


@dataclass(frozen=True, slots=True)
class IngestOptions:
    """Options of ingestion.

    Attributes
    ----------
    chars_per_token : float
        Characters that stand for one token where a log has text.
    """

    chars_per_token: float = 4.0

    @property
    def block_tokens(self) -> int:
        """Tokens in one block."""
        return BLOCK_SIZE_TOKENS

    @property
    def chars_per_block(self) -> int:
        """Characters in one block of text."""
        return max(1, round(self.block_tokens * self.chars_per_token))
