"""Reports and tables as text of 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from cache_worthy.report.model import (
    Answer,
    Command,
    Facts,
    Figure,
    Heading,
    Part,
    Prose,
    Report,
    Section,
    Table,
    Tiles,
)

COLUMNS = 80
TEXT = 72
"""Columns of prose: a full line is hard to read."""

LABEL = 17
"""Columns of a name before its value."""

_TEXT_COLUMN = 12
"""The least width to which a column of words is wrapped."""


def render(report: Report) -> str:
    """A whole report."""
    lines = [line for section in (report.short, *report.sections) for line in _section(section)]
    lines += ["", *_wrap(report.footer, TEXT, "  ")]
    return plain("\n".join(lines) + "\n")


def render_parts(parts: Sequence[Part]) -> str:
    """Parts without a section around them: what a command prints that is no report."""
    lines = [line for part in parts for line in _part(part)]
    return plain("\n".join(lines).strip("\n") + "\n")


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


def _section(section: Section) -> list[str]:
    head = section.title.upper() + (f"   {section.about}" if section.about else "")
    first, *rest = _wrap(head, COLUMNS, "  ", "    ")
    lines = ["", first, *rest, "  " + "-" * (TEXT - 2)]
    for n, part in enumerate(section.parts):
        new = _part(part)
        if new and n == 0 and not new[0]:
            new = new[1:]  # the title has just been underlined
        lines += new
    return lines


def _part(part: Part) -> list[str]:
    """The lines of one part; a blank line stands before what begins a new thought."""
    if isinstance(part, Prose):
        return [*[""] * part.note, *_wrap(part.text, TEXT, "    ")]
    if isinstance(part, Answer):
        verdict = f"{part.verdict.upper()} {part.rest}".strip()
        return ["", *_named(part.label.upper(), verdict)]
    if isinstance(part, Heading):
        return ["", f"  {part.text}"]
    if isinstance(part, Facts):
        return [line for name, text in part.rows for line in _named(name, text)]
    if isinstance(part, Table):
        return _captioned(part)
    if isinstance(part, Figure):
        numbers = part.numbers if part.in_terminal else ()
        return [line for one in numbers for line in _captioned(one)]
    if isinstance(part, Command):
        return command_lines(part)
    if isinstance(part, Tiles):
        return []
    raise TypeError(f"{type(part).__name__} is no part of a report")


def _captioned(table: Table) -> list[str]:
    caption = _wrap(table.caption, COLUMNS, "  ") if table.caption else []
    return ["", *caption, *table_lines(table)]


def _named(name: str, text: str) -> list[str]:
    """A value behind its name."""
    if len(name) >= LABEL:
        return _wrap(text, COLUMNS, f"  {name}  ", " " * (LABEL + 2))
    return _wrap(text, COLUMNS, f"  {name:<{LABEL}}", " " * (LABEL + 2))


def command_lines(command: Command) -> list[str]:
    """Options behind a label, broken between two of them where the line would be too long."""
    indent = LABEL + 2 if command.label else 6
    lines = [f"    {command.label}".ljust(indent)]
    for n, option in enumerate(command.text.replace(" --", "\n--").splitlines()):
        if n and len(lines[-1]) + len(option) + 3 > COLUMNS:
            lines[-1] += " \\"
            lines.append(" " * indent + option)
        else:
            lines[-1] += " " * bool(n) + option
    return lines


def table_lines(table: Table) -> list[str]:
    """A table in at most 80 columns.

    Columns are as wide as they must be, two apart and one apart where that is too wide. Then spare
    columns are left out, then text is wrapped: in the last column of words, else in the first.
    """
    shown = list(range(len(table.columns)))
    cells = [[_lines(c.head) for c in table.columns]]
    cells += [[_lines(c.text) for c in row] for row in table.rows]
    room = COLUMNS - 2
    widths = _widths(cells)
    for gap in (2, 1):
        if _total(widths, shown, gap) <= room:
            break
    else:
        shown = [n for n in shown if not table.columns[n].spare]
        over = _total(widths, shown, gap) - room
        if over > 0:
            text = [n for n in shown if table.columns[n].words and n]
            column = text[-1] if text else shown[0]
            widths[column] = max(_TEXT_COLUMN, widths[column] - over)
            for row in cells:
                row[column] = [part for line in row[column] for part in _fold(line, widths[column])]
    left = {n for n in shown if table.columns[n].words}
    if not all(row[0].text[:1].isdigit() for row in table.rows):
        left.add(shown[0])  # names, and no numbers
    lines = []
    for number, row in enumerate(cells):
        height = max(len(row[n]) for n in shown)
        for level in range(height):
            parts = []
            for n in shown:
                # Heads stand on the line below them, cells below theirs.
                skip = height - len(row[n]) if number == 0 else 0
                shown_text = row[n][level - skip] if 0 <= level - skip < len(row[n]) else ""
                parts.append(f"{shown_text:{'<' if n in left else '>'}{widths[n]}}")
            lines.append(("  " + (" " * gap).join(parts)).rstrip())
    return lines


def _lines(text: str) -> list[str]:
    return plain(text).split("\n")


def _widths(cells: Sequence[Sequence[Sequence[str]]]) -> list[int]:
    return [
        max(len(line) for cell in column for line in cell) for column in zip(*cells, strict=True)
    ]


def _total(widths: Sequence[int], shown: Sequence[int], gap: int) -> int:
    return sum(widths[n] for n in shown) + gap * (len(shown) - 1)


def _fold(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, break_on_hyphens=False) or [""]


def _wrap(text: str, width: int, first: str, rest: str | None = None) -> list[str]:
    return textwrap.wrap(
        plain(text),
        width,
        initial_indent=first,
        subsequent_indent=first if rest is None else rest,
        break_on_hyphens=False,
        break_long_words=False,
    )
