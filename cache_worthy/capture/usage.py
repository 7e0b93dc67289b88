"""What an answer says about its request: lengths and cached tokens, read as the bytes pass.

OpenAI (chat, completions, responses), Anthropic and DeepSeek name them differently; a stream carries
them in its last event (OpenAI, with ``stream_options.include_usage``) or in its first and last
(Anthropic). Nothing here changes or delays a byte, and nothing it meets is an error.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from cache_worthy.logs.prompts import count

LONGEST_LINE = 1 << 20
"""A longer line of a stream is not looked at."""

TAIL = 1 << 16
"""Bytes kept of the end of a JSON answer, where every vendor writes the usage."""

PIECE = 1 << 20
"""Bytes unpacked at a time, so that a small answer cannot fill the memory."""

PLAIN, PACKED = ("", "identity"), ("gzip", "x-gzip", "deflate")
"""Content encodings that are read."""

_USAGE = re.compile(rb'"usage"\s*:\s*\{')
_ENDS = (b"[DONE]", b"message_stop", b"response.completed")


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the server counted them; None where it does not say."""

    prompt: int | None = None
    output: int | None = None
    cached: int | None = None
    """Of the prompt, those taken from a prefix cache."""


def usage_of(answers: Iterable[object]) -> Usage:
    """The counts in answers or events, a later one over an earlier.

    Examples
    --------
    >>> details = {"prompt_tokens_details": {"cached_tokens": 16}}
    >>> usage_of([{"usage": {"prompt_tokens": 40, "completion_tokens": 2, **details}}])
    Usage(prompt=40, output=2, cached=16)
    >>> start = {"message": {"usage": {"input_tokens": 4, "cache_read_input_tokens": 36}}}
    >>> usage_of([start, {"usage": {"output_tokens": 9}}])
    Usage(prompt=40, output=9, cached=36)
    """
    counts = [
        (_prompt(usage), _first(usage, "completion_tokens", "output_tokens"), _cached(usage))
        for answer in answers
        for usage in _usages(answer)
    ]
    told = ([n for n in column if n is not None] for column in zip(*counts, strict=True))
    return Usage(*(column[-1] if column else None for column in told))


def _usages(answer: object) -> Iterable[Mapping[str, object]]:
    if isinstance(answer, Mapping):
        for holder in (answer, answer.get("message"), answer.get("response")):
            usage = holder.get("usage") if isinstance(holder, Mapping) else None
            if isinstance(usage, Mapping):
                yield usage


def _first(usage: Mapping[str, object], *names: str) -> int | None:
    return next((n for name in names if (n := count(usage.get(name))) is not None), None)


def _prompt(usage: Mapping[str, object]) -> int | None:
    whole = count(usage.get("prompt_tokens"))
    fresh = count(usage.get("input_tokens"))
    if whole is not None or fresh is None:
        return whole
    # Anthropic's input_tokens exclude tokens read from or written to the cache, OpenAI's include them.
    apart = ("cache_read_input_tokens", "cache_creation_input_tokens")
    return fresh + sum(count(usage.get(name)) or 0 for name in apart)


def _cached(usage: Mapping[str, object]) -> int | None:
    for name in ("prompt_tokens_details", "input_tokens_details"):
        details = usage.get(name)
        found = count(details.get("cached_tokens")) if isinstance(details, Mapping) else None
        if found is not None:
            return found
    return _first(usage, "cache_read_input_tokens", "prompt_cache_hit_tokens")


class Answer:
    """The parts of one answer that may carry its usage.

    Parameters
    ----------
    content_type, encoding : bytes
        Of the answer; a type that is neither JSON nor an event stream, or an encoding other than
        gzip and deflate, is not looked at.

    Attributes
    ----------
    ended : bool
        Whether a stream's last event was seen; what closes the connection then cuts nothing off.
    """

    def __init__(self, content_type: bytes = b"", encoding: bytes = b"") -> None:
        kind = content_type.split(b";")[0].strip().lower()
        coding = encoding.decode("latin-1").strip().lower()
        self.ended = False
        self._stream = kind == b"text/event-stream"
        json_like = kind == b"application/json" or kind.endswith(b"+json")
        self._on = (self._stream or json_like) and coding in (*PLAIN, *PACKED)
        self._inflate = zlib.decompressobj(47) if coding not in PLAIN else None
        self._kept = bytearray()
        self._cut = False
        self._skipping = False
        self._first = self._last = b""

    def feed(self, data: bytes) -> None:
        """Take in the next bytes as they came."""
        if not self._on:
            return
        if self._inflate is None:
            self._take(data)
            return
        try:
            while data and self._on:
                self._take(self._inflate.decompress(data, PIECE))
                data = self._inflate.unconsumed_tail
                if self._inflate.eof:
                    data = self._inflate.unused_data
                    self._inflate = zlib.decompressobj(47)
        except zlib.error:
            self._on = False
            self._kept.clear()

    def _take(self, data: bytes) -> None:
        if not self._stream:
            self._kept += data
            if len(self._kept) > 2 * TAIL:
                del self._kept[:-TAIL]
                self._cut = True
            return
        end = data.rfind(b"\n") + 1
        if end:
            if not self._skipping:
                data, end = bytes(self._kept) + data, end + len(self._kept)
            self._kept.clear()
            self._skipping = False
            self.ended = self.ended or any(mark in data for mark in _ENDS)
            if b'"usage"' in data:
                for line in data[:end].splitlines():
                    if line.startswith(b"data:") and _USAGE.search(line):
                        self._first = self._first or line
                        self._last = line
        elif self._skipping:
            return
        self._kept += data[end:]
        if len(self._kept) > LONGEST_LINE:
            self._kept.clear()
            self._skipping = True

    def usage(self) -> Usage:
        """What was found; to be called once the answer has ended, or was cut."""
        if not self._on:
            return Usage()
        parts = [self._first[5:], self._last[5:]] if self._stream else [bytes(self._kept)]
        if self._cut:
            # Inside a string the quotes of such a key would be escaped, and match nothing.
            start = max((m.start() for m in _USAGE.finditer(parts[0])), default=0)
            parts = [b"{" + parts[0][start:]]
        found = []
        for part in parts:
            try:
                found.append(_first_pair(part) if self._cut else json.loads(part))
            except (ValueError, RecursionError):
                continue
        return usage_of(found)


def _first_pair(text: bytes) -> object:
    """The first key and its value of what begins as a JSON object."""
    key, _, rest = text.decode("utf-8", "replace").partition(":")
    value, _ = json.JSONDecoder().raw_decode(rest.lstrip())
    return {key.strip('{" '): value}
