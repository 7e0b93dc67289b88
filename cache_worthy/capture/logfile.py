"""The log on disk: one write per record, pieces by size; nothing is ever overwritten.

Each record is one unbuffered write, so a process that is killed leaves whole records and at most one
cut line. Nothing is synced to the disk, so a power cut may lose what the system had not written yet.
With rotation the pieces of ``log.jsonl`` are ``log-00001.jsonl``, ``log-00002.jsonl`` and so on; they
are never renamed, and their names sort in the order of the requests. If the file is moved or removed
while it is written, a new one is begun under its name, so that every record can be found.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from pathlib import Path

from cache_worthy.errors import UsageError

try:
    import fcntl
except ImportError:  # Windows: two writers are not told apart there
    fcntl = None  # type: ignore[assignment]


class LogFile:
    """An open log.

    Parameters
    ----------
    target : Path
    append : bool
        Continue a log that exists; otherwise an existing one is refused.
    piece : int or None
        Bytes after which a new piece begins; None never.

    Raises
    ------
    UsageError
        If the log exists and ``append`` is off, is in use by another writer, or cannot be made.
    """

    def __init__(self, target: Path, *, append: bool = False, piece: int | None = None) -> None:
        self._target, self._piece = target, piece
        self._handle = -1
        self._path: Path | None = None
        self._size = 0
        self._torn = False
        self._number = 0
        self.files: list[Path] = []
        """Every piece of the log, earlier runs' included: the one without a number, then in order."""
        self.files = self._existing()
        if self.files and not append:
            raise UsageError(
                f"-o {self.files[0]}: exists; a log is never overwritten: give another name, or "
                "--append to go on with it"
            )
        if not target.parent.is_dir():
            raise UsageError(f"-o {target}: no folder {target.parent}")
        try:
            if piece is None:
                self._open(target)
            else:
                self._next()
        except BlockingIOError:
            raise UsageError(f"-o {target}: another capture writes to it") from None
        except OSError as error:
            raise UsageError(f"-o {target}: cannot write: {error.strerror or error}") from error

    def _existing(self) -> list[Path]:
        regular = os.path.lexists(self._target) and not _is_stream(self._target)
        pattern = re.compile(
            rf"{re.escape(self._target.stem)}-(\d{{5,}}){re.escape(self._target.suffix)}"
        )
        found = []
        with contextlib.suppress(OSError):
            for path in self._target.parent.iterdir():
                if match := pattern.fullmatch(path.name):
                    found.append((int(match[1]), path))
        found.sort()
        if found:
            self._number = found[-1][0]
        return [self._target] * regular + [path for _, path in found]

    def _next(self) -> None:
        self._number += 1
        name = f"{self._target.stem}-{self._number:05d}{self._target.suffix}"
        self._open(self._target.with_name(name))

    def _open(self, path: Path) -> None:
        stream = _is_stream(path)
        if stream:
            handle = os.open(path, os.O_WRONLY)
        else:
            new = path not in self.files
            # Prompts may be in it: for its owner alone.
            handle = os.open(
                path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | (os.O_EXCL if new else 0), 0o600
            )
            try:
                if fcntl is not None:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self._size = os.fstat(handle).st_size
                # A run that was killed may have left half a record: the next record begins a new line.
                self._torn = self._size > 0 and _last_byte(path) != b"\n"
            except BaseException:
                os.close(handle)
                raise
            if new:
                self.files.append(path)
        self.close()
        self._handle, self._path = handle, None if stream else path

    def _follow(self) -> None:
        if self._path is None:
            return
        mine = os.fstat(self._handle)
        try:
            moved = not os.path.samestat(mine, self._path.stat())
        except OSError:
            moved = True
        if moved:
            self._open(self._path)
        else:
            self._size = mine.st_size  # others may have cut it

    def write(self, record: bytes) -> None:
        """Append whole lines.

        Raises
        ------
        OSError
            If they could not be written; what was written of them is removed again if
            possible, and otherwise ends as a line of its own.
        """
        self._follow()
        if self._piece is not None and self._size and self._size + len(record) > self._piece:
            self._next()
        rest = memoryview(b"\n" + record if self._torn else record)
        written = 0
        try:
            while written < len(rest):
                written += os.write(self._handle, rest[written:])
        except OSError:
            if written:
                self._take_back(written)
            raise
        self._size += written
        self._torn = False

    def _take_back(self, written: int) -> None:
        try:
            os.ftruncate(self._handle, self._size)
        except OSError:
            self._size += written
            self._torn = True

    def close(self) -> None:
        """Close the file."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1


def _last_byte(path: Path) -> bytes:
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1)


def _is_stream(path: Path) -> bool:
    """Whether the name is that of a device or a pipe."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)
