"""How the sections of a report are laid out: titles, prose and numbers."""

from __future__ import annotations

import functools
import textwrap

from cache_worthy.numbers import counted, gib, gib_short, percent, ratio

__all__ = ["counted", "gib", "gib_short", "percent", "ratio"]

WIDTH = 72
wrap = functools.partial(textwrap.wrap, break_on_hyphens=False)
_INDENT = "  "


def plain(text: str) -> str:
    """A report without characters that a terminal would act on; those of its lines stay.

    Names of files, models and fields are other people's: an escape sequence in one must not reach
    the terminal.

    Examples
    --------
    >>> plain("a" + chr(27) + "[1m" + chr(10) + chr(0x202e))
    'a\\\\x1b[1m\\n\\\\u202e'
    """
    if text.replace("\n", "").isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)


def title(text: str) -> list[str]:
    """The head of a section, under a blank line."""
    return ["", _INDENT + text, _INDENT + "-" * (WIDTH - 2)]


def question(number: int, answer: str) -> list[str]:
    """The answer to a question, in capitals."""
    return ["", f"  QUESTION {number}       {answer}"]


def prose(text: str) -> list[str]:
    """A paragraph."""
    return wrap(text, WIDTH, initial_indent="    ", subsequent_indent="    ")


def fact(name: str, text: str) -> list[str]:
    """A named value, aligned with its like."""
    return wrap(text, WIDTH + 8, initial_indent=f"  {name:<17}", subsequent_indent=" " * 19)
