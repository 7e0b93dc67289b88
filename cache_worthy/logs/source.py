"""The bytes of a log: file or standard input, compressed or not, with their digest."""

from __future__ import annotations

import contextlib
import gzip
import importlib
import io
import re
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from cache_worthy.errors import UsageError
from cache_worthy.logs.prompts import Refused
from cache_worthy.sim.errors import TraceError

if TYPE_CHECKING:
    import hashlib

    from _typeshed import WriteableBuffer

HEAD = 1 << 16
"""Bytes looked at to tell what a file is."""

BUFFER = 1 << 20
"""Bytes read at a time."""

LONGEST = 1 << 26
"""Bytes of one record at most (64 MiB): a line, a row of CSV, an element of a JSON array.

The largest request that Anthropic's API takes is 32 MB, images included; JSON inside a JSON string may
be twice as long. What is longer is a damaged or endless line, and would be held in memory several times
over while it is parsed.
"""

ENDLESS = 1 << 30
"""Bytes of one line after which nothing behind it is looked for any more (``/dev/zero``)."""

BOM, GZIP = b"\xef\xbb\xbf", b"\x1f\x8b"

ZSTD = re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18")
"""A frame, or a skippable one before it (pzstd, seekable archives)."""

TWO_BYTES = re.compile(rb"(?:\0[^\0]){8}|(?:[^\0]\0){8}")
"""ASCII in UTF-16, without a byte order mark."""

TAR = 257, b"ustar"
"""Where a tar archive says that it is one."""

_EXPECTED = "expected JSON lines, a JSON array, CSV or a server log, plain, .gz or .zst"

_BINARY = (
    *((bytes([0x80, version]), "a Python pickle") for version in (2, 3, 4, 5)),
    (b"PK\x03\x04", "a zip archive"),
    (b"PAR1", "a Parquet file"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"BZh", "a bzip2 file"),
    (b"\xfd7zXZ\0", "an xz file"),
    (b"\xff\xfe\0\0", "UTF-32 text"),
    (b"\0\0\xfe\xff", "UTF-32 text"),
    (b"\xff\xfe", "UTF-16 text"),
    (b"\xfe\xff", "UTF-16 text"),
)

_TWICE = "a file compressed twice"

_ADVICE = {
    "a Python pickle": "loading one runs whatever it holds, so it is never opened; SGLang: start "
    "the server with --log-requests --log-requests-level 3 instead of a dump folder",
    "a zip archive": "unpack it first",
    "a Parquet file": "write it as JSON lines first",
    "an SQLite database": "export the request table as CSV or JSON lines first",
    "a bzip2 file": "unpack it first (bunzip2)",
    "an xz file": "unpack it first (unxz)",
    "a tar archive": "unpack it first (tar -xf); several files are one log where all are named",
    _TWICE: "unpack it once first",
    "UTF-32 text": "write it as UTF-8 first (iconv -f UTF-32 -t UTF-8)",
    "UTF-16 text": "write it as UTF-8 first (iconv -f UTF-16 -t UTF-8; PowerShell: Out-File "
    "-Encoding utf8)",
}


class LongLine(bytes):
    """The beginning of a line longer than ``LONGEST``; the rest of it is gone."""


