"""The words of ``compare``: two analyses in two columns."""

from __future__ import annotations

from collections.abc import Sequence

from cache_worthy.advise.comparison import ComparedRow, ComparedSection, Comparison
from cache_worthy.advise.quantity import shown
from cache_worthy.advise.shared_pins import SharedPins
from cache_worthy.numbers import counted, gib, percent
from cache_worthy.report.layout import fact, plain, prose, title


def render_comparison(c: Comparison) -> str:
    """Both columns in 80 characters."""
    out = title("COMPARED")
    for name, side in (("A", c.a), ("B", c.b)):
        out += fact(name, f"{side.file}: {side.source}, {counted(side.requests, 'request')}")
    for s in c.settings:
        effect = f": {s.consequence}" if s.consequence else ""
        out += fact("DIFFERENT", f"{s.name}: {s.a} in A, {s.b} in B{effect}")
    out.append("")
    for text in c.changes or ("The answers are the same.",):
        out += prose(text)
    out += _tables(c.sections)
    if c.crossed:
        out += title("EACH CAPACITY ON THE OTHER'S CURVE   under lru, over compulsory")
        for x in c.crossed:
            out += fact(f"{x.asked_by}'s {gib(x.bytes)}", x.text)
    out += title("PINS")
    return plain("\n".join(out + _pins(c.pins)) + "\n")


def _tables(sections: Sequence[ComparedSection]) -> list[str]:
    """One line per quantity, marked where it differs beyond the spread."""
    out = []
    for section in (s for s in sections if s.rows):
        out += title(section.title)
        out.append(f"  {'':<28}{'A':>19}{'B':>19}{'change':>10}")
        for row in section.rows:
            line = (
                f"  {row.name:<28}{_cut(shown(row.unit, row.a)):>19}"
                f"{_cut(shown(row.unit, row.b)):>19}{change_text(row):>10}"
            )
            out.append(line + (" *" if row.beyond else ""))
    if any(row.beyond for section in sections for row in section.rows):
        out += ["", "  * beyond the spread of both logs: halves and cost coefficients"]
    return out


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


def _pins(p: SharedPins) -> list[str]:
    """The prefixes that both lists have."""
    if not p.comparable:
        return prose(f"Not compared: {p.reason}.")
    out = prose(
        f"{len(p.shared)} of {p.listed_a} in A and {p.listed_b} in B are the same prefix "
        f"({p.reason})."
    )
    if p.shared:
        out += ["", f"  {'A':<5}{'B':<5}{'references':>20}{'protects':>22}   block"]
    return out + [
        f"  #{s.rank_a:<4}#{s.rank_b:<4}{f'{s.references_a} / {s.references_b}':>20}"
        f"{f'{percent(s.protected_fraction_a)} / {percent(s.protected_fraction_b)}':>22}   "
        f"{s.block[:22]}"
        for s in p.shared
    ]
