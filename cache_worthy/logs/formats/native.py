"""Native logs: one ``hash_ids`` list per record (Mooncake FAST'25, AIPerf mooncake_trace).

Ids are used verbatim; 512 tokens per block unless ``block_size`` is in the record
(``cache-worthy convert`` writes it where it is not 512) or is given; timestamps in milliseconds.
"""

from __future__ import annotations

from cache_worthy.logs.hash_ids import parsed_cell, prompt_of
from cache_worthy.logs.prompts import Prompt, Record, Unusable, check_status
from cache_worthy.sim.trace import BLOCK_SIZE_TOKENS

NAME = "native"
SUMMARY = "block ids, 512 tokens a block (Mooncake, AIPerf mooncake_trace)"
EXAMPLE = '{"timestamp": 27482, "input_length": 890, "output_length": 52, "hash_ids": [3, 4]}'
FIELDS: tuple[str, ...] = ("hash_ids",)
INTERLEAVED = False


def detect(record: Record) -> str | None:
    """The field that makes a record native."""
    return "hash_ids" if isinstance(record, dict) and "hash_ids" in record else None


def accept(record: Record, field: str) -> str | None:
    """As the first one."""
    return detect(record)


def parse(record: Record, field: str, scope: str) -> tuple[Prompt, ...]:
    """One request per record; one with an HTTP status from 400 on is skipped."""
    assert isinstance(record, dict)
    check_status(record)
    size = record.get("block_size")
    size = parsed_cell(size) if isinstance(size, str) else size
    if size is not None and (type(size) is not int or not 1 <= size <= 1 << 20):
        raise Unusable("block_size: expected a token count from 1 to 1048576")
    tokens = BLOCK_SIZE_TOKENS if size is None else size
    return (prompt_of(record, block_tokens=tokens, binding=size is not None, ms_per_unit=1),)
