"""Reports of logs as the command line makes them: the model, what the two writers wrote, the JSON."""

from __future__ import annotations

import functools
import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from cache_worthy.cli import main
from cache_worthy.report import build as building
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

Document = dict[str, Any]


@dataclass(frozen=True)
class Made:
    """One run of ``analyze``: its report, printed and as a page, and its ``--json``."""

    report: Report
    text: str
    page: str
    json: str

    @property
    def document(self) -> Document:
        """The JSON document, anew each time."""
        found: Document = json.loads(self.json, parse_constant=_refuse)
        return found


def _refuse(constant: str) -> float:
    raise AssertionError(f"{constant} in strict JSON")


@functools.cache
def made(*argv: object) -> Made:
    """What ``analyze`` makes of a log; once for each list of arguments."""
    reports: list[Report] = []
    build = building.build

    def keep(*args: Any, **kwargs: Any) -> Report:
        reports.append(build(*args, **kwargs))
        return reports[-1]

    with tempfile.TemporaryDirectory() as folder:
        text, page, document = (Path(folder) / name for name in ("r.txt", "r.html", "r.json"))
        words = [str(a) for a in argv]
        with mock.patch.object(building, "build", keep):
            assert main(["analyze", *words, "-q", "-o", str(text), "--html", str(page)]) == 0
        (report,) = reports
        assert main(["analyze", *words, "-q", "-o", str(document), "--json"]) == 0
        return Made(
            report,
            text.read_text(encoding="utf-8"),
            page.read_text(encoding="utf-8"),
            document.read_text(encoding="utf-8"),
        )


class Read:
    """The parts of a report by their keys."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.sections: dict[str, Section] = {}
        self.models: dict[str, Table] = {}
        self.facts: dict[str, list[tuple[str, str]]] = {}
        self.figures: dict[str, Figure] = {}
        for section in (report.short, *report.sections):
            self.sections[section.key] = section
            for part in section.parts:
                if isinstance(part, Facts):
                    self.facts[part.key] = list(part.rows)
                elif isinstance(part, Figure):
                    self.figures[part.title] = part
                self.models |= {t.key: t for t in tables_of(part)}

    def head(self, key: str) -> list[str]:
        """Heads of a table's columns, a space where their lines break."""
        return [c.head.replace("\n", " ") for c in self.models[key].columns]

    def rows(self, key: str) -> list[list[str]]:
        """Cells of a table."""
        return [[c.text for c in row] for row in self.models[key].rows]

    def chart(self, title: str) -> Any:
        """The data of a figure."""
        return self.figures[title].draw

    def prose(self, key: str) -> str:
        """Answers, paragraphs and commands of a section."""
        return " ".join(s for part in self.sections[key].parts for s in sentences(part))

    def strings(self) -> Iterator[str]:
        """All text of the report."""
        report = self.report
        yield from (report.title, report.source, report.about, report.footer)
        for section in self.sections.values():
            yield from (section.title, section.about, self.prose(section.key))
        for rows in self.facts.values():
            yield from (text for row in rows for text in row)
        for table in self.models.values():
            yield from (table.caption, *(c.head for c in table.columns))
            yield from (cell.text for row in table.rows for cell in row)
        for figure in self.figures.values():
            yield from (figure.title, figure.description, figure.caption)
            yield from (item.words for item in figure.legend)


def tables_of(part: Part) -> tuple[Table, ...]:
    """The tables of a part."""
    if isinstance(part, Figure):
        return part.numbers
    return (part,) if isinstance(part, Table) else ()


def sentences(part: Part) -> Iterator[str]:
    """Text that stands in no table and no list."""
    if isinstance(part, Prose | Heading):
        yield part.text
    elif isinstance(part, Answer):
        yield f"{part.label}: {part.text}"
    elif isinstance(part, Command):
        yield f"{part.label} {part.text}"
    elif isinstance(part, Tiles):
        yield from (f"{t.name} {t.value} {t.unit}" for t in part.tiles)


def gib(size: int) -> str:
    """An amount of memory, written anew."""
    value = size / 2**30
    return f"{value:.2f} GiB" if value >= 0.1 or value == 0 else f"{value:.4f} GiB"


def percent(value: float | None, digits: int = 1) -> str:
    """A share, written anew."""
    return "--" if value is None else f"{100 * value:.{digits}f}%"


def ratio(value: float | None) -> str:
    """A cost ratio, written anew."""
    return "--" if value is None else f"{value:.4f}"


def span(low: float, high: float, digits: int = 1) -> str:
    """Two shares, one where they look the same."""
    one, two = percent(low, digits), percent(high, digits)
    return one if one == two else f"{one} to {two}"


def counted(number: int, noun: str, plural: str = "s") -> str:
    """A number and its noun."""
    return f"{number} {noun}{'' if number == 1 else plural}"


def short_gib(size: int) -> str:
    """GiB with about three digits and no unit, written anew."""
    value = size / 2**30
    digits = 0 if value >= 100 else 1
    return f"{value:.{digits}f}" if value >= 10 else f"{value:.3g}"
