"""Reports and tables as text of 80 columns."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence

from cache_worthy.console import TERMINAL, columns, one_line, plain, wrap
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

TEXT = 72
"""Columns of prose: a full line is hard to read."""

LABEL = 17
"""The least columns of a name before its value; longer names move the values of their like."""

_LONGEST_LABEL = 28
"""The most; a name that is longer stands on a line of its own."""

_TEXT_COLUMN = 12
"""The least width to which a column of words is wrapped."""


def render(report: Report) -> str:
    """A whole report."""
    footer = _wrap(report.footer, TEXT, first="  ")
    return render_sections((report.short, *report.sections)) + "\n" + "\n".join(footer) + "\n"


def render_sections(sections: Iterable[Section]) -> str:
    """Sections one after another."""
    return "\n".join(line for section in sections for line in _section(section)) + "\n"


def render_parts(parts: Sequence[Part]) -> str:
    """Parts without a section around them: what a command prints that is no report."""
    return "\n".join(_parts(parts)) + "\n"


def _section(section: Section) -> Iterator[str]:
    head = section.title.upper() + (f"   {section.about}" if section.about else "")
    yield ""
    yield from _wrap(head, TERMINAL, first="  ", rest="    ")
    yield "  " + "-" * (TEXT - 2)
    yield from _parts(section.parts)


def _parts(parts: Sequence[Part]) -> Iterator[str]:
    """The lines of parts, and a blank line before what begins a new thought."""
    before: Part | None = None
    for part in parts:
        lines = list(_part(part))
        if not lines:
            continue
        if before is not None and (_apart(before) or _apart(part) or _heads(part)):
            yield ""
        yield from lines
        before = part


def _apart(part: Part) -> bool:
    """Whether blank lines stand around a part."""
    return isinstance(part, Table | Figure) or (isinstance(part, Prose) and part.note)


def _heads(part: Part) -> bool:
    """Whether a blank line stands before a part, and none behind it."""
    return isinstance(part, Answer | Heading)


def _part(part: Part) -> Sequence[str]:
    """The lines of one part."""
    if isinstance(part, Prose):
        return _wrap(part.text, TEXT, first="    ")
    if isinstance(part, Answer):
        return _named(part.label.upper(), f"{part.verdict.upper()} {part.rest}".strip())
    if isinstance(part, Heading):
        lines = _wrap(part.text, TERMINAL, first="  ")
        return [*lines, "  " + "-" * (max(map(columns, lines), default=2) - 2)]
    if isinstance(part, Facts):
        column = max((columns(plain(name)) + 2 for name, _ in part.rows), default=0)
        column = max(LABEL, min(column, _LONGEST_LABEL))
        return [line for name, text in part.rows for line in _named(name, text, column)]
    if isinstance(part, Table):
        return _captioned(part)
    if isinstance(part, Figure):
        return list(_parts(part.numbers if part.in_terminal else ()))
    if isinstance(part, Command):
        return command_lines(part)
    if isinstance(part, Tiles):
        return []
    raise TypeError(f"{type(part).__name__} is no part of a report")


def _captioned(table: Table) -> list[str]:
    caption = _wrap(table.caption, TERMINAL, first="  ") if table.caption else []
    return [*caption, *table_lines(table)]


def _named(name: str, text: str, column: int = LABEL) -> list[str]:
    """A value behind its name, or below it where the name is too long."""
    name, indent = plain(name), " " * (column + 2)
    if columns(name) + 2 > column:
        own = _wrap(name, TERMINAL, first="  ", rest="    ")
        return [*own, *_wrap(text, TERMINAL, first=indent)]
    return _wrap(text, TERMINAL, first=f"  {_left(name, column)}", rest=indent)


def command_lines(command: Command) -> list[str]:
    """Options behind a label, broken between two of them where the line would be too long."""
    indent = LABEL + 2 if command.label else 6
    lines = [_left(f"    {plain(command.label)}", indent)]
    for n, option in enumerate(
        plain(command.text, sys.maxsize).replace(" --", "\n--").splitlines()
    ):
        if n and columns(lines[-1]) + columns(option) + 3 > TERMINAL:
            lines[-1] += " \\"
            lines.append(" " * indent + option)
        else:
            lines[-1] += " " * bool(n) + option
    return lines


def table_lines(table: Table) -> list[str]:
    """A table in at most 80 columns.

    Columns are as wide as they must be, two apart and one apart where that is too wide. Then spare
    columns are left out, then text is wrapped, the last column of words first, the names of the rows
    at the end.
    """
    cells = [[plain(c.head).split("\n") for c in table.columns]]
    cells += [[[one_line(c.text)] for c in row] for row in table.rows]
    widths = [
        max(columns(line) for cell in column for line in cell)
        for column in zip(*cells, strict=True)
    ]
    shown, gap = _fit(table, widths)
    names = shown[0]
    words = [n for n in shown if table.columns[n].words and n != names]
    for n in (*reversed(words), names):
        over = _total(widths, shown, gap) - (TERMINAL - 2)
        if over > 0:
            widths[n] = max(min(widths[n], _TEXT_COLUMN), widths[n] - over)
            for row in cells:
                row[n] = [part for line in row[n] for part in _fold(line, widths[n])]
            widths[n] = max(columns(line) for row in cells for line in row[n])
    left = {*words}
    if not all(row[names].text[:1].isdigit() for row in table.rows):
        left.add(names)  # names, and no numbers
    lines = []
    for number, row in enumerate(cells):
        height = max(len(row[n]) for n in shown)
        for level in range(height):
            # Heads stand on the line below them, cells below theirs.
            line = []
            for n in shown:
                text = _at(row[n], level - (height - len(row[n])) * (number == 0))
                line.append((_left if n in left else _right)(text, widths[n]))
            lines.append(f"  {(' ' * gap).join(line)}".rstrip())
    return lines


def _fit(table: Table, widths: Sequence[int]) -> tuple[list[int], int]:
    """The columns that are shown, and the spaces between them."""
    everything = list(range(len(table.columns)))
    needed = [n for n in everything if not table.columns[n].spare]
    for shown in (everything, needed):
        for gap in (2, 1):
            if _total(widths, shown, gap) <= TERMINAL - 2:
                return shown, gap
    return needed, 1


def _total(widths: Sequence[int], shown: Sequence[int], gap: int) -> int:
    return sum(widths[n] for n in shown) + gap * (len(shown) - 1)


def _at(lines: Sequence[str], level: int) -> str:
    return lines[level] if 0 <= level < len(lines) else ""


def _left(text: str, width: int) -> str:
    return text + " " * (width - columns(text))


def _right(text: str, width: int) -> str:
    return " " * (width - columns(text)) + text


def _fold(text: str, width: int) -> list[str]:
    """Lines of a cell, broken behind a colon where there is one: MODULE:CLASS is a long name."""
    if columns(text) <= width:
        return [text]
    pieces = re.split(r"(?<=:)(?=\S)", text)
    return [line for p in pieces for line in wrap(p, width)]


def _wrap(text: str, width: int, *, first: str, rest: str | None = None) -> list[str]:
    return wrap(plain(text), width, first=first, rest=first if rest is None else rest)
