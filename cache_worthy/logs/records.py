"""A log's records, whatever holds them: JSON lines, a JSON array, CSV, or lines of a server log.

Nothing here raises on a bad record: it comes out as :class:`Broken`, and who reads decides. A record
longer than ``Source.longest`` is one too. A line or a row of that kind is passed over; behind such an
element of an array, or such a document over several lines, nothing can be read, since where it ends
is known only to who parses it whole.
"""

from __future__ import annotations

import codecs
import csv
import io
import json
import re
from collections.abc import Callable, Iterator

from cache_worthy.logs.json_text import (
    DECODER,
    GAP,
    HINT,
    Broken,
    json_kind,
    not_utf8,
    objects_in,
    parse_line,
)
from cache_worthy.logs.source import LongLine, Source
from cache_worthy.logs.unwrap import without_wrapping

_SPACE = re.compile(r"[ \t\r\n]*")
_COLUMN = re.compile(r"[\w .%()/-]{1,60}")
_KNOWN_COLUMNS = {
    "request_id", "prompt", "messages", "input", "text", "proxy_server_request", "starttime",
    "timestamp", "contexttokens", "generatedtokens", "request tokens", "prompt_tokens",
    "input_tokens", "hash_ids",
}  # fmt: skip


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
    if _delimiter(head.lstrip()) is None:  # a cell over several lines may hold what looks wrapped
        head, stream = without_wrapping(source, head, stream)
    start = head.lstrip()
    if re.match(rb"\[\s*[{\]]", start):
        return _values(source, stream, "record", array=True)
    if start.startswith(b"{") and _are_values(start, len(head)):
        return _values(source, stream, "record", array=False)
    delimiter = _delimiter(start)
    if delimiter is not None:
        return _rows(source, stream, delimiter)
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


def _are_values(start: bytes, size: int) -> bool:
    """Whether JSON objects go over several lines, or stand on one endless line after each other."""
    text = start.decode("utf-8", "ignore")
    line, end, _ = text.partition("\n")
    try:
        DECODER.decode(line.strip())
        return False
    except (ValueError, RecursionError):
        pass
    try:
        _, stop = DECODER.raw_decode(text)
        joined = not end and text[stop:].lstrip(" \t\r,").startswith("{")
        return joined or "\n" in text[:stop].rstrip()
    except RecursionError:
        return False
    except ValueError as error:
        return bool(end) and size >= 1 << 16 and _unfinished(error, text)


def _unfinished(error: ValueError, text: str) -> bool:
    """Whether a parse failed because the text ends, not because it is wrong."""
    if isinstance(error, json.JSONDecodeError):
        return error.msg.startswith("Unterminated string") or error.pos >= len(text) - 12
    return False


def _cut_off(error: ValueError, text: str) -> bool:
    """Whether what failed to parse at the end of a file is the beginning of something right."""
    if not isinstance(error, json.JSONDecodeError):
        return False
    rest = text[error.pos :]
    literal = any(w.startswith(rest) for w in ("true", "false", "null", "-"))
    return literal or error.msg.startswith(("Unterminated string", "Invalid \\u"))


def _values(
    source: Source, stream: io.BufferedReader, word: str, *, array: bool
) -> Iterator[tuple[str, dict[str, object] | str | Broken]]:
    """Elements of a JSON array, or JSON values after each other, without holding the file.

    The buffer at least doubles while one element is incomplete, so parsing is linear in the file
    up to a factor of two.
    """
    decode = codecs.getincrementaldecoder("utf-8")("strict")
    constants: list[str] = []  # NaN and infinities: they spoil one element, not the rest
    decoder = json.JSONDecoder(parse_constant=constants.append)
    pieces = source.pieces(stream)
    buffer, at, number, want = "", 0, 0, 1 << 16
    ended = closed = False

    def fill(size: int) -> None:
        nonlocal buffer, at, ended
        parts = [buffer[at:]]
        have = len(parts[0])
        while have < size and not ended:
            data = next(pieces, b"")
            text = decode.decode(data, final=not data)
            ended = not data
            parts.append(text)
            have += len(text)
        buffer, at = "".join(parts), 0

    try:
        fill(want)
        if array:
            at = buffer.index("[") + 1
        while True:
            match = (_SPACE if closed else GAP).match(buffer, at)
            at = match.end() if match else at
            if at >= len(buffer):
                if ended:
                    if array and not closed:
                        yield f"{word} {number + 1}", Broken("the array does not end", True)
                    return
                fill(want)
                continue
            if closed:  # pages of a listing, written one after another, are one log
                if buffer[at] != "[":
                    reason = "text after the array's end; the rest cannot be read"
                    yield f"{word} {number + 1}", Broken(reason, False, ends=True)
                    return
                closed, at = False, at + 1
                continue
            if array and buffer[at] == "]":
                closed, at = True, at + 1
                continue
            constants.clear()
            try:
                value, stop = decoder.raw_decode(buffer, at)
            except RecursionError:
                yield f"{word} {number + 1}", Broken("nested too deeply", False, ends=True)
                return
            except ValueError as error:
                size = len(buffer) - at
                if not ended and _unfinished(error, buffer):
                    if size >= source.longest:
                        reason = f"{source.too_long}; the rest cannot be read"
                        yield f"{word} {number + 1}", Broken(reason, False, ends=True, whole=True)
                        return
                    del error  # it holds the buffer
                    fill(min(max(want, 2 * size), source.longest))
                    continue
                cut = ended and _cut_off(error, buffer.rstrip())
                reason = f"not JSON ({getattr(error, 'msg', error)}); the rest cannot be read"
                yield f"{word} {number + 1}", Broken(reason, cut, ends=True)
                return
            if stop >= len(buffer) and not ended:  # a number may go on
                fill(max(want, 2 * (len(buffer) - at)))
                continue
            at, number = stop, number + 1
            place = f"{word} {number}"
            if constants:
                reason = f"{constants[0]} is not a JSON number; expected finite values"
                yield place, Broken(reason, False)
            elif isinstance(value, dict):
                yield place, value
            else:
                yield place, Broken(f"expected a JSON object, got {json_kind(value)}", False)
            if at > want and 2 * at > len(buffer):
                buffer, at = buffer[at:], 0
    except UnicodeDecodeError as error:
        yield f"{word} {number + 1}", Broken(f"not UTF-8 text ({error.reason})", False, ends=True)


