"""The words on the warm-up of an empty cache."""

from __future__ import annotations

from cache_worthy.advise.analysis import Analysis
from cache_worthy.advise.coldstart import ColdStarts
from cache_worthy.numbers import gib_short, percent
from cache_worthy.report.model import Prose, Section, table

RATES = ("block", "token", "request")


def words(analysis: Analysis) -> Section | None:
    """One row per capacity, and what its words mean."""
    cold = analysis.of(ColdStarts)
    if cold is None:
        return None
    rows = table(
        "coldstart-table",
        "",
        columns=(
            "capacity",
            "GiB",
            "reached\nafter",
            "settled\nafter",
            *(f"{part}\n{rate}" for part in ("cold", "warm") for rate in RATES),
        ),
        rows=(
            (
                row.label,
                gib_short(row.bytes),
                _after(row.reached_after),
                _after(row.settled_after),
                *(percent(getattr(h, rate)) for h in (row.cold, row.warm) for rate in RATES),
            )
            for row in cold.rows
        ),
    )
    note = (
        f"{cold.rule} (window {cold.window_requests}, half {cold.half_requests} requests). "
        f"Cold: the whole log from an empty cache; warm: its second half. Rates: {cold.rates}."
    )
    return Section(
        about=f"requests until an empty cache is warm, hit rates; under {cold.policy}",
        parts=(rows, Prose(note, note=True)),
    )


def _after(requests: int | None) -> str:
    return "never" if requests is None else str(requests)
