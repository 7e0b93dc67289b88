"""The words of question 4: how much any policy could still recover."""

from __future__ import annotations

from collections.abc import Sequence

from cache_worthy.advise.analysis import Analysis
from cache_worthy.advise.band import Band
from cache_worthy.advise.policy_table import PolicyTable
from cache_worthy.advise.recoverable import Recoverable, Recovery
from cache_worthy.advise.sample import SampleReport
from cache_worthy.numbers import gib, percent
from cache_worthy.report.charts import Bar, SplitChart
from cache_worthy.report.model import (
    Answer,
    Column,
    Facts,
    Figure,
    Legend,
    Prose,
    Section,
    table_of,
)
from cache_worthy.report.words.marks import bound_mark
from cache_worthy.report.words.sample import NO_BOUND_OF_SAMPLE

NO_BOUND_TEXT = "--skip bound was given: what any policy could still recover was not computed."

_PIECES = (
    ("only_memory", "memory", "only memory"),
    ("undecided", "undecided", "undecided"),
    ("foresight", "foresight", "perfect foresight"),
)


def words(analysis: Analysis) -> Section | None:
    """The section; without a bound, why there is none."""
    policies, bound = analysis.of(PolicyTable), analysis.of(Recovery)
    if policies is None:
        return None
    about = "what lru pays above the minimum, and what could be recovered"
    if bound is None:
        sample = analysis.of(SampleReport)
        asked = sample is not None and bool(sample.not_answered)
        answer = Answer("Question 4", "Not answered" if asked else "Not asked")
        text = NO_BOUND_OF_SAMPLE if asked else NO_BOUND_TEXT
        return Section(about=about, parts=(answer, Prose(text)))
    verdicts = tuple((f"{percent(r.fraction)}  {r.word}", r.verdict) for r in bound.rows)
    return Section(
        about=about,
        parts=(
            _figure(bound, [row.label for row in policies.rows]),
            Answer("Question 4", "Capacity-bound or policy-bound"),
            Facts("recoverable-verdicts", verdicts),
            Prose(_rule(bound, analysis.of(Band)), note=True),
        ),
    )


def _rule(bound: Recovery, band: Band | None) -> str:
    """The rule of question 4, and what its words do not say."""
    classes = "; ".join(dict.fromkeys(r.policy_class for r in bound.rows))
    return (
        f"Rule: {bound.rule}. The bound holds for one class of policies: {classes}. The columns from only memory to best shipped are shares of over "
        "compulsory. Policy-bound does not say that a shipped policy recovers it: read best shipped. "
        "The rest needs knowledge of the future, or more memory (the curve above)."
        + ("" if band is None or band.bound is None else f" Band: {bound_mark(band.bound)}.")
    )


def _over(bound: Recovery, row: Recoverable) -> float | None:
    return row.lru_cost / bound.compulsory_cost - 1 if bound.compulsory_cost else None


def _figure(bound: Recovery, labels: Sequence[str]) -> Figure:
    """What lru pays above the minimum at each capacity, and how much could be recovered."""
    bars = tuple(
        Bar(
            label=f"{percent(r.fraction)} = {gib(r.bytes)}",
            value=f"{percent(_over(bound, r))} over compulsory",
            more=f" ({label})" if label else "",
            pieces=()
            if r.only_memory is None
            else tuple((getattr(r, name) or 0.0, colour, what) for name, colour, what in _PIECES),
            tick=1 - r.best_shipped if r.best_shipped else None,
        )
        for r, label in zip(bound.rows, labels, strict=True)
    )
    shares = [
        f"at {percent(r.fraction)} only memory {percent(r.only_memory)}, undecided "
        f"{percent(r.undecided)}, foresight {percent(r.foresight)}"
        for r in bound.rows
    ]
    numbers = table_of(
        "split-table",
        bound.rows,
        columns={
            "capacity": lambda r: percent(r.fraction),
            "size": lambda r: gib(r.bytes),
            "over\ncompulsory": lambda r: percent(_over(bound, r)),
            "only\nmemory": lambda r: percent(r.only_memory),
            "undecided": lambda r: percent(r.undecided),
            "perfect\nforesight": lambda r: percent(r.foresight),
            "best\nshipped": lambda r: percent(r.best_shipped),
            Column("policy", words=True, spare=True): lambda r: r.best_policy,
        },
    )
    return Figure(
        "Who could get it back",
        f"Shares of what lru pays over compulsory: {'; '.join(shares)}.",
        draw=SplitChart(bars, "nothing to recover"),
        legend=(
            Legend("box", "memory", "only more memory recovers it"),
            Legend("box", "undecided", "undecided"),
            Legend("box", "foresight", "perfect foresight recovers it"),
            Legend("tick", "tick", "the best shipped policy recovers what is right of the line"),
        ),
        caption="Each bar is what lru pays over the compulsory cost at one capacity.",
        numbers=(numbers,),
    )
