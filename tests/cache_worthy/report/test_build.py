"""How a report is put together: keys, order, and one module of words for each section."""

from __future__ import annotations

from pathlib import Path

import pytest
from reports import Read, made, tables_of

from cache_worthy.advise.sections import SECTIONS
from cache_worthy.report.model import (
    Facts,
    Figure,
    Part,
    Prose,
    Report,
    Section,
    table,
)

#: The sections of a report, in its order.
ORDER = tuple(s.name for s in sorted(SECTIONS, key=lambda s: s.place) if s.shown)

ROOT = Path(__file__).resolve().parents[3]
SAMPLE = ROOT / "examples" / "sample_log.jsonl"


def test_a_row_has_as_many_cells_as_there_are_columns() -> None:
    with pytest.raises(ValueError, match="table t: 1 cells in a row, 2 columns"):
        table("t", "", columns=("a", "b"), rows=[("1", "2"), ("1",)])


def small(key: str) -> Part:
    return table(key, "", columns=("a",), rows=[("1",)])


def figure(key: str) -> Part:
    numbers = (table(key, "", columns=("a",), rows=()),)
    return Figure("t", "d", draw=None, numbers=numbers, caption="c")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("parts", "twice"),
    [
        ((small("a"), small("a")), "a"),
        ((small("a"), Facts("a", ())), "a"),
        ((small("a"), figure("a")), "a"),
        ((figure("b"), figure("b"), small("a"), Facts("a", ())), "b, a"),
        ((small("short"),), "short"),
        ((small("other"),), "other"),
    ],
)
def test_no_two_keys_are_the_same(parts: tuple[Part, ...], twice: str) -> None:
    """Keys are anchors of the page, and what tests and readers find a table by."""
    short, other = Section("short", "Short", parts=parts), Section("other", "Other", parts=())
    with pytest.raises(ValueError, match=f"^keys that occur twice in a report: {twice}$"):
        Report("t", "s", "a", short, (other,), "f", "{}")
    apart = Section("short", "Short", parts=(small("a"), Facts("b", ()), figure("c"), Prose("a")))
    assert Report("t", "s", "a", apart, (other,), "f", "{}").short is apart


def test_words_of_every_section_are_asked_for() -> None:
    """Every section of the registry has its words, and no others are there."""
    folder = ROOT / "cache_worthy" / "report" / "words"
    sections = {
        path.stem for path in folder.glob("*.py") if "\ndef words(" in path.read_text("utf-8")
    }
    assert sections == {*ORDER, "short"}
    assert len(set(ORDER)) == len(ORDER)


def test_sections_stand_in_order_under_their_names() -> None:
    report = made(SAMPLE).report
    assert report.short.key == "short"
    keys = [section.key for section in report.sections]
    assert keys == [name for name in ORDER if name in keys]
    assert set(ORDER) - set(keys) == {"sample", "engine"}
    assert all(section.parts for section in report.sections)


def test_every_table_of_a_run_is_found_by_its_key() -> None:
    report = made(SAMPLE).report
    read = Read(report)
    count = sum(len(tables_of(part)) for s in report.sections for part in s.parts)
    assert len(read.models) == count > 10
