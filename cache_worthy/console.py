"""Results to stdout or a file, notes and progress to stderr."""

from __future__ import annotations

import contextlib
import math
import os
import stat
import sys
import tempfile
import textwrap
import threading
import time
from pathlib import Path

from cache_worthy.errors import UsageError

TERMINAL = 80
"""Columns that lists and tables keep to."""


def check_output(target: str, force: bool, flag: str = "-o") -> None:
    """Refuse early what :func:`write_output` would refuse, before any work is done.

    ``flag`` is the option that named the file.
    """
    if target == "-":
        return
    path = Path(target)
    if path.is_dir():
        raise UsageError(f"{flag} {target}: is a folder; expected a file name")
    if os.path.lexists(path) and not force:  # a link counts, wherever it points
        raise UsageError(f"{flag} {target}: exists; give --force to overwrite it")
    if not path.parent.is_dir():
        raise UsageError(f"{flag} {target}: no folder {path.parent}")


def write_output(text: str | bytes, target: str, force: bool, flag: str = "-o") -> None:
    """Write ``text`` (UTF-8, or bytes as they are) to stdout or, whole or not at all, to a file.

    Raises
    ------
    UsageError
        If the file exists and ``force`` is false, or cannot be written.
    """
    if target == "-":
        if isinstance(text, str):
            sys.stdout.write(text)
        else:
            sys.stdout.buffer.write(text)
        return
    data = text.encode("utf-8") if isinstance(text, str) else text
    check_output(target, force, flag)
    path = Path(target)
    try:
        if path.exists() and not path.is_file():  # a device or a pipe cannot be replaced
            path.write_bytes(data)
            return
        path = path.resolve()  # a link stays one; what it points to is replaced
        mode = path.stat().st_mode if path.exists() else None
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".cache-worthy-")
        try:
            with os.fdopen(handle, "wb") as out:
                out.write(data)
            umask = os.umask(0)
            os.umask(umask)
            os.chmod(temporary, 0o666 & ~umask if mode is None else stat.S_IMODE(mode))
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise UsageError(f"{flag} {target}: cannot write: {error.strerror or error}") from error


def wrapped(text: str, first: str = "", then: str = "", *, width: int = TERMINAL) -> str:
    """``text`` in lines of at most ``width`` columns; a word that is longer stays whole.

    Examples
    --------
    >>> print(wrapped("word " * 16, "name  ", " " * 6))
    name  word word word word word word word word word word word word word word word
          word
    """
    lines = textwrap.wrap(
        text,
        width,
        initial_indent=first,
        subsequent_indent=then,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(lines)


class Progress:
    """Steps on stderr.

    On a terminal, once a command has run for two seconds, as one live line; with ``verbose``
    every step as a line of its own.
    """

    AFTER = 2.0
    """Seconds."""

    def __init__(self, quiet: bool = False, verbose: bool = False) -> None:
        self._verbose = verbose
        self._live = not quiet and not verbose and sys.stderr.isatty()
        self._text = ""
        self._last = -math.inf
        self._shown = self._over = False
        self._lock = threading.Lock()
        # The step that takes long may be the first one: machine code is compiled in it.
        self._timer = threading.Timer(self.AFTER, self._begin)
        self._timer.daemon = True
        if self._live:
            self._timer.start()

    def step(self, text: str) -> None:
        """Show what is being done now."""
        if self._verbose:
            note(text, quiet=False)
            return
        with self._lock:
            self._text = text
            if self._shown and time.monotonic() - self._last > 0.2:
                self._write(f"\r\x1b[K{text}")

    def _begin(self) -> None:
        with self._lock:
            if not self._over:
                self._shown = True
                self._write(f"\r\x1b[K{self._text}")

    def _write(self, text: str) -> None:
        self._last = time.monotonic()
        with contextlib.suppress(OSError):
            sys.stderr.write(text)
            sys.stderr.flush()

    def done(self) -> None:
        """Clear the line."""
        self._timer.cancel()
        with self._lock:
            self._over = True
            if self._shown:
                self._shown = False
                self._write("\r\x1b[K")


def note(text: str, quiet: bool) -> None:
    """One line on stderr unless quiet; a broken stderr costs the note, not the result."""
    if not quiet:
        with contextlib.suppress(OSError):
            print(f"cache-worthy: {text}", file=sys.stderr, flush=True)
