"""The section on why the hit rate is no higher."""

from __future__ import annotations

from cache_worthy.advise.analysis import Analysis
from cache_worthy.advise.causes import NAMES, Beginning, Cause, Causes
from cache_worthy.advise.workload import WORTH_THRESHOLD
from cache_worthy.numbers import gib, percent
from cache_worthy.report.model import Prose, Section, table


def words(analysis: Analysis) -> Section | None:
    """One row per cause, the sums, and where near-identical prompts diverge."""
    causes = analysis.of(Causes)
    if causes is None:
        return None
    rows = table(
        "causes-table",
        "",
        columns=(
            "",
            "requests",
            "blocks",
            "share",
            "example",
            "at token",
        ),
        rows=causes_rows(causes),
    )
    return Section(
        about="misses by cause, as a share of prefill cost without a cache",
        parts=(rows, Prose(causes_text(causes), note=True)),
    )


def causes_rows(causes: Causes) -> list[tuple[str, str, str, str, str, str]]:
    """The cells of the table, the sums among them: name, requests, blocks, share, example."""
    rows = [_cells(cause) for cause in causes.new]
    rows.append(_sum("out of reach for any cache", causes.missing_fraction))
    if causes.evicted is not None and causes.capacity_bytes is not None:
        rows.append(_cells(causes.evicted))
        rows.append(_sum(f"missing at {gib(causes.capacity_bytes)}", causes.missing_there_fraction))
    return rows


def causes_text(causes: Causes) -> str:
    """Where prompts diverge, and what could not be seen."""
    parts = []
    if causes.beginning is not None:
        parts.append(beginning_text(causes.beginning))
    if causes.compared == "nothing":
        parts.append("Near-identical blocks and tools (--) need prompts in the log, not block ids.")
    elif causes.prompts_with_tools == 0:
        parts.append("No prompt has tools (--).")
    if causes.given_up:
        parts.append("First blocks were compared until thousands in a row matched none.")
    if causes.tools_not_compared:
        parts.append("There are more lists of tools than were compared.")
    parts.append(
        "Example: the request that loses most to this cause, and the token where the miss begins. Only "
        f"the last cause depends on capacity ({causes.policy}, the recommended one)."
        if causes.evicted is not None
        else "Example: the request that loses most to this cause, and the token where the miss begins."
    )
    return " ".join(parts)


def beginning_text(found: Beginning) -> str:
    """The difference between two near-identical prompts."""
    text = (
        f"{found.requests} requests begin like an earlier one but for a short stretch; first record "
        f"{found.record}, {found.unit[:-1]} {found.position}"
    )
    if found.before is None:
        return f"{text}. An upper limit: without it their rest may still differ."
    return (
        f'{text}: behind "{found.before}" stood "{found.earlier}", then "{found.later}". An upper '
        "limit: without it their rest may still differ."
    )


def causes_summary(causes: Causes) -> list[str]:
    """What a change of the prompts might win, for the head of the report: a percent or more."""
    share = {cause.name: cause.fraction for cause in causes.new}
    out = []
    if share["near_identical_start"] >= WORTH_THRESHOLD:
        out.append(
            f"Up to {percent(share['near_identical_start'])} of prefill work is lost because prompts "
            "differ from earlier ones only in a few characters near the start, e.g. a timestamp (see "
            "WHY)."
        )
    if share["tool_order"] >= WORTH_THRESHOLD:
        out.append(
            f"{percent(share['tool_order'])} of prefill work is lost because the same tools are sent "
            "in a different order (see WHY). Sort them."
        )
    return out


def _cells(cause: Cause) -> tuple[str, str, str, str, str, str]:
    name = NAMES[cause.name]
    if not cause.known:
        return name, "--", "--", "--", "", ""
    counts = (str(cause.requests), str(cause.blocks), percent(cause.fraction))
    if cause.example_record is None:
        return name, *counts, "", ""
    return name, *counts, str(cause.example_record), str(cause.example_token)


def _sum(name: str, fraction: float | None) -> tuple[str, str, str, str, str, str]:
    return f"= {name}", "", "", percent(fraction), "", ""
