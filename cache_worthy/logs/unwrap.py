"""A container's log without what its runtime wraps around each line, for every format.

* Docker (``json-file``): ``{"log": "…\\n", "stream": "stdout", "time": "…"}``. A line of more than
  16 KiB is split over several records, all but the last without a line end. Docker cuts between bytes
  and writes U+FFFD for the halves of a character that it cut; those are lost. Shippers that write
  the same record leave the line end out of all: there shorter records are lines of their own.
* JSON lines as a tool prints them: ``name | {…}`` (docker compose logs), ``[pod/a/b] {…}`` (kubectl
  logs --prefix), with a time before them (--timestamps), as journalctl does. Formats find lines of text
  behind such a beginning themselves.
* Kubernetes (CRI, containerd): ``TIME stdout F …``, with ``P`` for ``F`` if the line continues.

Pieces are joined by stream, since lines of standard error may come between them; after a damaged one
the rest of its line is left out, so that no prompt loses a part unnoticed. A piece that continues leaves
a blank line, so lines keep their numbers. What is not wrapped passes as it is. The runtime's own times
are not used: formats have theirs, and if they have none the order of lines is the same.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator

from cache_worthy.logs.source import HEAD, LongLine, Source, stream_of

_CRI = re.compile(
    rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d) (stdout|stderr) ([FP])(?::\S*)?"
    rb"(?: |(?=\s*$))"  # of an empty line an editor may have taken the blank
)

_PRINTED = re.compile(
    rb"(?:[\w.-]+ +\| |\[[\w./-]+\] |[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \S+ \S+: )?"
    rb"(?:\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d) )?(?=\{)"
)

FIRST = 4
"""Lines looked at to tell what wraps a log."""

DOCKER_PIECE = 1 << 14
"""Bytes at which Docker cuts a line."""

Piece = tuple[str, bytes, bool]
"""Stream, text, and whether the line ends with it."""


def without_wrapping(
    source: Source, head: bytes, stream: io.BufferedReader
) -> tuple[bytes, io.BufferedReader]:
    """The first bytes and a reader of what the container wrote; any other log as it is."""
    # The very first line may be cut: the end of a file that was longer.
    every = head.lstrip().split(b"\n")
    first = every[:FIRST]
    if any(map(_docker, first)):
        piece = _docker if b'\\n"' in head else _without_line_ends
    elif any(map(_cri, first)):
        piece = _cri
    elif any(_printed(line) for line in every if not line.startswith(b"{")):  # behind a banner
        piece = _printed
    else:
        return head, stream
    return stream_of(_lines(source, stream, piece))


def _docker(line: bytes) -> Piece | None:
    if not line.startswith(b"{") or b'"log"' not in line:
        return None
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    text, stream = record.get("log"), record.get("stream")
    if not isinstance(text, str) or stream not in ("stdout", "stderr") or "time" not in record:
        return None
    return stream, text.rstrip("\r\n").encode("utf-8", "surrogatepass"), text.endswith("\n")


def _without_line_ends(line: bytes) -> Piece | None:
    found = _docker(line)
    return found and (*found[:2], found[2] or len(found[1]) < DOCKER_PIECE)


def _cri(line: bytes) -> Piece | None:
    found = _CRI.match(line)
    if found is None:
        return None
    return found[1].decode(), line[found.end() :].rstrip(b"\r\n"), found[2] == b"F"


def _printed(line: bytes) -> Piece | None:
    found = _PRINTED.match(line)
    return None if found is None else ("stdout", line[found.end() :].rstrip(b"\r\n"), True)


def _lines(
    source: Source, stream: io.BufferedReader, piece: Callable[[bytes], Piece | None]
) -> Iterator[bytes]:
    held: dict[str, list[bytes]] = {"stdout": [], "stderr": []}
    size = dict.fromkeys(held, 0)
    gaps: set[str] = set()  # streams in whose line a piece may be missing: the rest is not used
    for line in source.lines(stream):
        found = piece(line)
        if isinstance(line, LongLine):  # as long again, for the reader of lines to refuse
            gaps |= {name for name in held if held[name]}
            yield line if found is None else found[1]
            yield from (b" " * HEAD for _ in range(source.longest // HEAD + 1))
            yield b"\n"
            continue
        if found is None:
            if not line.isspace():
                gaps |= {name for name in held if held[name]}
            yield line
            continue
        name, text, ends = found
        if name not in gaps and size[name] <= source.longest:  # the reader refuses what is longer
            held[name].append(text)
            size[name] += len(text)
        if ends:
            yield b"".join(held[name])
            held[name], size[name] = [], 0
            gaps.discard(name)
        yield b"\n"
    for rest in held.values():  # a log still being written
        if rest:
            yield b"".join(rest)
