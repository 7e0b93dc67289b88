"""The words of ``compare``: two analyses in two columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cache_worthy.advise.comparison import ComparedRow, ComparedSection, Comparison, SharedPins
from cache_worthy.numbers import counted, gib, percent, shown
from cache_worthy.report.model import Column, Facts, Part, Prose, Section, table


def sections(c: Comparison) -> tuple[Section, ...]:
    """What is compared, what differs, and both columns of every section."""
    sides = tuple(
        (name, f"{side.file}: {side.source}, {counted(side.requests, 'request')}")
        for name, side in (("A", c.a), ("B", c.b))
    )
    settings = tuple(
        (
            "DIFFERENT",
            f"{s.name}: {s.a} in A, {s.b} in B" + (f": {s.consequence}" if s.consequence else ""),
        )
        for s in c.settings
    )
    changes = c.changes or ("The answers are the same.",)
    head = Section(
        "compared",
        "Compared",
        about="",
        parts=(Facts("sides", sides + settings), *(Prose(text) for text in changes)),
    )
    return (
        head,
        *_tables(c.sections),
        *_crossed(c),
        Section("pins", "Pins", about="", parts=_pins(c.pins)),
    )


def _tables(compared: Sequence[ComparedSection]) -> Iterator[Section]:
    """One line per quantity, marked where it differs beyond the spread."""
    filled = [s for s in compared if s.rows]
    marked = any(row.beyond for section in filled for row in section.rows)
    for n, section in enumerate(filled):
        key = f"compared-{n}"
        rows = table(
            f"{key}-table",
            "",
            columns=(Column("", words=True), "A", "B", "change", Column("", words=True)),
            rows=(
                (
                    row.name,
                    _cut(shown(row.unit, row.a)),
                    _cut(shown(row.unit, row.b)),
                    change_text(row),
                    "*" if row.beyond else "",
                )
                for row in section.rows
            ),
        )
        note = "* beyond the spread of both logs: halves and cost coefficients"
        last = marked and n == len(filled) - 1
        yield Section(
            key, section.title, about="", parts=(rows, Prose(note, note=True)) if last else (rows,)
        )


def _crossed(c: Comparison) -> Iterator[Section]:
    if c.crossed:
        facts = tuple((f"{x.asked_by}'s {gib(x.bytes)}", x.text) for x in c.crossed)
        yield Section(
            "crossed",
            "Each capacity on the other's curve",
            about="under lru, over compulsory",
            parts=(Facts("crossed-facts", facts),),
        )


def change_text(row: ComparedRow) -> str:
    """The change as the table shows it: points of a share, percent of other numbers.

    Examples
    --------
    >>> change_text(ComparedRow("x", "share", 0.1, 0.15, 0.05, None))
    '+5.0 pts'
    >>> change_text(ComparedRow("x", "bytes", 10, 5, -0.5, None))
    '-50.0%'
    >>> change_text(ComparedRow("x", "words", "lru", "gdsf", None, None))
    'other'
    """
    if row.a == row.b:
        return "="
    if row.change is None:
        return "other"
    if row.unit == "share":
        return f"{100 * row.change:+.1f} pts"
    return f"{100 * row.change:+.1f}%" if abs(row.change) < 100 else f"x{1 + row.change:.3g}"


def _cut(text: str) -> str:
    return text if len(text) <= 18 else text[:16] + ".."


def _pins(p: SharedPins) -> tuple[Part, ...]:
    """The prefixes that both lists have."""
    if not p.comparable:
        return (Prose(f"Not compared: {p.reason}."),)
    text = Prose(
        f"{len(p.shared)} of {p.listed_a} in A and {p.listed_b} in B are the same prefix "
        f"({p.reason})."
    )
    if not p.shared:
        return (text,)
    rows = table(
        "shared-pins",
        "",
        columns=("A", "B", "references", "protects", Column("block", words=True)),
        rows=(
            (
                f"#{s.rank_a}",
                f"#{s.rank_b}",
                f"{s.references_a} / {s.references_b}",
                f"{percent(s.protected_fraction_a)} / {percent(s.protected_fraction_b)}",
                s.block[:22],
            )
            for s in p.shared
        ),
    )
    return (text, rows)
