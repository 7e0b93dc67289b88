"""The sensitivity band in words: its section, and the marks beside every recommendation."""

from __future__ import annotations

from collections.abc import Sequence

from cache_worthy.advise.policy_table import PolicyRow
from cache_worthy.advise.sensitivity import Band, BoundBand, CapacityBand, PolicyBand
from cache_worthy.report.layout import WIDTH, fact, gib, percent, prose, title, wrap

HOLDS = "holds across the band"


def section(band: Band, server: str | None = None) -> list[str]:
    """What survives, in a line a question and a line a capacity; ``server`` if one is spoken of."""
    if band.capacity is None or band.policy is None:
        return []
    out = title("SENSITIVITY   what survives other cost coefficients")
    for name, text in survivals(band):
        out += fact(name, text)
    out += ["", f"  {'capacity':>8}{'saving against lru':>22}{'worth it':>10}   cheapest"]
    for row in band.policy:
        saving = saving_range(row)
        out += wrap(
            cheapest(row),
            WIDTH + 8,
            initial_indent=f"  {percent(row.fraction):>8}{saving:>22}{row.worth_changing:>10}   ",
            subsequent_indent=" " * 45,
        )
    return [*out, "", *prose(band_note(band, server))]


def survivals(band: Band) -> list[tuple[str, str]]:
    """The family, and whether each answer survives it, by name."""
    out = [
        ("family", ", ".join(m.name for m in band.members)),
        ("worth caching", f"{_survival(band.ceiling.flips)}: ceiling {ceiling_range(band)}"),
    ]
    if band.capacity is not None:
        memory = f"{capacity_range(band, 2)} = {_memory(band.capacity)}"
        out.append(("allocate", f"{_survival(band.capacity.flips)}: {memory}"))
    if band.bound is not None:
        out.append(("question 4", bound_mark(band.bound)))
    if band.pin is not None:
        protects = f"protects {_range(band.pin.low, band.pin.high)}"
        out.append(("top pin", f"{_survival(band.pin.flips)}: {protects}"))
    return out


def band_note(band: Band, server: str | None = None) -> str:
    """What the family is, and what the columns mean."""
    return (
        "Prefill of n tokens costs a n + b n^2; attention scales b, linear only has b = 0; "
        + (
            "the measured curve has its file's unit and enters relatively; "
            if any(m.linear is None for m in band.members)
            else ""
        )
        + "capacities are the same fractions throughout. Saving: of the policy to change to, or of "
        f"each member's cheapest. Worth it: members where it reaches {band.threshold:.0%}."
        + (f" {server}'s own options were replayed under the model only." if server else "")
    )


def ceiling_range(band: Band) -> str:
    """The ceilings of question 1."""
    return _range(band.ceiling.low, band.ceiling.high)


def ceiling_mark(band: Band) -> str:
    """Whether the verdict of question 1 survives, and the ceilings."""
    return f" The verdict {flip_text(band.ceiling.flips)} ({ceiling_range(band)})."


def capacity_range(band: Band, digits: int = 1) -> str:
    """The recommended fractions of question 3."""
    c = band.capacity
    if c is None:
        return "--"
    return _range(c.low_fraction, c.high_fraction, digits)


def capacity_mark(band: Band) -> str:
    """Whether the recommended capacity survives."""
    if band.capacity is None:
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
        plain = f"tie within the band: {', '.join(row.tied)}{named}."
    change = "Changing" if row.candidate else "Staying"
    return f"{plain} {change} {flip_text(row.flips)}."


def advice_mark(row: PolicyBand) -> str:
    """For the head of the report: what does not survive; nothing where all does."""
    parts = []
    if row.candidate and row.best is None:
        parts.append(f"tie within the band: {', '.join(row.tied)}")
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


def pin_mark(band: Band) -> str:
    """Whether the top prefix stays the top prefix."""
    if band.pin is None:
        return ""
    what = flip_text(band.pin.flips)
    return f" Rank #0 {what} ({_range(band.pin.low, band.pin.high)})."


def cheapest(row: PolicyBand) -> str:
    """Who is cheapest throughout, or the tie."""
    return row.best if row.best is not None else f"tie: {', '.join(row.tied)}"


def band_at(band: Band | None, row: PolicyRow) -> PolicyBand | None:
    """The band at a capacity of the policy table."""
    if band is None or band.policy is None:
        return None
    return next(r for r in band.policy if r.bytes == row.bytes)


def flip_text(flips: Sequence[str]) -> str:
    """Whether a verdict survives."""
    return f"flips under {', '.join(flips)}" if flips else HOLDS


def saving_range(row: PolicyBand) -> str:
    """The least and the largest saving over the members."""
    return _range(row.saving_low, row.saving_high, 2)


def _memory(band: CapacityBand) -> str:
    low, high = gib(band.low_bytes), gib(band.high_bytes)
    return low if low == high else f"{low} to {high}"


def _range(low: float | None, high: float | None, digits: int = 1) -> str:
    one, two = percent(low, digits), percent(high, digits)
    return one if one == two else f"{one} to {two}"


def _survival(flips: Sequence[str]) -> str:
    return f"flips under {', '.join(flips)}" if flips else "holds"
