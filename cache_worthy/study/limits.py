"""What the engine takes on, so that a study takes minutes and fits in memory."""

from __future__ import annotations

from cache_worthy.errors import UsageError

#: Tokens of prompts and answers the engine takes on, every run counted: minutes, cached or not.
MAX_TOKENS = 1_000_000

#: Longest prompt: attention is quadratic, and its scores take half a gibibyte here.
MAX_CONTEXT = 32_768

#: Seconds that the requests of all runs may take to arrive.
MAX_ARRIVALS_S = 3_600.0

#: Two gibibytes of the study's model: every token of `MAX_TOKENS` at once.
MAX_POOL_BLOCKS = 65_536

#: Enough for every request of the study at once, up to prefixes of 256 tokens.
DEFAULT_POOL_BLOCKS = 1024


def require_pool(blocks: int) -> None:
    """Refuse a pool of more blocks than are ever used."""
    if blocks > MAX_POOL_BLOCKS:
        raise UsageError(
            f"--pool-blocks {shown(blocks)}: expected at most {MAX_POOL_BLOCKS:,}, which hold all "
            f"that the engine takes on"
        )


def shown(number: int) -> str:
    """With commas; a number of absurd length by its size alone."""
    return f"{number:,}" if number < 10**15 else "over 10^15"
