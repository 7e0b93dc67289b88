"""Slow requests: recompute of single requests, and what kind the most expensive ones are.

The tail is the most expensive 1% by recompute (all of it, as a user waits for all of it). Each of
its requests is of one of two kinds, by the larger part of its cost: ``cold`` (blocks that were
evicted) or ``first`` (blocks never seen before; no cache helps). Either may also be ``deep``.

Evidence: rank 2, the costs sum to the replay's total, raised here; rank 4, a log computed by hand
(tests).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cache_worthy.advise.context import Context
from cache_worthy.advise.policy_table import Policies
from cache_worthy.advise.quantity import SINGLE_REQUESTS, Quantities, Quantity, at_recommended
from cache_worthy.advise.reader import Reader
from cache_worthy.advise.section import Section
from cache_worthy.measure.per_request import require_sums
from cache_worthy.measure.quantiles import nearest_rank
from cache_worthy.measure.replays import BASELINE

TAIL_PERCENT = 1
"""The most expensive percent of the requests, rounded up."""

DEEP_PERCENT = 90
"""A path longer than this percentile of all paths is deep."""

RANKS = (50, 95, 99, 100)
"""Percentiles that are shown; the last is the maximum."""

RULE = (
    f"tail: the dearest {TAIL_PERCENT}% of requests by recompute; deep: a path over the log's "
    f"p{DEEP_PERCENT}; cold: half of its recompute or more had been in the cache and left; first: "
    "the others, mostly never seen before"
)


@dataclass(frozen=True, slots=True)
class TailKind:
    """Tail requests of one kind, and the 1-based record of the most expensive, if any."""

    requests: int
    example_record: int | None


@dataclass(frozen=True, slots=True)
class Tail:
    """Recompute of single requests under one policy."""

    policy: str
    p50: int
    """FLOPs of one request, as p95, p99 and max; by nearest rank, so each is some request's own."""
    p95: int
    p99: int
    max: int
    own_p50: float | None
    """Recompute over the request's compulsory part, of the requests that have one; likewise."""
    own_p95: float | None
    own_p99: float | None
    own_max: float | None
    tail_requests: int
    """Requests of the tail; less than its percentage if fewer recompute anything."""
    tail_cost: int
    """Recompute of the tail."""
    tail_evicted_cost: int
    """The part of it that had been in the cache and was evicted."""
    deep: TailKind
    """Of either of the next two kinds, which sum to the tail."""
    cold: TailKind
    first: TailKind


@dataclass(frozen=True, slots=True)
class TailsAt:
    """All policies at one capacity."""

    label: str
    fraction: float
    bytes: int
    blocks: int
    rows: tuple[Tail, ...]


@dataclass(frozen=True, slots=True)
class Tails:
    """The tails at the recommended capacity and, where given, the user's own."""

    rule: str
    requests: int
    deep_over_blocks: int
    """Paths longer than this are deep."""
    capacities: tuple[TailsAt, ...]


def _compare(document: Reader) -> Quantities:
    at = at_recommended(document, "tails", "capacities")
    for row in [] if at is None else at.rows("rows"):
        if row.text("policy") == BASELINE:
            name, value = "p99 over a request's own", row.number("own_p99")
            yield SINGLE_REQUESTS, Quantity(name, "ratio", value)


@Section(
    "tails",
    needs=("policy_table",),
    title="Tails",
    place=100,
    skip="recompute of single requests",
    compare=_compare,
)
def tails(context: Context, policies: Policies) -> Tails:
    """Order statistics and tail of every policy at the recommended capacity and the user's own.

    Time: requests, per policy and capacity.

    Raises
    ------
    InvariantError
        If the recompute by request does not sum to the replay's totals.
    """
    replays, forest, known = context.replays, context.forest, context.known
    deep_over = nearest_rank(forest.lengths, DEEP_PERCENT)
    capacities = []
    for row in policies.table.rows:
        if not {"recommended", "yours"} & set(row.label.split(", ")):
            continue
        found = []
        for policy in policies.table.policies:
            result = replays.run(policy, row.bytes)
            require_sums(forest, replays.costs, known=known, result=result)
            kinds = list(zip(forest.length, result.matched, known, strict=True))
            found.append(_tail(policy, replays.costs, kinds, deep_over=deep_over))
        capacities.append(
            TailsAt(
                label=row.label,
                fraction=row.fraction,
                bytes=row.bytes,
                blocks=row.blocks,
                rows=tuple(found),
            )
        )
    return Tails(
        rule=RULE,
        requests=forest.requests,
        deep_over_blocks=deep_over,
        capacities=tuple(capacities),
    )


Kind = tuple[int, int, int]
"""Blocks of a request: all, matched, known.

Requests of one kind cost the same, and a large log has few kinds: sorting the requests themselves takes
longer.
"""


def _tail(policy: str, table: Sequence[int], requests: Sequence[Kind], *, deep_over: int) -> Tail:
    """Order statistics over all requests, and the tail; ``table`` is the cumulative cost by depth."""
    kinds = Counter(requests)
    cost = {kind: table[kind[0]] - table[kind[1]] for kind in kinds}
    new = {kind: table[kind[0]] - table[kind[2]] for kind in kinds}
    costs: Counter[int] = Counter()
    own: Counter[float] = Counter()
    for kind, times in kinds.items():
        costs[cost[kind]] += times
        if new[kind]:
            own[cost[kind] / new[kind]] += times
    tail = _most_expensive(requests, cost, costs)
    cold = {r for r in tail if 2 * new[requests[r]] <= cost[requests[r]]}
    whole = sum(cost[requests[r]] for r in tail)
    p50, p95, p99, largest = (nearest_rank(costs, percent) for percent in RANKS)
    of_own = [nearest_rank(own, percent) if own else None for percent in RANKS]
    return Tail(
        policy=policy,
        p50=p50,
        p95=p95,
        p99=p99,
        max=largest,
        own_p50=of_own[0],
        own_p95=of_own[1],
        own_p99=of_own[2],
        own_max=of_own[3],
        tail_requests=len(tail),
        tail_cost=whole,
        tail_evicted_cost=whole - sum(new[requests[r]] for r in tail),
        deep=_kind([r for r in tail if requests[r][0] > deep_over]),
        cold=_kind([r for r in tail if r in cold]),
        first=_kind([r for r in tail if r not in cold]),
    )


def _most_expensive(
    requests: Sequence[Kind], cost: Mapping[Kind, int], costs: Mapping[int, int]
) -> list[int]:
    """Requests of the tail, without those that recompute nothing; the earlier of equals."""
    count = -(-len(requests) * TAIL_PERCENT // 100)
    left, least = count, 0
    for least in sorted(costs, reverse=True):
        left -= costs[least]
        if left <= 0:
            break
    among = {kind for kind, c in cost.items() if c >= max(least, 1)}
    found = [r for r, kind in enumerate(requests) if kind in among]
    return sorted(found, key=lambda r: -cost[requests[r]])[:count]


def _kind(requests: Sequence[int]) -> TailKind:
    return TailKind(len(requests), requests[0] + 1 if requests else None)
