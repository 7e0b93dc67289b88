"""What the sensitivity band says beside other answers."""

from __future__ import annotations

from collections.abc import Sequence

from cache_worthy.advise.band import Band
from cache_worthy.advise.members import BoundBand, PolicyBand
from cache_worthy.advise.policy_table import PolicyRow
from cache_worthy.numbers import between, percent

HOLDS = "holds across the band"


def flip_text(flips: Sequence[str]) -> str:
    """Whether a verdict survives."""
    return f"flips under {', '.join(flips)}" if flips else HOLDS


def ceiling_range(band: Band) -> str:
    """The ceilings of question 1."""
    return between(band.ceiling.low, band.ceiling.high)


def ceiling_mark(band: Band | None) -> str:
    """Whether the verdict of question 1 survives, and the ceilings."""
    if band is None:
        return ""
    return f" The verdict {flip_text(band.ceiling.flips)} ({ceiling_range(band)})."


def capacity_range(band: Band, digits: int = 1) -> str:
    """The recommended fractions of question 3."""
    c = band.capacity
    return "--" if c is None else between(c.low_fraction, c.high_fraction, digits)


def capacity_mark(band: Band | None) -> str:
    """Whether the recommended capacity survives."""
    if band is None or band.capacity is None:
        return ""
    if not band.capacity.flips:
        return f" {HOLDS.capitalize()}."
    return (
        f" Across the band: {capacity_range(band, 2)} (flips under "
        f"{', '.join(band.capacity.flips)})."
    )


def verdict(row: PolicyBand, plain: str) -> str:
    """A verdict of question 5 with its mark; no winner is named where none wins throughout."""
    if row.best is None:
        named = f"; {row.candidate} would save {saving_range(row)}" if row.candidate else ""
        plain = f"cannot be told apart: {', '.join(row.tied)}{named}."
    change = "Changing" if row.candidate else "Staying"
    return f"{plain} {change} {flip_text(row.flips)}."


def advice_mark(row: PolicyBand) -> str:
    """For the head of the report: what does not survive; nothing where all does."""
    parts = []
    if row.candidate and row.best is None:
        parts.append(f"cannot be told apart: {', '.join(row.tied)}")
    if row.flips:
        parts.append(flip_text(row.flips))
    return f" ({'; '.join(parts)})" if parts else ""


def bound_mark(rows: Sequence[BoundBand]) -> str:
    """Where question 4's word holds, and how that is known."""
    texts: dict[str, list[str]] = {}
    for row in rows:
        text = {
            "every cost function": "holds under every cost function (a schedule loads no block twice)",
            "recomputed": flip_text(row.flips),
            "not recomputed": "not recomputed",
        }[row.reach]
        texts.setdefault(text, []).append(percent(row.fraction))
    return "; ".join(f"{text} at {', '.join(at)}" for text, at in texts.items())


def pin_flip(band: Band | None) -> str:
    """For the head of the report: the end of the sentence on pins."""
    if band is None or band.pin is None or not band.pin.flips:
        return "."
    return f" (the first {flip_text(band.pin.flips)})."


def pin_mark(band: Band | None) -> str:
    """Whether the top prefix stays the top prefix."""
    if band is None or band.pin is None:
        return ""
    return f" Rank #0 {flip_text(band.pin.flips)} ({between(band.pin.low, band.pin.high)})."


def cheapest(row: PolicyBand) -> str:
    """The policy that is cheapest under all members, or those that tie."""
    return row.best if row.best is not None else f"tie: {', '.join(row.tied)}"


def saving_range(row: PolicyBand) -> str:
    """The least and the largest saving over the members."""
    return between(row.saving_low, row.saving_high, 2)


def band_at(band: Band | None, row: PolicyRow) -> PolicyBand | None:
    """The band at a capacity of the policy table."""
    if band is None or band.policy is None:
        return None
    return next(r for r in band.policy if r.bytes == row.bytes)
