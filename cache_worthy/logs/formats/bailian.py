"""Bailian (Qwen) traces: ``hash_ids`` of **16**-token blocks, timestamps in **seconds**."""

from __future__ import annotations

from cache_worthy.logs.hash_ids import prompt_of
from cache_worthy.logs.prompts import Prompt, Record

NAME = "bailian"
SUMMARY = "block ids, 16 tokens per block, seconds (Bailian / Qwen traces)"
EXAMPLE = (
    '{"chat_id": 51, "parent_chat_id": -1, "timestamp": 8.5, "input_length": 30, '
    '"output_length": 7, "type": "text", "turn": 1, "hash_ids": [90, 91]}'
)
FIELDS: tuple[str, ...] = ("hash_ids",)
INTERLEAVED = False

BLOCK_TOKENS = 16


def detect(record: Record, field: str | None = None) -> str | None:
    """``hash_ids``; beside a chat id in the first record."""
    if not isinstance(record, dict) or "hash_ids" not in record:
        return None
    if field is not None:
        return field
    return "hash_ids" if "chat_id" in record or "parent_chat_id" in record else None


def parse(record: Record, field: str, scope: str) -> tuple[Prompt, ...]:
    """One request per record."""
    assert isinstance(record, dict)
    return (prompt_of(record, block_tokens=BLOCK_TOKENS, binding=False, ms_per_unit=1000),)
