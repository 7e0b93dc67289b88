"""A log's records, whatever holds them: JSON lines, a JSON array, CSV, or lines of a server log.

Nothing here raises on a bad record: it comes out as :class:`Broken`, and the caller decides. A record
longer than ``Source.longest`` is one too. Such a line or row is passed over; after such an element of
an array, or such a document over several lines, nothing can be read, since only a parser that holds
it whole could tell where it ends.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator

from cache_worthy.logs.json_text import HINT, Broken, not_utf8, objects_in, parse_line
from cache_worthy.logs.rows import delimiter_of, read_rows
from cache_worthy.logs.source import LongLine, Source
from cache_worthy.logs.unwrap import without_wrapping
from cache_worthy.logs.values import are_values, read_values


def read_records(
    source: Source, plain: bool = False, take: Callable[[bytes], bool] = lambda raw: False
) -> Iterator[tuple[str, dict[str, object] | str | Broken]]:
    """``(place, record)`` one by one, as a stream.

    With ``plain`` every line is a text, JSON or not. ``take`` is offered each of JSON lines as it is
    stored; one that it takes does not come out here.
    """
    head, stream = source.open()
    if plain:
        return _text_lines(source, stream)
    if delimiter_of(head.lstrip()) is None:  # a cell over several lines may hold what looks wrapped
        head, stream = without_wrapping(source, head, stream)
    start = head.lstrip()
    if re.match(rb"\[\s*[{\]]", start):
        return read_values(source, stream, array=True)
    if start.startswith(b"{") and are_values(start, len(head)):
        return read_values(source, stream, array=False)
    delimiter = delimiter_of(start)
    if delimiter is not None:
        return read_rows(source, stream, delimiter)
    return _json_lines(source, stream, take)


def _text_lines(source: Source, stream: io.BufferedReader) -> Iterator[tuple[str, str | Broken]]:
    for number, raw in enumerate(source.lines(stream), 1):
        value: str | Broken
        if isinstance(raw, LongLine):
            value = _broken(source.too_long, raw, whole=True)
        else:
            try:
                value = raw.decode("utf-8").rstrip("\r\n")
            except UnicodeDecodeError as error:
                value = Broken(not_utf8(error), False)
        if isinstance(value, Broken) or value.strip():
            yield f"line {number}", value


def _broken(reason: str, raw: bytes, *, whole: bool = False) -> Broken:
    start = raw.lstrip()[:1]
    text = "" if start == b"{" else raw.decode("utf-8", "replace").strip()
    return Broken(reason, start == b"{", text, whole=whole)


def _json_lines(
    source: Source, stream: io.BufferedReader, take: Callable[[bytes], bool]
) -> Iterator[tuple[str, dict[str, object] | str | Broken]]:
    for number, raw in enumerate(source.lines(stream), 1):
        place = f"line {number}"
        if type(raw) is LongLine:
            yield place, _broken(source.too_long, raw, whole=True)
            continue
        if take(raw) or raw.isspace():
            continue
        try:
            text = raw.decode("utf-8").strip()
        except UnicodeDecodeError as error:
            yield place, _broken(f"{not_utf8(error)}; {HINT}", raw)
            continue
        # Files with a byte order mark, one after another.
        text = text.lstrip("\ufeff") if text.startswith("\ufeff") else text
        value = parse_line(text) if text.startswith(("{", "[")) else text
        if isinstance(value, Broken) and value.whole and (found := objects_in(text)):
            yield from ((f"{place}, record {n}", one) for n, one in enumerate(found, 1))
        else:
            yield place, value
