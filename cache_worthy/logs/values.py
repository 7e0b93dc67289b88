"""Elements of a JSON array, or JSON values after each other, as records."""

from __future__ import annotations

import codecs
import contextlib
import io
import json
import re
from collections.abc import Iterator

from cache_worthy.logs.json_text import DECODER, GAP, Broken, json_kind
from cache_worthy.logs.source import Source

WANT = 1 << 16
"""Characters to have in memory, at least."""

_SPACE = re.compile(r"[ \t\r\n]*")


def are_values(start: bytes, size: int) -> bool:
    """Whether JSON objects go over several lines, or follow each other on one endless line.

    ``start`` is the file's, without white space in front; ``size`` bytes were looked at.
    """
    text = start.decode("utf-8", "ignore")
    line, end, _ = text.partition("\n")
    with contextlib.suppress(ValueError, RecursionError):
        DECODER.decode(line.strip())
        return False
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
    """Whether what failed to parse at the end of a file is a prefix of valid JSON."""
    if not isinstance(error, json.JSONDecodeError):
        return False
    rest = text[error.pos :]
    literal = any(w.startswith(rest) for w in ("true", "false", "null", "-"))
    return literal or error.msg.startswith(("Unterminated string", "Invalid \\u"))


def read_values(
    source: Source, stream: io.BufferedReader, *, array: bool
) -> Iterator[tuple[str, dict[str, object] | Broken]]:
    """``(place, record)`` of every value, without holding the file."""
    values = _Values(source, stream, array=array)
    number = 0
    try:
        values.begin()
        while values.another():
            value = values.next()
            number += 1
            yield f"record {number}", value
            values.let_go()
    except _End as end:
        yield f"record {number + 1}", end.args[0]
    except UnicodeDecodeError as error:
        reason = f"not UTF-8 text ({error.reason})"
        yield f"record {number + 1}", Broken(reason, False, ends=True)


class _End(Exception):
    """The last thing that can be read, which is no value: its only argument, a :class:`Broken`."""


class _Values:
    """The text of a stream, parsed from its front.

    The text in memory at least doubles while a value is incomplete, so parsing is linear in the file.
    """

    def __init__(self, source: Source, stream: io.BufferedReader, *, array: bool) -> None:
        self._source, self._array = source, array
        self._stream = stream
        self._decode = codecs.getincrementaldecoder("utf-8")("strict").decode
        self._constants: list[str] = []  # NaN and infinities: they spoil one value, not the rest
        self._decoder = json.JSONDecoder(parse_constant=self._constants.append)
        self._text, self._at = "", 0
        self._ended = False  # whether the stream has
        self._closed = False  # whether the array is

    def _fill(self, size: int) -> None:
        """Have at least ``size`` characters in memory, unless the stream ends."""
        parts = [self._text[self._at :]]
        have = len(parts[0])
        while have < size and not self._ended:
            data = self._stream.read(WANT)
            self._ended = not data
            parts.append(self._decode(data, final=self._ended))
            have += len(parts[-1])
        self._text, self._at = "".join(parts), 0

    def begin(self) -> None:
        """Go to the first value."""
        self._fill(WANT)
        if self._array:
            self._at = self._text.index("[") + 1

    def another(self) -> bool:
        """Go to the next value; whether there is one."""
        while True:
            gap = (_SPACE if self._closed else GAP).match(self._text, self._at)
            self._at = gap.end() if gap else self._at
            if self._at >= len(self._text):
                if not self._ended:
                    self._fill(WANT)
                elif self._array and not self._closed:
                    raise _End(Broken("the array does not end", True))
                else:
                    return False
            elif self._closed:  # pages of a listing, written one after another, are one log
                if self._text[self._at] != "[":
                    reason = "text after the array's end; the rest cannot be read"
                    raise _End(Broken(reason, False, ends=True))
                self._closed = False
                self._at += 1
            elif self._array and self._text[self._at] == "]":
                self._closed = True
                self._at += 1
            else:
                return True

    def next(self) -> dict[str, object] | Broken:
        """The value here."""
        while True:
            self._constants.clear()
            more = max(WANT, 2 * (len(self._text) - self._at))
            try:
                value, stop = self._decoder.raw_decode(self._text, self._at)
            except RecursionError:
                raise _End(Broken("nested too deeply", False, ends=True)) from None
            except ValueError as error:  # it holds the text, so that is filled after it is gone
                self._check_unfinished(error)
                more = min(more, self._source.longest)
            else:
                if stop < len(self._text) or self._ended:  # a number may go on
                    break
            self._fill(more)
        self._at = stop
        if self._constants:
            reason = f"{self._constants[0]} is not a JSON number; expected finite values"
            return Broken(reason, False)
        if isinstance(value, dict):
            return value
        return Broken(f"expected a JSON object, got {json_kind(value)}", False)

    def _check_unfinished(self, error: ValueError) -> None:
        """Raise, unless more text may make a value of what failed to parse."""
        if self._ended or not _unfinished(error, self._text):
            cut = self._ended and _cut_off(error, self._text.rstrip())
            reason = f"not JSON ({getattr(error, 'msg', error)}); the rest cannot be read"
            raise _End(Broken(reason, cut, ends=True)) from None
        if len(self._text) - self._at >= self._source.longest:
            reason = f"{self._source.too_long}; the rest cannot be read"
            raise _End(Broken(reason, False, ends=True, whole=True)) from None

    def let_go(self) -> None:
        """Release text that has been parsed, if it is most of what is in memory."""
        if self._at > WANT and 2 * self._at > len(self._text):
            self._text, self._at = self._text[self._at :], 0
