"""The bytes of a log: file or standard input, compressed or not, with their digest."""

from __future__ import annotations

import gzip
import importlib
import io
import re
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol, cast

from cache_worthy.errors import UsageError
from cache_worthy.logs.prompts import Refused
from cache_worthy.sim.errors import TraceError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

HEAD = 1 << 16
"""Bytes looked at to tell what a file is."""

BUFFER = 1 << 20
"""Bytes read at a time."""

LONGEST = 1 << 26
"""Bytes of one record at most (64 MiB): a line, a row of CSV, an element of a JSON array.

A request is far below: the largest that Anthropic's API takes is 32 MB, images included, and a
million tokens are 4 to 8 MB of text; twice that leaves space for JSON inside a JSON string, whose quotes
and line ends are written twice as long. Whatever is longer is no request but a damaged or endless
line, and would be held in memory several times over while it is parsed.
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
    (b"\x80\x02", "a Python pickle"),
    (b"\x80\x03", "a Python pickle"),
    (b"\x80\x04", "a Python pickle"),
    (b"\x80\x05", "a Python pickle"),
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


class Digest(Protocol):
    """What ``hashlib`` makes."""

    def update(self, data: bytes, /) -> None: ...


class _Tee(io.RawIOBase):
    """Raw bytes of a stream, each fed to the digest once."""

    def __init__(self, stream: IO[bytes], digest: Digest) -> None:
        self._stream, self._digest = stream, digest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer)
        data = self._stream.read(len(view))
        self._digest.update(data)
        view[: len(data)] = data
        return len(data)


class _Rejoined(io.RawIOBase):
    """A stream with its first bytes put back."""

    def __init__(self, head: bytes, stream: IO[bytes]) -> None:
        self._head, self._stream = head, stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer)
        if self._head:
            data = self._head[: len(view)]
            self._head = self._head[len(data) :]
        else:
            # read1: at a cut a longer read would throw away all that it had unpacked by then.
            data = getattr(self._stream, "read1", self._stream.read)(len(view))
        view[: len(data)] = data
        return len(data)


class Source:
    """One log as text bytes.

    Parameters
    ----------
    source : str or Path
        A file, or ``"-"`` for standard input.
    digest : object with ``update``
        Fed with the bytes as they are stored.

    Attributes
    ----------
    name : str
        As messages name it.
    cut_short : bool
        Whether compressed data ended too early (a log still being written).
    open_end : bool
        Whether the last CSV row has no line end, so that its last cell may be cut.
    longest : int
        Bytes of one record at most.
    """

    def __init__(self, source: str | Path, digest: Digest) -> None:
        self._source, self._digest = source, digest
        self.name = "<stdin>" if str(source) == "-" else str(source)
        self.cut_short = False
        self.open_end = False
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
        try:
            standard = str(self._source) == "-"
            stream: IO[bytes] = sys.stdin.buffer if standard else open(self._source, "rb")  # noqa: SIM115
            self._file = None if standard else stream
            raw = io.BufferedReader(_Tee(stream, self._digest), BUFFER)
            head = raw.read(HEAD)
            whole = rejoined(head, raw)
            packed = _is_packed(head)
            if packed:
                inner = _gzip(whole) if head.startswith(GZIP) else _zstd(whole, self.name)
                head = b"".join(_until(self.pieces(inner, 1 << 12), HEAD))
                whole = rejoined(head, inner)
        except OSError as error:
            raise self._unreadable(error) from error
        what = _TWICE if packed and _is_packed(head) else _what_else(head)
        if what is not None:
            raise Refused(f"{self.name}: {what}: {_ADVICE[what]}; {_EXPECTED}")
        if head.startswith(BOM):
            whole.read(len(BOM))
            head = head[len(BOM) :]
        return head, whole

    def _damaged(self, error: Exception) -> TraceError:
        return TraceError(
            f"{self.name}: cannot read: the compressed data is damaged, or something else follows it "
            f"({error}); unpack what can be (gzip -dc, zstd -dc) and give that"
        )

    def _unreadable(self, error: Exception) -> TraceError:
        if isinstance(error, gzip.BadGzipFile | zlib.error) or type(error).__name__ == "ZstdError":
            return self._damaged(error)
        reason = getattr(error, "strerror", None) or error
        return TraceError(
            f"{self.name}: cannot read: {reason}; expected a file of JSON lines or another log "
            "(cache-worthy formats), or - for standard input"
        )

    def pieces(self, stream: IO[bytes], size: int = HEAD) -> Iterator[bytes]:
        """Chunks of a stream; compressed data that ends too early just ends."""
        # As in _Rejoined: a longer read would throw away what comes before a cut.
        read = getattr(stream, "read1", stream.read)
        while True:
            try:
                data = read(size)
            except EOFError:
                self.cut_short = True
                return
            except (OSError, zlib.error) as error:
                raise self._unreadable(error) from error
            except Exception as error:
                if type(error).__name__ != "ZstdError":
                    raise
                raise self._unreadable(error) from error
            if not data:
                return
            yield data

    def lines(self, stream: io.BufferedReader) -> Iterator[bytes]:
        """Lines of a stream; compressed data that ends too early just ends.

        A line longer than ``longest`` comes as a :class:`LongLine`.

        Raises
        ------
        TraceError
            On damaged data, and on a line of more than ``ENDLESS`` bytes.
        """
        read, longest, number = stream.readline, self.longest, 0
        try:
            while line := read(longest):
                number += 1
                if len(line) == longest and line[-1:] != b"\n":
                    line = self._long(line, stream, number)
                yield line
        except EOFError:
            self.cut_short = True
        except (OSError, zlib.error) as error:
            raise self._unreadable(error) from error
        except Exception as error:
            if type(error).__name__ != "ZstdError":
                raise
            raise self._unreadable(error) from error

    @property
    def too_long(self) -> str:
        """What is said of a record longer than ``longest``."""
        mib = f"{self.longest / 2**20:.3g} MiB"
        return f"longer than {mib}, which no request is; expected one record a line"

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
    """What a file is that is no UTF-8 text; None where it may be."""
    at, mark = TAR
    if head[at : at + len(mark)] == mark:
        return "a tar archive"
    if TWO_BYTES.match(head):
        return "UTF-16 text"
    return next((what for magic, what in _BINARY if head.startswith(magic)), None)


def rejoined(head: bytes, stream: IO[bytes]) -> io.BufferedReader:
    """A stream with its first bytes put back."""
    return io.BufferedReader(_Rejoined(head, stream), BUFFER)


def _until(pieces: Iterator[bytes], size: int) -> Iterator[bytes]:
    total = 0
    for piece in pieces:
        yield piece
        total += len(piece)
        if total >= size:
            return


def _gzip(raw: IO[bytes]) -> IO[bytes]:
    return cast(IO[bytes], gzip.GzipFile(fileobj=raw))


def _zstd(raw: IO[bytes], name: str) -> IO[bytes]:
    """A decompressing reader: the standard library's where Python has it (3.14), else zstandard."""
    zstd = _zstd_module()
    if zstd is None:
        raise TraceError(
            f"{name}: compressed with zstd, which needs a package that is not installed; "
            "pip install 'cache-worthy[zstd]', or unpack it first"
        )
    if zstd.__name__ == "zstandard":
        reader: IO[bytes] = zstd.ZstdDecompressor().stream_reader(raw, read_across_frames=True)
    else:
        reader = zstd.ZstdFile(raw)
    return reader


def _zstd_module() -> Any:
    for module in ("compression.zstd", "zstandard"):
        try:
            return importlib.import_module(module)
        except ImportError:
            continue
    return None


def compress_zstd(data: bytes) -> bytes:
    """``data`` as one zstd frame.

    Raises
    ------
    UsageError
        If no package for it is installed.
    """
    zstd = _zstd_module()
    if zstd is None:
        raise UsageError(
            "-o: .zst needs a package that is not installed; pip install 'cache-worthy[zstd]', or "
            "write .gz"
        )
    packed: bytes = zstd.compress(data)
    return packed
