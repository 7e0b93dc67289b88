"""The checked fields of a record with a list of block ids, for the formats that have one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from cache_worthy.logs.body import parsed
from cache_worthy.logs.json_text import json_kind
from cache_worthy.logs.prompts import Blocks, Prompt, Unusable, count, label, token_count
from cache_worthy.logs.times import to_ms
from cache_worthy.sim.trace import BlockId, Request

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
        session=label(record.get("session_id")),
    )


def block_size_of(record: dict[str, object], field: str = "block_size") -> int:
    """Tokens in one block, as a record with ids states them."""
    size = parsed_cell(record.get(field))
    if type(size) is not int or not 1 <= size <= LARGEST_BLOCK:
        raise Unusable(f"{field}: expected a token count from 1 to {LARGEST_BLOCK}")
    return size


def fitting_size(requests: Iterable[Request]) -> int:
    """Tokens in one block by which most numbers of ids are ``ceil(input_length / tokens)``.

    Of sizes that fit as many requests, a multiple of the greatest power of two is chosen.

    Examples
    --------
    >>> fitting_size([Request((1, 2), 890), Request((1, 2, 3), 1025), Request((1,), 300)])
    512
    """
    steps: Counter[int] = Counter()  # how many more sizes fit from here on
    for request in requests:
        ids, length = len(request.hash_ids), request.input_length
        if ids and length:
            steps[-(-length // ids)] += 1
            steps[(length - 1) // (ids - 1) + 1 if ids > 1 else LARGEST_BLOCK] -= 1
    places, best, fit = sorted(steps), (0, 1), 0
    ends = [*places[1:], LARGEST_BLOCK + 1]
    for first, end in zip(places, ends, strict=True):
        fit += steps[first]
        if fit > best[0]:
            best = fit, _roundest(first, end - 1)
    return best[1]


def _roundest(first: int, last: int) -> int:
    """The least number of a range that is a multiple of the greatest power of two."""
    step = 1
    while -(-first // (2 * step)) * 2 * step <= last:
        step *= 2
    return -(-first // step) * step


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
