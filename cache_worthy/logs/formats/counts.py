"""Logs of token counts only: recognised to be refused, because they have no prefix identity."""

from __future__ import annotations

from cache_worthy.logs.prompts import Prompt, Record, Refused

NAME = "counts"
SUMMARY = "token counts only (BurstGPT, Azure): refused, no prefix identity"
EXAMPLE = (
    '{"TIMESTAMP": "2023-11-16 18:17:03.9799600", "ContextTokens": 374, "GeneratedTokens": 44}'
)
FIELDS: tuple[str, ...] = ("ContextTokens", "Request tokens")
INTERLEAVED = False

_KNOWN = {
    "ContextTokens": "the Azure LLM inference trace",
    "Request tokens": "a BurstGPT trace",
}
_COUNTS = ("prompt_tokens", "input_tokens", "input_length", "num_prompt_tokens", "usage")


def detect(record: Record, field: str | None = None) -> str | None:
    """A record with lengths and nothing of the prompt."""
    if not isinstance(record, dict):
        return None
    return next((f for f in (*_KNOWN, *_COUNTS) if f in record), None)


def parse(record: Record, field: str, scope: str) -> tuple[Prompt, ...]:
    """Refuse the log."""
    what = _KNOWN.get(field, f"a log of token counts ({field})")
    raise Refused(
        f"{what}: it says how long prompts are, not which prefixes they share, so no cache result "
        "follows from it; log prompts, token ids or block hashes instead (cache-worthy formats)"
    )