class _Pieces(io.RawIOBase):
    """Pieces of bytes as a raw stream, which fills every buffer as long as there are any."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces, self._left = pieces, memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer)
        done = 0
        while done < len(view):
            if not self._left:
                self._left = memoryview(next(self._pieces, b""))
                if not self._left:
                    break
            data = self._left[: len(view) - done]
            view[done : done + len(data)] = data
            self._left = self._left[len(data) :]
            done += len(data)
        return done


def stream_of(pieces: Iterator[bytes]) -> tuple[bytes, io.BufferedReader]:
    """The first bytes of a stream of pieces, and a reader of all of them."""
    stream: io.BufferedReader = io.BufferedReader(_Pieces(pieces), BUFFER)
    return stream.peek(HEAD)[:HEAD], stream


class Source:
    """One log as text bytes.

    ``source`` is a file, or ``"-"`` for standard input; ``digest`` is fed with the bytes as stored.
    """

    def __init__(self, source: str | Path, digest: hashlib._Hash) -> None:
        self._source, self._digest = source, digest
        self.name = "<stdin>" if str(source) == "-" else str(source)
        self.cut_short = False  # compressed data ended too early (a log still being written)
        self.open_end = False  # the last CSV row has no line end: its last cell may be cut
        self.longest = LONGEST
        self._file: IO[bytes] | None = None

    def close(self) -> None:
        """Close the file; standard input stays open."""
        if self._file is not None:
            self._file.close()

    def open(self) -> tuple[bytes, io.BufferedReader]:
        """The first bytes, and a reader of all of them; a byte order mark is gone.

        Raises
        ------
        TraceError
            If the source cannot be read, or is no text.
        """
        if str(self._source) == "-":
            file: IO[bytes] = sys.stdin.buffer
        else:
            try:
                file = self._file = open(self._source, "rb")  # noqa: SIM115
            except OSError as error:
                raise self._unreadable(error) from error
        head, stream = stream_of(self._stored(file))
        if packed := _is_packed(head):
            gzipped = head.startswith(GZIP)
            inner = gzip.GzipFile(fileobj=stream) if gzipped else _zstd(stream, self.name)
            head, stream = stream_of(self._unpacked(cast(IO[bytes], inner)))
        what = _TWICE if packed and _is_packed(head) else _what_else(head)
        if what is not None:
            raise Refused(f"{self.name}: {what}: {_ADVICE[what]}; {_EXPECTED}")
        if head.startswith(BOM):
            stream.read(len(BOM))
            head = head[len(BOM) :]
        return head, stream

    def _stored(self, file: IO[bytes]) -> Iterator[bytes]:
        """Pieces of the file, each fed to the digest."""
        try:
            while data := file.read(BUFFER):
                self._digest.update(data)
                yield data
        except OSError as error:
            raise self._unreadable(error) from error

    def _unpacked(self, stream: IO[bytes]) -> Iterator[bytes]:
        """Pieces of compressed data; if it ends too early they just end."""
        # read1: at a cut a longer read would lose all that it had unpacked by then.
        read = getattr(stream, "read1", stream.read)
        try:
            while data := read(HEAD):
                yield data
        except EOFError:
            self.cut_short = True
        except (OSError, zlib.error) as error:
            raise self._unreadable(error) from error
        except Exception as error:
            if type(error).__name__ != "ZstdError":
                raise
            raise self._unreadable(error) from error

    def _unreadable(self, error: Exception) -> TraceError:
        if isinstance(error, gzip.BadGzipFile | zlib.error) or type(error).__name__ == "ZstdError":
            return TraceError(
                f"{self.name}: cannot read: the compressed data is damaged, or something else "
                f"follows it ({error}); unpack what can be (gzip -dc, zstd -dc) and give that"
            )
        reason = getattr(error, "strerror", None) or error
        return TraceError(
            f"{self.name}: cannot read: {reason}; expected a file of JSON lines or another log "
            "(cache-worthy formats), or - for standard input"
        )

    def lines(self, stream: io.BufferedReader) -> Iterator[bytes]:
        """Lines of a stream; one longer than ``longest`` comes as a :class:`LongLine`."""
        read, longest, number = stream.readline, self.longest, 0
        while line := read(longest):
            number += 1
            if len(line) == longest and line[-1:] != b"\n":
                line = self._long(line, stream, number)
            yield line

    @property
    def too_long(self) -> str:
        """What is said of a record longer than ``longest``."""
        mib = f"{self.longest / 2**20:.3g} MiB"
        return f"longer than {mib}, which no request is; expected one record per line"

    def _long(self, line: bytes, stream: io.BufferedReader, number: int) -> bytes:
        """Pass over the rest of a line of which the longest permitted beginning is read."""
        size, found = len(line), LongLine(line[:HEAD])
        if (rest := stream.readline(HEAD)) in (b"", b"\n", b"\r\n"):
            return line + rest  # exactly as long as a line may be
        del line
        while rest and rest[-1:] != b"\n":
            size += len(rest)
            if size > ENDLESS:
                raise TraceError(f"{self.name}: line {number}: {self.too_long}")
            rest = stream.readline(HEAD)
        return found


def _is_packed(head: bytes) -> bool:
    return head.startswith(GZIP) or ZSTD.match(head) is not None


def _what_else(head: bytes) -> str | None:
    """What a file is that is no UTF-8 text; None if it may be."""
    at, mark = TAR
    if head[at : at + len(mark)] == mark:
        return "a tar archive"
    if TWO_BYTES.match(head):
        return "UTF-16 text"
    return next((what for magic, what in _BINARY if head.startswith(magic)), None)


def _zstd(raw: IO[bytes], name: str) -> IO[bytes]:
    """A decompressing reader: the standard library's where Python has it (3.14), else zstandard."""
    zstd = _zstd_module()
    if zstd is None:
        raise TraceError(
            f"{name}: compressed with zstd, which needs a package that is not installed; "
            "pip install zstandard, or unpack it first"
        )
    if zstd.__name__ != "zstandard":
        return cast(IO[bytes], zstd.ZstdFile(raw))
    return cast(IO[bytes], zstd.ZstdDecompressor().stream_reader(raw, read_across_frames=True))


def _zstd_module() -> Any:
    for module in ("compression.zstd", "zstandard"):
        with contextlib.suppress(ImportError):
            return importlib.import_module(module)
    return None


def compress_zstd(data: bytes) -> bytes:
    """``data`` as one zstd frame; a :class:`UsageError` if no package for it is installed."""
    zstd = _zstd_module()
    if zstd is None:
        raise UsageError(
            "-o: .zst needs a package that is not installed; pip install zstandard, or write .gz"
        )
    packed: bytes = zstd.compress(data)
    return packed
