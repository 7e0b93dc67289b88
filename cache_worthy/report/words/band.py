"""The words of the sensitivity band."""

from __future__ import annotations

from collections.abc import Sequence

from cache_worthy.advise.analysis import Analysis
from cache_worthy.advise.band import Band
from cache_worthy.advise.members import CapacityBand, PolicyBand
from cache_worthy.advise.offer import EngineAdvice
from cache_worthy.advise.policy_table import WORTH_CHANGING
from cache_worthy.numbers import between, gib, percent, ratio, shown
from cache_worthy.report.charts import Interval, IntervalChart
from cache_worthy.report.model import Column, Facts, Figure, Prose, Section, table_of
from cache_worthy.report.words.marks import (
    bound_mark,
    capacity_range,
    ceiling_range,
    cheapest,
    saving_range,
)
from cache_worthy.report.words.names import SERVERS


def words(analysis: Analysis) -> Section | None:
    """What survives, one line per question and one per capacity."""
    band, advice = analysis.of(Band), analysis.of(EngineAdvice)
    if band is None or band.capacity is None or band.policy is None:
        return None
    server = None if advice is None else SERVERS[advice.engine]
    return Section(
        about="what survives other cost coefficients",
        parts=(
            Facts("survivals", tuple(_survivals(band))),
            _figure(band, band.policy),
            Prose(_note(band, server) + _no_guarantee(analysis, band), note=True),
        ),
    )


def _survivals(band: Band) -> list[tuple[str, str]]:
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
        protects = f"protects {between(band.pin.low, band.pin.high)}"
        out.append(("top pin", f"{_survival(band.pin.flips)}: {protects}"))
    return out


def _memory(band: CapacityBand) -> str:
    low, high = gib(band.low_bytes), gib(band.high_bytes)
    return low if low == high else f"{low} to {high}"


def _survival(flips: Sequence[str]) -> str:
    return f"flips under {', '.join(flips)}" if flips else "holds"


def _note(band: Band, server: str | None) -> str:
    """What the family is, and what the columns mean."""
    return (
        "Prefill of n tokens costs a n + b n^2; attention scales b, linear only has b = 0; "
        + (
            "the measured curve has its file's unit and enters relatively; "
            if any(m.linear is None for m in band.members)
            else ""
        )
        + "capacities are the same fractions throughout. Saving: the best policy's, from the least to the "
        f"most favourable cost model. Worth it: cost models in which it reaches {band.threshold:.0%}."
        + (f" {server}'s own options were replayed under the model only." if server else "")
    )


def _no_guarantee(analysis: Analysis, band: Band) -> str:
    """That the measured curve breaks the hypothesis of cosigned's bound, where it does."""
    curve = analysis.parameters.cost_curve
    if curve is None or not curve.falls or "cosigned" not in band.members[0].rows[0].cost_ratios:
        return ""
    return (
        " The cost per token of the measured curve falls with depth somewhere: cosigned's worst-case "
        "guarantee does not hold under it."
    )


def _figure(band: Band, policy: Sequence[PolicyBand]) -> Figure:
    """The saving at each capacity, over all members."""
    own = band.members[0]
    intervals = tuple(
        Interval(
            label=f"{percent(r.fraction)} = {gib(r.bytes)}",
            value=saving_range(r),
            low=r.saving_low,
            high=r.saving_high,
            point=row.saving_fraction,
            title=f"{cheapest(r)}: {percent(row.saving_fraction, 2)} by {own.name}",
        )
        for r, row in zip(policy, own.rows, strict=True)
    )
    drawn = "; ".join(f"{i.label} {i.value}" for i in intervals)
    savings = table_of(
        "band-table",
        policy,
        caption="Question 5 across the band: saving against lru",
        columns={
            "capacity": lambda r: percent(r.fraction),
            "size": lambda r: gib(r.bytes),
            "least": lambda r: percent(r.saving_low, 2),
            "most": lambda r: percent(r.saving_high, 2),
            "worth it": lambda r: r.worth_changing,
            Column("cheapest", words=True): cheapest,
        },
    )
    members = table_of(
        "members-table",
        band.members,
        caption="Answers under each cost function",
        columns={
            "cost function": lambda m: m.name,
            "ceiling": lambda m: percent(m.ceiling),
            "allocate": lambda m: shown("bytes", m.recommended_bytes),
            "of the\nworking set": lambda m: percent(m.recommended_fraction, 2),
            "cost there": lambda m: ratio(m.recommended_cost_ratio),
        },
    )
    return Figure(
        "Saving across the band",
        f"Saving against lru at each capacity, over all cost functions: {drawn}.",
        draw=IntervalChart(
            intervals, "saving against lru", mark=(WORTH_CHANGING, "worth changing"), log=False
        ),
        caption=f"From the least to the largest saving; the dot is {own.name}.",
        numbers=(savings, members),
    )
