"""The answers over time, a line a part."""

from __future__ import annotations

from cache_worthy.advise.splits import SAME_CAPACITY, Part, Splits
from cache_worthy.report.layout import gib, gib_short, percent, prose, ratio, title


def render_splits(splits: Splits) -> list[str]:
    """The section: every part, which verdicts agree, and what the whole log's answer costs."""
    out = title("OVER TIME   the answers on each half and quarter")
    at = gib_short(splits.whole_bytes)
    heads = (
        ("", "", "", "floor", "allocate", "", "cost at"),
        ("part", "requests", "ceiling", "GiB", "GiB", "cheapest there", at),
    )
    for part, requests, ceiling, floor, asked, who, there in (
        *heads,
        *map(splits_cells, splits.parts),
    ):
        line = f"  {part:<10}{requests:>9}{ceiling:>9}{floor:>8}{asked:>10}   {who:<21}{there:>8}"
        out.append(line.rstrip())
    return [*out, "", *prose(splits_text(splits))]


def splits_cells(part: Part) -> tuple[str, str, str, str, str, str, str]:
    """Name, requests, ceiling, floor, allocation, cheapest policy, cost of the whole's capacity."""
    who = "not worth caching"
    if part.best_policy is not None:
        saves = f" {percent(part.saving_fraction, 2)}" if part.saving_fraction else ""
        who = f"{part.best_policy.rpartition(':')[2][:13]}{saves}"
    return (
        part.name,
        str(part.requests),
        percent(part.ceiling),
        gib_short(part.floor_bytes),
        "--" if part.recommended_bytes is None else gib_short(part.recommended_bytes),
        who,
        ratio(part.whole_cost_ratio),
    )


def splits_text(splits: Splits) -> str:
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


def splits_flag(splits: Splits, server: bool = False) -> str | None:
    """For the head of the report: what does not generalise; nothing where all does.

    For a server the policies of this project are no advice, so that they differ is none either.
    """
    told = [name for name in splits.disagree if not (server and name == "policy")]
    return f"Halves and quarters of this log differ on {', '.join(told)}." if told else None
