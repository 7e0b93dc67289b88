"""Traces: Mooncake JSON lines to :class:`Request`, read as a stream.

One JSON object a line with ``hash_ids`` (the ids of the prompt's blocks, each id standing for the
whole prefix up to and including its block) and, where the log has them, ``input_length`` in
tokens, ``output_length`` and ``timestamp`` in milliseconds. Format: Mooncake FAST'25 traces.
Evidence: rank 1, the published trace table (``scripts/check/traces.py --check``).
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NoReturn, Protocol

from cache_worthy.sim.errors import TraceError

BLOCK_SIZE_TOKENS = 512
"""Tokens in one block of a Mooncake trace."""

BlockId = int | str
"""Opaque: integers of any size and sign, or strings."""

_ID_TYPES = {int, str}
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Request:
    """One request of a trace.

    Attributes
    ----------
    hash_ids : tuple of (int or str)
        Block ids from the root of the prompt on.
    input_length : int
        Prompt length in tokens.
    output_length : int or None
        Generated tokens, where the log has them.
    timestamp : int or float or None
        Arrival, in the log's own unit; no result depends on it.
    priority : int
        Of the request, where the log has an integer; only ``sglang_priority`` reads it.
    """

    hash_ids: tuple[BlockId, ...]
    input_length: int
    output_length: int | None = None
    timestamp: int | float | None = None
    priority: int = 0


class JsonLines:
    """Iterate over ``(line number, object)`` of a JSON-lines source, keeping what was met.

    A byte order mark, CRLF and blank lines are accepted. A last line that opens an object and does
    not parse is taken for a log still being written: it is skipped and counted.

    Parameters
    ----------
    source : str or Path
        A file, or ``"-"`` for standard input.

    Attributes
    ----------
    name : str
        The source as messages name it.
    digest : str
        SHA-256 of the bytes read so far, hexadecimal.
    truncated : int
        1 if the last line was cut and skipped, else 0.

    Raises
    ------
    TraceError
        On an unreadable source, a line that is not one JSON object, NaN, or an empty source.
    """

    def __init__(self, source: str | Path) -> None:
        self.source = source
        self.name = "<stdin>" if str(source) == "-" else str(source)
        self.truncated = 0
        self._sha = hashlib.sha256()

    @property
    def digest(self) -> str:
        return self._sha.hexdigest()

    def fail(self, line: int, message: str) -> NoReturn:
        """Raise a :class:`TraceError` that names the file and the line."""
        raise TraceError(f"{self.name}: line {line}: {message}")

    def _lines(self) -> Iterator[bytes]:
        try:
            stream: IO[bytes]
            if str(self.source) == "-":
                yield from sys.stdin.buffer
            else:
                with open(self.source, "rb") as stream:
                    yield from stream
        except OSError as error:
            raise TraceError(
                f"{self.name}: cannot read: {error.strerror or error}; expected a file of JSON "
                "lines, or - for standard input"
            ) from error

    def __iter__(self) -> Iterator[tuple[int, dict[str, object]]]:
        decode = json.JSONDecoder(parse_constant=_refuse_constant).decode
        update = self._sha.update
        number = 0
        seen = 0
        broken: tuple[int, str] | None = None
        for raw in self._lines():
            number += 1
            update(raw)
            if number == 1 and raw.startswith(_BOM):
                raw = raw[len(_BOM) :]
            if raw.isspace() or not raw:
                continue
            if broken is not None:
                self.fail(*broken)
            try:
                record = decode(raw.decode("utf-8").strip())
            except UnicodeDecodeError as error:
                message = f"not UTF-8 text ({error.reason} at byte {error.start}); {_HINT}"
                if raw.lstrip().startswith(b"{"):
                    broken = (number, message)
                    continue
                self.fail(number, message)
            except _ConstantError as error:
                self.fail(number, f"{error} is not a JSON number; expected finite values")
            except RecursionError:
                self.fail(number, f"nested too deeply; {_HINT}")
            except ValueError as error:
                reason = getattr(error, "msg", str(error))
                message = f"not JSON ({reason}); {_HINT}"
                if raw.lstrip().startswith(b"{"):
                    broken = (number, message)
                    continue
                self.fail(number, message)
            if not isinstance(record, dict):
                self.fail(number, f"expected a JSON object, got {_kind(record)}; {_HINT}")
            seen += 1
            yield number, record
        if broken is not None:
            if seen == 0:
                self.fail(*broken)
            self.truncated = 1
        if seen == 0:
            raise TraceError(f"{self.name}: empty: no records; {_HINT}")


_HINT = "expected one JSON object a line"


class _ConstantError(ValueError):
    """NaN or an infinity in the JSON text."""


def _refuse_constant(name: str) -> NoReturn:
    raise _ConstantError(name)


def _kind(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    return {int: "an integer", float: "a float", str: "a string", list: "a list"}.get(
        type(value), "an object"
    )


class Fails(Protocol):
    """Where :func:`parse_native` reports."""

    def fail(self, line: int, message: str) -> NoReturn: ...


def parse_native(lines: Fails, number: int, record: dict[str, object]) -> Request:
    """Turn one native record into a :class:`Request`.

    Raises
    ------
    TraceError
        If ``hash_ids`` is missing or holds anything but integers and strings, or a length is not
        a non-negative integer.
    """
    ids = record.get("hash_ids")
    if not isinstance(ids, list):
        got = "no such field" if "hash_ids" not in record else _kind(ids)
        lines.fail(number, f"hash_ids: expected a list of block ids, got {got}")
    if not set(map(type, ids)) <= _ID_TYPES:
        position, bad = next((i, x) for i, x in enumerate(ids) if type(x) not in _ID_TYPES)
        lines.fail(
            number, f"hash_ids[{position}]: expected an integer or a string, got {_kind(bad)}"
        )
    length = record.get("input_length")
    if length is None:
        length = len(ids) * BLOCK_SIZE_TOKENS
    elif type(length) is not int or length < 0:
        lines.fail(number, f"input_length: expected a token count >= 0, got {_show(length)}")
    output = record.get("output_length")
    if output is not None and (type(output) is not int or output < 0):
        lines.fail(number, f"output_length: expected a token count >= 0, got {_show(output)}")
    priority = record.get("priority")
    timestamp = record.get("timestamp")
    return Request(
        hash_ids=tuple(ids),
        input_length=length,
        output_length=output,
        timestamp=timestamp if type(timestamp) in (int, float) else None,  # type: ignore[arg-type]
        priority=priority if type(priority) is int else 0,
    )


def _show(value: object) -> str:
    return repr(value) if isinstance(value, int | float) else _kind(value)


def iter_trace(source: str | Path) -> Iterator[Request]:
    """Stream the requests of a native trace.

    Parameters
    ----------
    source : str or Path
        A file, or ``"-"`` for standard input.

    Raises
    ------
    TraceError
        See :class:`JsonLines` and :func:`parse_native`.
    """
    lines = JsonLines(source)
    for number, record in lines:
        yield parse_native(lines, number, record)


def load_trace(source: str | Path) -> list[Request]:
    """Read a whole native trace. Time: linear in the file.

    Examples
    --------
    >>> import tempfile, os
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = os.path.join(folder, "t.jsonl")
    ...     with open(file, "w") as out:
    ...         _ = out.write('{"input_length": 600, "hash_ids": [7, 8]}\\n')
    ...     load_trace(file)
    [Request(hash_ids=(7, 8), input_length=600, output_length=None, timestamp=None, priority=0)]
    """
    return list(iter_trace(source))


def paths_of(requests: Iterable[Request]) -> Sequence[tuple[BlockId, ...]]:
    """The block paths of the requests, which is all that replay needs; of a table, a view."""
    view: Sequence[tuple[BlockId, ...]] | None = getattr(requests, "paths", None)
    return tuple(r.hash_ids for r in requests) if view is None else view
