"""What a report says, before anything writes it: sections of prose, facts, tables, figures, commands.

The words of a section are written once, as a function from results to a :class:`Section`; the terminal
writer and the HTML writer render every section. All text is plain: the writers escape it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass

from cache_worthy.report.drawing import Drawing


@dataclass(frozen=True, slots=True)
class Prose:
    """A paragraph; a ``note`` explains a table and may be set smaller."""

    text: str
    note: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a question of the advisor.

    Attributes
    ----------
    label : str
        "Question 3", for instance.
    verdict : str
        A few words; the terminal sets them in capitals.
    rest : str
        Figures behind the verdict, set as they are.
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
    """Named values; ``key`` is unique in a report."""

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
    """A cell of a table.

    Attributes
    ----------
    text : str
    cheapest : bool
        Set apart by colour where there is any.
    share : float or None
        Drawn as a bar where there is room, 1 being the width of the cell.
    """

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
        Text, set to the left; the last such column may be wrapped.
    spare : bool
        Left out where a terminal is too narrow for all columns.
    """

    head: str
    words: bool = False
    spare: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A table; the first column names its rows.

    Attributes
    ----------
    key : str
        Unique in a report.
    caption : str
    columns : tuple of Column
    rows : tuple of tuple of Cell
        As many cells as columns.
    chosen : int or None
        The row to be seen first.
    """

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
        Folded below the figure on a page; what a terminal shows instead of it.
    caption : str
    legend : tuple of Legend
    in_terminal : bool
        Whether a terminal shows the numbers.
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
class Words:
    """What the words of a section give; its name and title are those of the registry.

    Attributes
    ----------
    about : str
        What the title alone does not say.
    parts : tuple of Part
    """

    _: KW_ONLY
    about: str = ""
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Section:
    """One section.

    Attributes
    ----------
    key : str
        Unique in a report; the anchor on a page.
    title : str
    about : str
        What the title alone does not say.
    parts : tuple of Part
    """

    key: str
    title: str
    _: KW_ONLY
    about: str = ""
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """A whole report.

    Attributes
    ----------
    title, source, about : str
        The head of a page: what it is, of which log, counted how.
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
