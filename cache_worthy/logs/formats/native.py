"""Native logs: one ``hash_ids`` list per record (Mooncake FAST'25, AIPerf mooncake_trace).

Ids are used verbatim; 512 tokens per block unless ``block_size`` is in the record
(``cache-worthy convert`` writes it if it is not 512) or is given; timestamps in milliseconds.
"""

from __future__ import annotations

from cache_worthy.logs.hash_ids import block_size_of, prompt_of
from cache_worthy.logs.prompts import Prompt, Record, check_status
from cache_worthy.sim.trace import BLOCK_SIZE_TOKENS

NAME = "native"
SUMMARY = "block ids, 512 tokens per block (Mooncake, AIPerf mooncake_trace)"
EXAMPLE = '{"timestamp": 27482, "input_length": 890, "output_length": 52, "hash_ids": [3, 4]}'
FIELDS: tuple[str, ...] = ("hash_ids",)
INTERLEAVED = False


def detect(record: Record, field: str | None = None) -> str | None:
    """The field that makes a record native."""
    return "hash_ids" if isinstance(record, dict) and "hash_ids" in record else None


def parse(record: Record, field: str, scope: str) -> tuple[Prompt, ...]:
    """One request per record; one with an HTTP status from 400 on is skipped."""
    assert isinstance(record, dict)
    check_status(record)
    stated = record.get("block_size") is not None
    tokens = block_size_of(record) if stated else BLOCK_SIZE_TOKENS
    return (prompt_of(record, block_tokens=tokens, binding=stated, ms_per_unit=1),)
