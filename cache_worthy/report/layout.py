"""How the sections of a report are laid out: titles, prose and numbers."""

from __future__ import annotations

import functools
import textwrap

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


def gib(size: int) -> str:
    """Bytes as GiB with two decimals, four under a tenth."""
    value = size / 2**30
    return f"{value:.2f} GiB" if value >= 0.1 or value == 0 else f"{value:.4f} GiB"


def gib_short(size: int) -> str:
    """Bytes in GiB with about three digits, for the head of a column."""
    value = size / 2**30
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.3g}"


def percent(value: float | None, digits: int = 1) -> str:
    """A fraction as a percentage, ``--`` where undefined."""
    return "--" if value is None else f"{100 * value:.{digits}f}%"


def ratio(value: float | None) -> str:
    """A cost ratio with four decimals, ``--`` where undefined."""
    return "--" if value is None else f"{value:.4f}"


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


def counted(number: int, noun: str, plural: str = "s") -> str:
    """A number with its noun, in the plural where it is not one."""
    return f"{number} {noun}{'' if number == 1 else plural}"
