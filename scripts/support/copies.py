"""Copies of a native log that share nothing: CONSTRUCTED, for benchmarks and scaling only."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

Record = dict[str, Any]
BlockId = int | str


def read_native(lines: Iterable[bytes], name: str) -> list[Record]:
    """Parse a native log.

    Raises
    ------
    ValueError
        For a line that is no JSON object with a ``hash_ids`` list of integers or strings; names
        file and line.
    """
    records: list[Record] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line.removeprefix(b"\xef\xbb\xbf"))
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{name}:{number}: expected a JSON object: {error}") from None
        ids = record.get("hash_ids") if isinstance(record, dict) else None
        if not isinstance(ids, list) or not all(type(i) in (int, str) for i in ids):
            raise ValueError(
                f'{name}:{number}: expected a native record, {{"hash_ids": [integers or strings]}}'
            )
        records.append(record)
    if not records:
        raise ValueError(f"{name}: no record; expected one JSON object per line")
    return records


def shifted(block: BlockId, copy: int, span: int) -> BlockId:
    """The id of a block in a copy.

    Examples
    --------
    >>> shifted(7, 2, 100), shifted("a", 2, 100), shifted("a", 0, 100)
    (207, 'a#2', 'a')
    """
    if isinstance(block, int):
        return block + copy * span
    return f"{block}#{copy}" if copy else block


def scaled(records: Sequence[Record], copies: int, *, interleave: bool) -> Iterator[Record]:
    """The records of all copies in order. Time and output: linear in copies times log.

    Raises
    ------
    ValueError
        If string ids of the log already end like the suffix, so that copies would share blocks.
    """
    ids = {i for record in records for i in record["hash_ids"]}
    numbers = [i for i in ids if isinstance(i, int)]
    span = max(numbers) - min(numbers) + 1 if numbers else 0
    for block in ids:
        if isinstance(block, str):
            stem, mark, tail = block.rpartition("#")
            if mark and stem in ids and tail.isdecimal() and 0 < int(tail) < copies:
                raise ValueError(f"id {block!r} is what copy {tail} of {stem!r} would be called")
    order = (
        ((c, r) for r in records for c in range(copies))
        if interleave
        else ((c, r) for c in range(copies) for r in records)
    )
    for copy, record in order:
        yield {
            **record,
            "hash_ids": [shifted(i, copy, span) for i in record["hash_ids"]],
            "constructed": True,
            "copy": copy,
        }
