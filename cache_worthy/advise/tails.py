"""The slow requests: recompute of single requests, and what kind of request the dearest are.

The mean hides them. The tail is the dearest percent by recompute (not by what was evicted: a user
waits for all of it), and each of its requests is of one of two kinds, by the larger part of its
cost: ``cold`` (blocks that had been in the cache and left) or ``first`` (never seen before; no
cache helps). Either may be ``deep`` too.

Evidence: rank 2, the costs sum to the replay's total and the two kinds to the tail, raised here;
rank 4, a log computed by hand (tests).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TypeVar

from cache_worthy.advise.context import Context
from cache_worthy.advise.policy_table import Policies, PolicyTable
from cache_worthy.advise.quantity import SINGLE_REQUESTS, Quantities, Quantity, at_recommended
from cache_worthy.advise.reader import Reader
from cache_worthy.advise.section import section
from cache_worthy.measure.per_request import require_sums
from cache_worthy.measure.replays import BASELINE, Replays
from cache_worthy.sim.errors import InvariantError

Number = TypeVar("Number", int, float)

TAIL_PERCENT = 1
"""The dearest percent of the requests, rounded up."""

DEEP_PERCENT = 90
"""A path longer than this percentile of all paths is deep."""

RULE = (
    f"tail: the dearest {TAIL_PERCENT}% of requests by recompute; deep: a path over the log's "
    f"p{DEEP_PERCENT}; cold: half of its recompute or more had been in the cache and left; first: "
    "the others, mostly never seen before"
)


@dataclass(frozen=True, slots=True)
class TailKind:
    """Requests of the tail of one kind, and the 1-based record of the dearest (None without)."""

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
    """Requests of the tail; fewer than its percent where fewer recompute anything."""
    tail_cost: int
    """Recompute of the tail."""
    tail_evicted_cost: int
    """The part of it that had been in the cache."""
    deep: TailKind
    """These may be of either of the next two kinds, which sum to the tail."""
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


@section(
    "tails",
    needs=("policy_table",),
    title="Tails",
    place=100,
    skip="recompute of single requests",
    compare=_compare,
)
def tails(context: Context, policies: Policies) -> Tails:
    """Recompute of single requests."""
    return measure_tails(context.replays, context.known, policies.table)


def nearest_rank(counts: Mapping[Number, int], percent: int) -> Number:
    """The least value that at least ``percent`` percent of the counted ones do not exceed.

    Source: Hyndman and Fan 1996, definition 1.

    Parameters
    ----------
    counts : mapping of a number to int
        How often each value occurs; one at least.
    percent : int

    Examples
    --------
    >>> four = {1: 1, 2: 1, 3: 1, 4: 1}
    >>> nearest_rank(four, 50), nearest_rank(four, 51), nearest_rank({7: 5, 8: 1}, 99)
    (2, 3, 8)
    """
    ordered = sorted(counts)
    upto = list(accumulate(counts[value] for value in ordered))
    return ordered[bisect_left(upto, max(-(-upto[-1] * percent // 100), 1))]


def measure_tails(replays: Replays, known: Sequence[int], policies: PolicyTable) -> Tails:
    """Order statistics and tail of every policy at the recommended capacity and the user's own.

    Parameters
    ----------
    replays : Replays
    known : sequence of int
        Of :func:`~cache_worthy.measure.per_request.known_blocks`.
    policies : PolicyTable

    Notes
    -----
    Time: requests, per policy and capacity.

    Raises
    ------
    InvariantError
        If the recompute by request does not sum to the replay's totals.
    """
    forest = replays.forest
    table = replays.cost.cumulative(forest.depth)
    deep_over = nearest_rank(forest.lengths, DEEP_PERCENT)
    capacities = []
    for row in policies.rows:
        if not {"recommended", "yours"} & set(row.label.split(", ")):
            continue
        tails = []
        for policy in policies.policies:
            result = replays.run(policy, row.bytes)
            require_sums(forest, table, known=known, result=result)
            costs = _Costs(table, list(zip(forest.length, result.matched, known, strict=True)))
            tails.append(_tail(policy, costs, deep_over))
        capacities.append(
            TailsAt(
                label=row.label,
                fraction=row.fraction,
                bytes=row.bytes,
                blocks=row.blocks,
                rows=tuple(tails),
            )
        )
    return Tails(
        rule=RULE,
        requests=forest.requests,
        deep_over_blocks=deep_over,
        capacities=tuple(capacities),
    )


Kind = tuple[int, int, int]
"""Blocks of a request: all, matched, known."""


@dataclass(frozen=True, slots=True)
class _Costs:
    """The requests of one replay; ``table`` is the cumulative cost by depth.

    Requests of one kind cost the same, and of a large log there are few kinds: sorting the requests
    themselves takes longer.
    """

    table: Sequence[int]
    requests: Sequence[Kind]

    def cost(self, kind: Kind) -> int:
        """Recompute."""
        return self.table[kind[0]] - self.table[kind[1]]

    def new(self, kind: Kind) -> int:
        """The compulsory part of it."""
        return self.table[kind[0]] - self.table[kind[2]]

    def most_expensive(self, kinds: Iterable[Kind], costs: Mapping[int, int]) -> list[int]:
        """Requests of the tail, those that recompute nothing left out; of equals the earlier."""
        count = -(-len(self.requests) * TAIL_PERCENT // 100)
        left, least = count, 0
        for least in sorted(costs, reverse=True):
            left -= costs[least]
            if left <= 0:
                break
        among = {kind for kind in kinds if self.cost(kind) >= max(least, 1)}
        found = [r for r, kind in enumerate(self.requests) if kind in among]
        return sorted(found, key=lambda r: -self.cost(self.requests[r]))[:count]


def _tail(policy: str, replayed: _Costs, deep_over: int) -> Tail:
    """Order statistics over all requests, and the tail."""
    requests = replayed.requests
    kinds = Counter(requests)
    costs: Counter[int] = Counter()
    own: Counter[float] = Counter()
    for kind, times in kinds.items():
        cost, new = replayed.cost(kind), replayed.new(kind)
        costs[cost] += times
        if new:
            own[cost / new] += times
    tail = replayed.most_expensive(kinds, costs)
    of = {r: replayed.cost(requests[r]) for r in tail}
    new_of = {r: replayed.new(requests[r]) for r in tail}
    cold = [r for r in tail if 2 * new_of[r] <= of[r]]
    first = [r for r in tail if 2 * new_of[r] > of[r]]
    if len(cold) + len(first) != len(tail):
        raise InvariantError(f"{len(cold)} cold and {len(first)} first of {len(tail)}")
    return Tail(
        policy=policy,
        p50=nearest_rank(costs, 50),
        p95=nearest_rank(costs, 95),
        p99=nearest_rank(costs, 99),
        max=max(costs),
        own_p50=nearest_rank(own, 50) if own else None,
        own_p95=nearest_rank(own, 95) if own else None,
        own_p99=nearest_rank(own, 99) if own else None,
        own_max=max(own) if own else None,
        tail_requests=len(tail),
        tail_cost=sum(of.values()),
        tail_evicted_cost=sum(of.values()) - sum(new_of.values()),
        deep=_kind([r for r in tail if requests[r][0] > deep_over]),
        cold=_kind(cold),
        first=_kind(first),
    )


def _kind(requests: Sequence[int]) -> TailKind:
    return TailKind(len(requests), requests[0] + 1 if requests else None)
