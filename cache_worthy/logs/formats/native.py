"""Native logs: a ``hash_ids`` list a record (Mooncake FAST'25, AIPerf mooncake_trace).

Ids are used verbatim; 512 tokens a block unless ``block_size`` stands in the record
(``cache-worthy convert`` writes it where it is not 512) or is given; timestamps in milliseconds.
"""

from __future__ import annotations

from typing import NoReturn

from cache_worthy.logs.body import parsed, token_count
from cache_worthy.logs.prompts import Blocks, Prompt, Record, Unusable, check_status, label
from cache_worthy.logs.times import to_ms
from cache_worthy.sim.trace import BLOCK_SIZE_TOKENS, parse_native

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


_CELLS = ("hash_ids", "input_length", "output_length", "priority")


def parsed_cell(value: object) -> object:
    """The list or number in a cell of CSV.

    Examples
    --------
    >>> parsed_cell("[1, 2]"), parsed_cell("7"), parsed_cell("x")
    ([1, 2], 7, 'x')
    """
    number = token_count(value)
    return parsed(value) if number is None else number


class _Raise:
    """Lets :func:`parse_native` report through :class:`Unusable`."""

    def fail(self, line: int, message: str) -> NoReturn:
        raise Unusable(message)


def parse(record: Record, field: str, scope: str) -> tuple[Prompt, ...]:
    """One request a record; one with an HTTP status from 400 on is skipped."""
    assert isinstance(record, dict)
    check_status(record)
    size = record.get("block_size")
    size = parsed_cell(size) if isinstance(size, str) else size
    if size is not None and (type(size) is not int or not 1 <= size <= 1 << 20):
        raise Unusable("block_size: expected a token count from 1 to 1048576")
    return (prompt_of(record, size, size is not None, 1),)


def prompt_of(
    record: dict[str, object], block: int | None, binding: bool, ms_per_unit: float
) -> Prompt:
    """A request of a record with ``hash_ids``, or of a row of CSV whose cells are texts."""
    if isinstance(record.get("hash_ids"), str):
        record = {k: parsed_cell(v) if k in _CELLS else v for k, v in record.items()}
    request = parse_native(_Raise(), 0, record)
    if block is None:
        block, binding = BLOCK_SIZE_TOKENS, False
    return Prompt(
        content=Blocks(request.hash_ids, block, binding),
        input_length=request.input_length if record.get("input_length") is not None else None,
        output_length=request.output_length,
        timestamp=to_ms(record.get("timestamp"), ms_per_unit),
        priority=request.priority,
        model=label(record.get("model")),
        salt=label(record.get("cache_salt")),
    )
