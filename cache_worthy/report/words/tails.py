"""The section on single requests."""

from __future__ import annotations

from cache_worthy.advise.tails import Tail, Tails, TailsAt
from cache_worthy.measure.replays import BASELINE
from cache_worthy.report.layout import counted, gib, percent, prose, title

NAME_WIDTH = 13


def render_tails(tails: Tails) -> list[str]:
    """One table a capacity, and what its words mean."""
    out = title("TAILS   recompute of a single request, FLOPs")
    for at in tails.capacities:
        out += _table(at)
    return [*out, "", *prose(tails_text(tails))]


def tails_text(tails: Tails) -> str:
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
        f"{tails.rule} (p90: {counted(tails.deep_over_blocks, 'block')}); x own: p99 of recompute "
        f"over the request's compulsory part. Under {BASELINE}{where}, "
        f"{percent(row.tail_evicted_cost / row.tail_cost if row.tail_cost else None)} of the tail "
        f"had been in the cache; dearest records: {', '.join(examples)}."
    )


def _table(at: TailsAt) -> list[str]:
    head = f"{gib(at.bytes)}, {at.label}"
    return [
        f"  {head}",
        (
            f"  {'policy':<{NAME_WIDTH}}{'p50':>10}{'p95':>10}{'p99':>10}{'max':>10}{'x own':>7}"
            f"{'deep':>6}{'cold':>6}{'first':>6}"
        ),
        *(_line(row) for row in at.rows),
    ]


def _line(row: Tail) -> str:
    numbers = "".join(f"{value:>10.2e}" for value in (row.p50, row.p95, row.p99, row.max))
    own = "--" if row.own_p99 is None else f"{row.own_p99:.3g}"
    kinds = "".join(f"{kind.requests:>6}" for kind in (row.deep, row.cold, row.first))
    return f"  {short(row.policy):<{NAME_WIDTH}}{numbers}{own:>7}{kinds}"


def short(policy: str) -> str:
    """A policy's name in a narrow column: of the user's own, the class.

    Examples
    --------
    >>> short("lru"), short("my.policies:KeepTheOldest")
    ('lru', 'KeepTheOldest')
    """
    return policy.rpartition(":")[2][:NAME_WIDTH]
