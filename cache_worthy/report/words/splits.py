"""The words on the answers over time."""

from __future__ import annotations

from cache_worthy.advise.analysis import Analysis
from cache_worthy.advise.splits import SAME_CAPACITY, Part, Splits
from cache_worthy.numbers import gib, gib_short, percent, ratio
from cache_worthy.report.charts import Interval, IntervalChart
from cache_worthy.report.model import Column, Figure, Prose, Section, table_of


def words(analysis: Analysis) -> Section | None:
    """Every part, which verdicts agree, and what the whole log's answer costs there."""
    splits = analysis.of(Splits)
    if splits is None:
        return None
    return Section(
        about="the answers on each half and quarter",
        parts=(_figure(splits), Prose(_agreement(splits), note=True)),
    )


def _figure(splits: Splits) -> Figure:
    drawn = tuple(
        Interval(
            label=p.name,
            value=gib(p.recommended_bytes),
            low=p.floor_bytes / 2**30,
            high=p.recommended_bytes / 2**30,
            point=p.recommended_bytes / 2**30,
            title=f"{p.name}: floor {gib(p.floor_bytes)}, allocate {gib(p.recommended_bytes)}",
        )
        for p in splits.parts
        if p.recommended_bytes is not None
    )
    numbers = table_of(
        "splits-table",
        splits.parts,
        columns={
            "part": lambda p: p.name,
            "requests": lambda p: str(p.requests),
            "ceiling": lambda p: percent(p.ceiling),
            "floor\nGiB": lambda p: gib_short(p.floor_bytes),
            "allocate\nGiB": _allocate,
            Column("cheapest there", words=True): lambda p: p.best_policy or "not worth caching",
            "saves": lambda p: percent(p.saving_fraction, 2),
            f"cost at\n{gib_short(splits.whole_bytes)}": lambda p: ratio(p.whole_cost_ratio),
        },
    )
    return Figure(
        "Capacity over time",
        f"What each part of the log asks for. {'; '.join(i.title for i in drawn)}.",
        draw=IntervalChart(
            drawn,
            "KV cache, GiB (log scale)",
            mark=(splits.whole_bytes / 2**30, "whole log"),
            log=True,
        ),
        caption="From the floor of each part to the capacity that it asks for.",
        numbers=(numbers,),
    )


def _allocate(part: Part) -> str:
    return "--" if part.recommended_bytes is None else gib_short(part.recommended_bytes)


def _agreement(splits: Splits) -> str:
    """Whether the parts agree, on what they do not, and how parts are cut."""
    named = {"capacity": f"capacity (within a factor of {SAME_CAPACITY:g})"}
    agree = ", ".join(named.get(name, name) for name in splits.agree)
    differ = "; ".join(f"{name} ({_how(splits, name)})" for name in splits.disagree)
    saved = [p.whole_saving_fraction for p in splits.parts if p.whole_saving_fraction is not None]
    moved = (
        f" {splits.whole_change_to} there saves {percent(min(saved), 2)} to "
        f"{percent(max(saved), 2)}."
        if saved
        else ""
    )
    return (
        (f"The parts agree on {agree}. " if agree else "")
        + (f"They differ on {differ}. " if differ else "")
        + f"Parts are cut {splits.definition}. Last column: what the capacity of the whole log "
        f"costs there under lru.{moved}"
    )


def _how(splits: Splits, verdict: str) -> str:
    if verdict == "capacity":
        sizes = [p.recommended_bytes for p in splits.parts[1:] if p.recommended_bytes is not None]
        return f"{gib(min(sizes))} to {gib(max(sizes))}"
    said: dict[str, list[str]] = {}
    for part in splits.parts:
        if verdict == "policy" and part.worth_caching:
            said.setdefault(part.change_to or "no change", []).append(part.name)
        elif verdict == "worth caching":
            said.setdefault("yes" if part.worth_caching else "no", []).append(part.name)
    # The answer of most parts needs no list.
    *fewer, most = sorted(said.items(), key=lambda item: len(item[1]))
    return ", ".join(f"{what} in {', '.join(names)}" for what, names in fewer) + f", else {most[0]}"


def splits_flag(splits: Splits | None, *, server: bool) -> str | None:
    """For the head of the report: what does not generalise; nothing where all does.

    For a server the policies of this project are no advice, so that they differ is none either.
    """
    told = [] if splits is None else splits.disagree
    told = [name for name in told if not (server and name == "policy")]
    return (
        f"Caution: parts of this log give different answers on {' and '.join(told)} (OVER TIME)."
        if told
        else None
    )
