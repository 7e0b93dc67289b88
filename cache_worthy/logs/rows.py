"""Rows of CSV as records."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator

from cache_worthy.logs.json_text import Broken, not_utf8
from cache_worthy.logs.source import LongLine, Source

_COLUMN = re.compile(r"[\w .%()/-]{1,60}")
_KNOWN_COLUMNS = {
    "request_id", "prompt", "messages", "input", "text", "proxy_server_request", "starttime",
    "timestamp", "contexttokens", "generatedtokens", "request tokens", "prompt_tokens",
    "input_tokens", "hash_ids",
}  # fmt: skip


def delimiter_of(start: bytes) -> str | None:
    """The delimiter of CSV (a comma, or what spreadsheets write instead); None for anything else."""
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

    An opening quote that nothing closes makes one row of all that follows. If such a row turns out to be
    none, or longer than a record may be, and one of its later lines is a whole row, only its first line
    is left out. The others are handed out again, each as a row of its own, but for the last, which may
    go on: so no line is handed out three times.
    """

    def __init__(self, source: Source, stream: io.BufferedReader, delimiter: str) -> None:
        self._source, self._delimiter = source, delimiter
        self._lines = source.lines(stream)
        self._row: list[str] = []
        self._again: list[str] = []  # the next one last
        self._size = 0
        self.number = 0  # of the line handed out last
        self.not_utf8 = ""  # what is wrong with the text of the row

    def __iter__(self) -> _RowLines:
        return self

    def __next__(self) -> str:
        if self._again:
            if self._row:
                raise csv.Error("a quote is not closed")
            line = self._again.pop()
        else:
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

    def failed(self, columns: int) -> tuple[int, bool]:
        """The row was none; the number of its first line, and whether all of it is left out."""
        rest = self._row[:0:-1]
        first = self.number - len(rest)
        whole = not any(self._is_row(line, columns) for line in rest)
        if not whole:
            self._again += rest
            self.number = first
        self.taken()
        return first, whole

    def judged(self, row: list[str], columns: int) -> tuple[int, bool]:
        """As :meth:`failed`, of a row that the parser took: over several lines, its cells must fit."""
        if len(self._row) > 1 and len(row) != columns:
            return self.failed(columns)
        self.taken()
        return self.number, True

    def _is_row(self, line: str, columns: int) -> bool:
        try:
            return (
                len(next(csv.reader([line], strict=True, delimiter=self._delimiter), [])) == columns
            )
        except csv.Error:
            return False


def read_rows(
    source: Source, stream: io.BufferedReader, delimiter: str
) -> Iterator[tuple[str, dict[str, object] | Broken]]:
    """``(place, record)`` of every row below the header: its non-empty cells by column."""
    before = csv.field_size_limit(1 << 30)  # of the whole process, so it is put back
    lines = _RowLines(source, stream, delimiter)
    rows = csv.reader(lines, strict=True, delimiter=delimiter)
    try:
        header: list[str] = []
        while not header:
            header = next(rows, ["?"])
            lines.taken()
        names = [n.strip() for n in header]
        while True:
            try:
                row = next(rows, None)
            except csv.Error as error:
                first, whole = lines.failed(len(names))
                cut = whole and "unexpected end" in str(error)
                yield f"line {first}", Broken(f"not CSV ({error})", cut)
                continue
            if row is None:
                return
            wrong_text = lines.not_utf8
            number, whole = lines.judged(row, len(names))
            place = f"line {number}"
            if not row or (row[1:] == header[1:] and row[0].strip('\ufeff"') == header[0]):
                continue  # blank, or the header of the next file in this one
            if wrong_text:
                yield place, Broken(wrong_text, False)
            elif len(row) != len(names):
                reason = f"{len(row)} cells under {len(names)} columns"
                yield place, Broken(reason, whole and len(row) < len(names))
            else:
                yield place, {n: v for n, v in zip(names, row, strict=True) if v != ""}
    except csv.Error as error:
        yield f"line {lines.number}", Broken(f"not CSV ({error})", False, ends=True)
    finally:
        csv.field_size_limit(before)
