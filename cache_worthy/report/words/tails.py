"""The words on single requests."""

from __future__ import annotations

from cache_worthy.advise.analysis import Analysis
from cache_worthy.advise.tails import Tail, Tails
from cache_worthy.measure.replays import BASELINE
from cache_worthy.numbers import counted, gib, percent
from cache_worthy.report.model import Prose, Section, table


def words(analysis: Analysis) -> Section | None:
    """One table per capacity, and what its words mean."""
    tails = analysis.of(Tails)
    if tails is None:
        return None
    tables = (
        table(
            f"tails-table-{n}",
            f"{gib(at.bytes)}, {at.label}",
            columns=("policy", "p50", "p95", "p99", "max", "x own", "deep", "cold", "first"),
            rows=map(_cells, at.rows),
        )
        for n, at in enumerate(tails.capacities)
    )
    return Section(
        about="prefill work of a single request, FLOPs",
        parts=(*tables, Prose(_meaning(tails), note=True)),
    )


def _meaning(tails: Tails) -> str:
    """What the words of the table mean, and where the tail is."""
    last = tails.capacities[-1]
    row = next(r for r in last.rows if r.policy == BASELINE)
    where = f" at {gib(last.bytes)}" if len(tails.capacities) > 1 else ""
    examples = [
        f"{name} {kind.example_record}"
        for name, kind in (("deep", row.deep), ("cold", row.cold), ("first", row.first))
        if kind.example_record is not None
    ]
    return (
        f"{tails.rule} (p90: {counted(tails.deep_over_blocks, 'block')}); x own: p99 of work "
        f"over the request's compulsory part. Under {BASELINE}{where}, "
        f"{percent(row.tail_evicted_cost / row.tail_cost if row.tail_cost else None)} of the tail "
        f"had been in the cache; most expensive requests: {', '.join(examples)}."
    )


def _cells(row: Tail) -> tuple[str, ...]:
    return (
        row.policy,
        *(f"{value:.2e}" for value in (row.p50, row.p95, row.p99, row.max)),
        "--" if row.own_p99 is None else f"{row.own_p99:.3g}",
        *(str(kind.requests) for kind in (row.deep, row.cold, row.first)),
    )
