"""What a report says, before anything writes it: sections of prose, facts, tables, figures, commands.

The words of a section are a function from its result to a :class:`Section`; the terminal writer and the
HTML writer render every section. All text is plain: the writers escape it. Keys are unique in a report.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TypeVar

from cache_worthy.report.drawing import Drawing

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Prose:
    """A paragraph; a ``note`` explains a table and may be set smaller."""

    text: str
    note: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a question of the advisor.

    ``label`` is "Question 3", for instance; ``verdict`` a few words, in capitals in a terminal; ``rest``
    the figures behind them.
    """

    label: str
    verdict: str
    rest: str = ""

    @property
    def text(self) -> str:
        """Verdict and figures."""
        return f"{self.verdict} {self.rest}".strip()


@dataclass(frozen=True, slots=True)
class Heading:
    """The head of a part of a section."""

    text: str


@dataclass(frozen=True, slots=True)
class Facts:
    """Named values."""

    key: str
    rows: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Tile:
    """A figure to be seen first: name, value, and what it is of."""

    name: str
    value: str
    unit: str


@dataclass(frozen=True, slots=True)
class Tiles:
    """The figures of the head; a terminal has them in the sentences beside it."""

    tiles: tuple[Tile, ...]


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table; a ``share`` is drawn as a bar on a page, 1 being the width of the cell."""

    text: str
    cheapest: bool = False
    share: float | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Attributes
    ----------
    head : str
        Lines are separated by a line feed.
    words : bool
        Text, aligned left; the last such column may be wrapped.
    spare : bool
        Left out where a terminal is too narrow for all columns.
    """

    head: str
    words: bool = False
    spare: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A table; the first column names its rows, ``chosen`` is the row to be seen first."""

    key: str
    caption: str
    _: KW_ONLY
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    chosen: int | None = None


def table(
    key: str,
    caption: str,
    *,
    columns: Sequence[str | Column],
    rows: Iterable[Sequence[str | Cell]],
    chosen: int | None = None,
) -> Table:
    """A table of plain strings, where nothing more need be said of a column or a cell.

    Raises
    ------
    ValueError
        If a row has more or fewer cells than there are columns.
    """
    heads = tuple(c if isinstance(c, Column) else Column(c) for c in columns)
    cells = tuple(tuple(c if isinstance(c, Cell) else Cell(c) for c in row) for row in rows)
    for row in cells:
        if len(row) != len(heads):
            raise ValueError(f"table {key}: {len(row)} cells in a row, {len(heads)} columns")
    return Table(key, caption, columns=heads, rows=cells, chosen=chosen)


def table_of(
    key: str,
    items: Iterable[T],
    *,
    columns: Mapping[str | Column, Callable[[T], str | Cell]],
    caption: str = "",
    chosen: int | None = None,
) -> Table:
    """One row per item; of each column its head, and the function that gives its cells."""
    rows = ([cell(item) for cell in columns.values()] for item in items)
    return table(key, caption, columns=tuple(columns), rows=rows, chosen=chosen)


@dataclass(frozen=True, slots=True)
class Legend:
    """A mark of a figure and its words; shape and colour are names that charts know."""

    shape: str
    colour: str
    words: str


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure, and its numbers in tables.

    Attributes
    ----------
    title, description : str
        The text alternative.
    draw : callable
        Of :mod:`cache_worthy.report.charts`: the drawing for a wide page, or a narrow one.
    numbers : tuple of Table
        Folded below the figure on a page; what a terminal shows instead of it, if ``in_terminal``.
    """

    title: str
    description: str
    _: KW_ONLY
    draw: Callable[[bool], Drawing]
    numbers: tuple[Table, ...]
    caption: str
    legend: tuple[Legend, ...] = ()
    in_terminal: bool = True


@dataclass(frozen=True, slots=True)
class Command:
    """Something to type, behind a word ("type", "or", "at least", "")."""

    label: str
    text: str


Part = Prose | Answer | Heading | Facts | Tiles | Table | Figure | Command


@dataclass(frozen=True, slots=True)
class Section:
    """One section; ``about`` is what the title alone does not say.

    The words of a section leave ``key`` (the anchor on a page) and ``title`` to the registry.
    """

    key: str = ""
    title: str = ""
    _: KW_ONLY
    about: str = ""
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """A whole report.

    Attributes
    ----------
    title, source, about : str
        The head of a page: what it is, of which log, how many requests.
    short : Section
        The answers, first.
    sections : tuple of Section
    footer : str
        What the numbers are not.
    document : str
        The JSON document of the same result, for a page to carry along.

    Raises
    ------
    ValueError
        If two sections, tables or facts have the same key.
    """

    title: str
    source: str
    about: str
    short: Section
    sections: tuple[Section, ...]
    footer: str
    document: str

    def __post_init__(self) -> None:
        """Keys are anchors of a page."""
        twice = [key for key, n in Counter(self._keys()).items() if n > 1]
        if twice:
            raise ValueError(f"keys that occur twice in a report: {', '.join(twice)}")

    def _keys(self) -> Iterator[str]:
        for section in (self.short, *self.sections):
            yield section.key
            for part in section.parts:
                tables = part.numbers if isinstance(part, Figure) else (part,)
                yield from (p.key for p in tables if isinstance(p, Facts | Table))
