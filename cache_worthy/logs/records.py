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

    Parameters
    ----------
    source : Source
    plain : bool
        Every line is a text, JSON or not.
    take : callable
        Of JSON lines, offered each line as it is stored; one that it takes does not come out here.
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
        if isinstance(raw, LongLine):
            yield f"line {number}", _long_line(source, raw)
            continue
        try:
            text = raw.decode("utf-8").rstrip("\r\n")
        except UnicodeDecodeError as error:
            yield f"line {number}", Broken(not_utf8(error), False)
            continue
        if text.strip():
            yield f"line {number}", text


def _long_line(source: Source, raw: LongLine) -> Broken:
    opens = raw.lstrip()[:1] == b"{"
    text = "" if opens else raw.decode("utf-8", "replace").strip()
    return Broken(source.too_long, opens, text, whole=True)


def _json_lines(
    source: Source, stream: io.BufferedReader, take: Callable[[bytes], bool]
) -> Iterator[tuple[str, dict[str, object] | str | Broken]]:
    for number, raw in enumerate(source.lines(stream), 1):
        if type(raw) is LongLine:
            yield f"line {number}", _long_line(source, raw)
            continue
        if take(raw) or raw.isspace():
            continue
        place = f"line {number}"
        opens = raw.lstrip()[:1] in (b"{", b"[")
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            yield place, Broken(f"{not_utf8(error)}; {HINT}",
                                raw.lstrip().startswith(b"{"),
                                "" if opens else raw.decode("utf-8", "replace").strip())  # fmt: skip
            continue
        text = text.strip()
        if not opens and text.startswith("\ufeff"):  # files with a mark, one after another
            text = text.lstrip("\ufeff")
            opens = text.startswith(("{", "["))
        value = parse_line(text) if opens else text
        if isinstance(value, Broken) and value.whole and (found := objects_in(text)):
            yield from ((f"{place}, record {n}", one) for n, one in enumerate(found, 1))
        else:
            yield place, value
