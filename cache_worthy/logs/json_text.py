"""JSON text to records; what does not parse comes out as :class:`Broken` and is never raised."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

HINT = "expected one JSON object per line"

SHALLOW = 500
"""Brackets in a line that any parser can follow, however deep they nest."""

GAP = re.compile(r"[ \t\r\n,]*")
_OPENS = re.compile(r'\{[ \t]*(?:"|$)')


@dataclass(frozen=True, slots=True)
class Broken:
    """A record that does not parse.

    ``opens``: it opens a JSON object, so as the last one it is a log still being written, unless it is
    ``whole``: does not merely end too early. ``text``: a line that is no UTF-8 and no JSON, as far as it
    can be read, to tell what it would be. ``ends``: nothing behind it can be read either.
    """

    reason: str
    opens: bool
    text: str = ""
    ends: bool = False
    whole: bool = False


class _ConstantError(ValueError):
    """NaN or an infinity in the JSON text."""


def _refuse_constant(name: str) -> NoReturn:
    raise _ConstantError(name)


DECODER = json.JSONDecoder(parse_constant=_refuse_constant)


def not_utf8(error: UnicodeDecodeError) -> str:
    """What is said of bytes that are no UTF-8."""
    return f"not UTF-8 text ({error.reason} at byte {error.start})"


def parse_line(text: str) -> dict[str, object] | str | Broken:
    """One line of JSON lines: its object, the line itself (no JSON), or what is wrong with it."""
    # A dict that Python printed between the records of a server log is no beginning of JSON.
    opens = _OPENS.match(text) is not None
    try:
        record = DECODER.decode(text)
    except _ConstantError as error:
        return Broken(f"{error} is not a JSON number; expected finite values", False)
    except RecursionError:
        return Broken(f"nested too deeply; {HINT}", False)
    except ValueError as error:
        if not text.startswith("{"):
            return text
        message = getattr(error, "msg", str(error))
        return Broken(f"not JSON ({message}); {HINT}", opens, whole=message == "Extra data")
    if isinstance(record, dict):
        return record
    return Broken(f"expected a JSON object, got {json_kind(record)}; {HINT}", False)


def objects_in(text: str) -> list[dict[str, object]]:
    """Several objects on one line, as in a file that was appended to without a line end.

    Examples
    --------
    >>> objects_in('{"a": 1}{"a": 2}'), objects_in('{"a": 1},'), objects_in('{"a": 1} x')
    ([{'a': 1}, {'a': 2}], [{'a': 1}], [])
    """
    found: list[dict[str, object]] = []
    at = 0
    while at < len(text):
        try:
            value, at = DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            return []
        if not isinstance(value, dict):
            return []
        found.append(value)
        gap = GAP.match(text, at)
        at = gap.end() if gap else at
    return found


def plain_parser() -> Callable[[bytes], object]:
    """A quick parser of one line of JSON; what it refuses (``ValueError``) :func:`parse_line` may take.

    orjson if it is installed (a third of the time). What it takes has the same meaning, but integers
    beyond 64 bits come out as floats. It nests to 1024 levels, :mod:`json` as deep as Python's stack
    allows, so what may nest deeply is left to the latter.
    """
    try:
        loads: Callable[[bytes], object] = importlib.import_module("orjson").loads
    except ImportError:
        return lambda raw: DECODER.decode(raw.decode("utf-8"))

    def shallow(raw: bytes) -> object:
        if raw.count(b"[") + raw.count(b"{") > SHALLOW:
            raise ValueError("may nest deeply")
        return loads(raw)

    return shallow


def json_kind(value: object) -> str:
    """The JSON type of a value with its article."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    return {int: "an integer", float: "a float", str: "a string", list: "a list"}.get(
        type(value), "an object"
    )
