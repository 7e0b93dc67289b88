"""Results to stdout or a file, notes and progress to stderr."""

from __future__ import annotations

import contextlib
import math
import os
import re
import stat
import sys
import tempfile
import threading
import time
import unicodedata
from pathlib import Path

from cache_worthy.errors import UsageError

TERMINAL = 80
"""Columns that lists and tables keep to."""

LONGEST = 1000
"""Columns of one message or one text of a report; nothing that this program says is as long."""


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


def plain(text: str, most: int = LONGEST) -> str:
    """A text that is safe to print: no control characters, at most ``most`` columns.

    Names and messages come from other people's files, and an escape sequence in one must not act on
    the terminal. Line feeds stay; of a text that is too long the middle is left out.

    Examples
    --------
    >>> plain("a" + chr(27) + "[1m" + chr(0x202e)), plain("abcdefghijkl", 9)
    ('a\\\\x1b[1m\\\\u202e', 'ab ... kl')
    """
    if not text.replace("\n", "").isprintable():
        text = "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)
    if columns(text) <= most:
        return text
    half = (most - 5) // 2
    return f"{_start(text, half)} ... {_start(text[::-1], half)[::-1]}"


def one_line(text: str, most: int = LONGEST) -> str:
    """A message as :func:`plain` text on one line.

    Examples
    --------
    >>> one_line("of two lines\\n  the second")
    'of two lines; the second'
    """
    return plain("; ".join(line.strip() for line in text.splitlines() if line.strip()), most)


def columns(text: str) -> int:
    """Columns of a terminal: two of a wide East Asian character, none of a combining one.

    Examples
    --------
    >>> columns("ab"), columns(chr(0x4e2d)), columns("e" + chr(0x301))
    (2, 2, 1)
    """
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF")
        for c in text
    )


def _start(text: str, width: int) -> str:
    """The longest beginning of at most ``width`` columns."""
    used = 0
    for n, character in enumerate(text):
        used += columns(character)
        if used > width:
            return text[:n]
    return text


def wrap(text: str, width: int = TERMINAL, *, first: str = "", rest: str = "") -> list[str]:
    """Lines of at most ``width`` columns behind ``first`` and then ``rest``.

    A word that no line can hold is broken.

    Examples
    --------
    >>> wrap("one two three four", 9, first="  ", rest="    ")
    ['  one two', '    three', '    four']
    """
    lines, line, empty = [], first, True
    for space, word in re.findall(r"(\s*)(\S+)", text):
        gap = "" if empty else " " * len(space)
        if not empty and columns(line + gap + word) > width:
            lines.append(line)
            line, gap = rest, ""
        while columns(line + gap + word) > width:
            piece = _start(word, max(2, width - columns(line)))
            lines.append(line + piece)
            line, word = rest, word[len(piece) :]
        line, empty = line + gap + word, False
    return [*lines, line.rstrip()] if line.strip() else lines


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
            self._text = one_line(text, TERMINAL - 1)
            if self._shown and time.monotonic() - self._last > 0.2:
                self._write(f"\r\x1b[K{self._text}")

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
    """At most two lines on stderr unless quiet; a broken stderr costs the note, not the result."""
    if not quiet:
        first, _, hint = text.strip().partition("\n")
        lines = [one_line(first), *([f"  {one_line(hint)}"] if hint else [])]
        with contextlib.suppress(OSError):
            print("cache-worthy: " + "\n".join(lines), file=sys.stderr, flush=True)