def _delimiter(start: bytes) -> str | None:
    """What parts the cells of CSV (a comma, or as spreadsheets write it); None for anything else."""
    line = start.split(b"\n", 1)[0].decode("utf-8", "replace").strip()
    if line[:1] in "{[":
        return None
    for delimiter in ",;\t":
        try:
            names = [n.strip() for n in next(csv.reader([line], delimiter=delimiter), [])]
        except csv.Error:  # a lone carriage return
            continue
        known = {n.lower() for n in names} & _KNOWN_COLUMNS
        if len(names) > 1 and known and all(map(_COLUMN.fullmatch, names)):
            return delimiter
    return None


class _RowLines:
    """Lines of CSV for the parser of rows, some of them twice.

    An opening quote that nothing closes makes one row of all that follows. Where such a row turns
    out to be none, or longer than a record may be, and a later line of it is a whole row, only its
    first line is left out: the others are handed out again. Quotes that neither close nor are
    wrong (a line ``x","``) make that happen at every line; once lines were handed out ``AGAIN``
    times as often as there are any, those at hand are read as one row each.
    """

    AGAIN = 8

    def __init__(self, source: Source, stream: io.BufferedReader, delimiter: str) -> None:
        self._source, self._delimiter = source, delimiter
        self._lines = source.lines(stream)
        self._row: list[str] = []
        self._again: list[str] = []  # the next one last
        self._repeated = 0  # lines handed out again so far
        self._furthest = 0  # number of the last line read
        self._alone = False  # whether each line handed out again is one row
        self._size = 0
        self.number = 0  # of the line handed out last
        self.not_utf8 = ""  # what is wrong with the text of the row

    def __iter__(self) -> _RowLines:
        return self

    def __next__(self) -> str:
        if self._again:
            if self._alone and self._row:
                raise csv.Error("a quote is not closed")
            line = self._again.pop()
        else:
            self._alone = False
            self._furthest += 1
            raw = next(self._lines)
            self._source.open_end = not raw.endswith(b"\n")
            try:
                line = raw.decode("utf-8")
            except UnicodeDecodeError as error:
                line = raw.decode("utf-8", "replace")
                self.not_utf8 = self.not_utf8 or not_utf8(error)
            if isinstance(raw, LongLine):
                self._size = self._source.longest
        self.number += 1
        self._row.append(line)
        self._size += len(line)
        if self._size > self._source.longest:
            raise csv.Error(self._source.too_long)
        return line

    def taken(self) -> None:
        """The row was one."""
        self._row.clear()
        self._size = 0
        self.not_utf8 = ""

    @property
    def several(self) -> bool:
        """Whether the row goes over several lines."""
        return len(self._row) > 1

    def failed(self, columns: int) -> tuple[int, bool]:
        """The row was none; the number of its first line, and whether all of it is left out."""
        rest = self._row[:0:-1]
        first = self.number - len(rest)
        whole = not any(self._is_row(line, columns) for line in rest)
        if not whole:
            self._again += rest
            self._repeated += len(rest)
            self._alone = self._repeated > self.AGAIN * self._furthest
            self.number = first
        self.taken()
        return first, whole

    def _is_row(self, line: str, columns: int) -> bool:
        try:
            row = next(csv.reader([line], strict=True, delimiter=self._delimiter), [])
        except csv.Error:
            return False
        return len(row) == columns


def _rows(
    source: Source, stream: io.BufferedReader, delimiter: str
) -> Iterator[tuple[str, dict[str, object] | Broken]]:
    """CSV rows as objects of their non-empty cells."""
    before = csv.field_size_limit(1 << 30)  # of the whole process, so it is put back
    lines = _RowLines(source, stream, delimiter)
    rows = csv.reader(lines, strict=True, delimiter=delimiter)
    header: list[str] = []
    names: list[str] = []
    try:
        while True:
            try:
                row = next(rows, None)
            except csv.Error as error:
                unnamed = not names
                first, whole = lines.failed(len(names))
                cut = whole and "unexpected end" in str(error)
                yield f"line {first}", Broken(f"not CSV ({error})", cut, ends=unnamed)
                if unnamed:
                    return
                continue
            if row is None:
                return
            place, not_utf8 = f"line {lines.number}", lines.not_utf8
            if names and len(row) != len(names) and lines.several:
                first, whole = lines.failed(len(names))
                place = place if whole else f"line {first}"
            else:
                whole = True
                lines.taken()
            if not names:
                header, names = row, [n.strip() for n in row]
                continue
            if not row or (row[1:] == header[1:] and row[0].strip('\ufeff"') == header[0]):
                continue  # blank, or the header of the next file in this one
            if not_utf8:
                yield place, Broken(not_utf8, False)
            elif len(row) > len(names):
                yield place, Broken(f"{len(row)} cells under {len(names)} columns", False)
            elif len(row) < len(names):
                yield place, Broken(f"{len(row)} cells under {len(names)} columns", whole)
            else:
                yield place, {n: v for n, v in zip(names, row, strict=True) if v != ""}
    finally:
        csv.field_size_limit(before)
