"""What a reader may choose about a log."""

from __future__ import annotations

from dataclasses import dataclass

from cache_worthy.sim.trace import BLOCK_SIZE_TOKENS

ORDERS = ("auto", "time", "file")
TEMPLATES = ("simple", "chatml", "llama3")


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Options of ingestion.

    Attributes
    ----------
    chars_per_token : float
        Characters that stand for one token where a log has text and no tokeniser is chosen.
    format : str
        ``auto``, or the name of a format.
    block_size : int or None
        Tokens in one block; None takes the log's own, else 512.
    order : str
        ``time``, ``file``, or ``auto``: by arrival time where every request has one.
    template : str
        How messages and tools become one text: ``simple``, ``chatml`` or ``llama3``.
    tokenizer : str
        ``chars``, ``tiktoken:NAME``, ``qwen:NAME`` or ``hf:PATH``.
    model_field : str or None
        The field that names the model, dotted; None takes the format's own.
    model : str or None
        Read only this model's requests; ``*`` reads all, each model's blocks apart.
    salt_field : str or None
        The field that keeps caches apart (tenant, adapter), dotted; None takes the format's own.
    allow_partial : bool
        Go on when more than 5 percent of the records are unusable.
    """

    chars_per_token: float = 4.0
    format: str = "auto"
    block_size: int | None = None
    order: str = "auto"
    template: str = "simple"
    tokenizer: str = "chars"
    model_field: str | None = None
    model: str | None = None
    salt_field: str | None = None
    allow_partial: bool = False

    @property
    def block_tokens(self) -> int:
        """Tokens in one block, where the log does not say."""
        return self.block_size or BLOCK_SIZE_TOKENS

    @property
    def chars_per_block(self) -> int:
        """Characters in one block of text."""
        return max(1, round(self.block_tokens * self.chars_per_token))
