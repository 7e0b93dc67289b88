"""The checked fields of a record with a list of block ids, for the formats that have one."""

from __future__ import annotations

from cache_worthy.logs.body import parsed
from cache_worthy.logs.json_text import json_kind
from cache_worthy.logs.prompts import Blocks, Prompt, Unusable, count, label, token_count
from cache_worthy.logs.times import to_ms
from cache_worthy.sim.trace import BlockId

LARGEST_BLOCK = 1 << 20

_CELLS = ("hash_ids", "input_length", "output_length", "priority")


def parsed_cell(value: object) -> object:
    """The list or number in a cell of CSV, or the value itself."""
    number = token_count(value)
    return parsed(value) if number is None else number


def prompt_of(
    record: dict[str, object], *, block_tokens: int, binding: bool, ms_per_unit: float
) -> Prompt:
    """The request of a record with ``hash_ids``, or of a row of CSV whose cells are texts.

    ``binding``: the record itself states ``block_tokens``. ``ms_per_unit``: milliseconds in one unit of
    its ``timestamp``.
    """
    if isinstance(record.get("hash_ids"), str):
        record = {k: parsed_cell(v) if k in _CELLS else v for k, v in record.items()}
    priority = record.get("priority")
    return Prompt(
        content=Blocks(_ids(record), block_tokens, binding),
        input_length=_length(record, "input_length"),
        output_length=_length(record, "output_length"),
        timestamp=to_ms(record.get("timestamp"), ms_per_unit),
        priority=priority if type(priority) is int else 0,
        model=label(record.get("model")),
        salt=label(record.get("cache_salt")),
    )


def block_size_of(record: dict[str, object], field: str = "block_size") -> int:
    """Tokens in one block, as a record with ids states them."""
    size = parsed_cell(record.get(field))
    if type(size) is not int or not 1 <= size <= LARGEST_BLOCK:
        raise Unusable(f"{field}: expected a token count from 1 to {LARGEST_BLOCK}")
    return size


def _ids(record: dict[str, object]) -> list[BlockId]:
    ids = record.get("hash_ids")
    if not isinstance(ids, list):
        got = "no such field" if "hash_ids" not in record else json_kind(ids)
        raise Unusable(f"hash_ids: expected a list of block ids, got {got}")
    if not set(map(type, ids)) <= {int, str}:
        place, bad = next((i, x) for i, x in enumerate(ids) if type(x) not in (int, str))
        raise Unusable(f"hash_ids[{place}]: expected an integer or a string, got {json_kind(bad)}")
    return ids


def _length(record: dict[str, object], field: str) -> int | None:
    value = record.get(field)
    if value is None:
        return None
    if (length := count(value)) is None:
        got = repr(value) if isinstance(value, int | float) else json_kind(value)
        raise Unusable(f"{field}: expected a token count >= 0, got {got}")
    return length
