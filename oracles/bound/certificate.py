"""The certificate of a lower bound: prices, and what they prove in exact integers.

For any non-negative prices ``lambda`` of a unit of room at a request, and ``mu`` on "a block is kept
only while its parent is", the Lagrangian of the linear program bounds every schedule from below:

    D * bound = D * (compulsory + value of all groups) - sum(lambda[t] * (capacity - pinned[t]))
                - sum over groups of max over prefixes of
                  sum over its blocks (D * cost - size * (lambda[s+1] + ... + lambda[t-1]) +- mu)

so nothing of the solver is trusted: its duals are rounded to ``1 / D`` and evaluated here. A wrong
price can only weaken the bound. ``proofs/check_certificate.py`` evaluates the same sum again from
the raw trace, sharing no code with this module.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

from cache_worthy.oracles.bound.groups import BlockTrace, Grouped
from cache_worthy.oracles.bound.lp import POLICY_CLASS, Link, Rows
from cache_worthy.oracles.schedule import OracleError

FORMAT = "cache-worthy certificate 1"

# Prices that are not whole are rounded to thousandths: on every point of the reference table the
# chain's duals are whole, and the few fractions the dependency rows bring are halves and thirds.
DENOMINATORS = (1, 1000)


@dataclass(frozen=True, slots=True)
class Prices:
    """Multipliers in units of ``trace.unit / denominator``, all non-negative integers."""

    denominator: int
    room: tuple[int, ...]
    links: tuple[tuple[Link, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Certified:
    """Prices and the bound they prove."""

    prices: Prices
    bound: Fraction
    """In units of the trace."""
    rows: Rows
    """The rows the prices use, and so the class of policies that the bound covers."""

    @property
    def policy_class(self) -> str:
        """The class of policies that it bounds, in words."""
        return POLICY_CLASS[self.rows]


def certify(
    trace: BlockTrace,
    grouped: Grouped,
    capacity: int,
    room: Sequence[float],
    links: Sequence[tuple[Link, float]] = (),
) -> Certified:
    """Round prices and evaluate what they prove; the better of the denominators tried.

    Parameters
    ----------
    room, links
        As :class:`cache_worthy.oracles.bound.lp.Relaxation` has them. Negative ones count as 0.
    """
    found = []
    for d in DENOMINATORS:
        prices = Prices(
            denominator=d,
            room=tuple(max(0, round(p * d)) for p in room),
            links=tuple((k, m) for k, p in links if (m := round(p * d)) > 0),
        )
        bound = evaluate(trace, grouped, capacity, prices)
        found.append(Certified(prices=prices, bound=bound, rows=_rows_used(prices)))
    return max(found, key=lambda c: c.bound)


def _rows_used(prices: Prices) -> Rows:
    if not prices.links:
        return "chain"
    return "A2" if all(k.parent_end == k.child for k, _ in prices.links) else "A3"


def evaluate(trace: BlockTrace, grouped: Grouped, capacity: int, prices: Prices) -> Fraction:
    """The bound that prices prove, in units of the trace; exact.

    Raises
    ------
    OracleError
        If a price is negative or there is not one per request.

    Notes
    -----
    Time: groups, plus the blocks of groups that a link names.
    """
    d = prices.denominator
    if len(prices.room) != len(grouped.pinned):
        raise OracleError(f"{len(prices.room)} prices for {len(grouped.pinned)} requests")
    if min(prices.room, default=0) < 0 or any(m < 0 for _, m in prices.links):
        raise OracleError("prices must not be negative")
    before = [0, *accumulate(prices.room)]  # before[t]: sum of the prices of requests < t
    extra: dict[tuple[int, int], int] = {}  # (end of the interval, block) -> what is added
    for link, m in prices.links:
        child, parent = (link.child, link.block), (link.parent_end, trace.parent[link.block])
        extra[child] = extra.get(child, 0) - m
        extra[parent] = extra.get(parent, 0) + m
    ends = {end for end, _ in extra}
    total = d * grouped.ceiling
    total -= sum(p * (capacity - q) for p, q in zip(prices.room, grouped.pinned, strict=True))
    for g in grouped.groups:
        rent = before[g.end] - before[g.start + 1]
        if g.end in ends:
            size0, cost0 = trace.upto(g.above)
            best = added = 0
            for b in trace.between(g.above, g.bottom):
                size, cost = trace.upto(b)
                added += extra.get((g.end, b), 0)
                best = max(best, d * (cost - cost0) - rent * (size - size0) + added)
            total -= best
        else:
            total -= max(0, max(d * value - n * rent for n, value in g.hull))
    return Fraction(total, d)


def to_json(
    trace: BlockTrace,
    capacity: int,
    certified: Certified,
    *,
    cost_description: str = "",
    digest: str | None = None,
) -> str:
    """The certificate as a JSON document that the stand-alone checker reads.

    Parameters
    ----------
    cost_description : str
        What the costs are, for the reader; the checker uses the exact numbers.
    digest : str, optional
        ``trace.digest()`` when the caller has it already.

    Raises
    ------
    OracleError
        If the trace was not built from requests with a cost by depth.
    """
    if trace.cumulative is None:
        raise OracleError("a certificate needs a trace with a cost by depth in blocks")
    prices = certified.prices
    document = {
        "format": FORMAT,
        "trace": {
            "sha256": digest or trace.digest(),
            "requests": len(trace.terminal),
            "blocks": len(trace.parent),
        },
        "capacity_blocks": capacity,
        "cost": {
            "description": cost_description,
            "cumulative": list(trace.cumulative),
        },
        "policy_class": certified.policy_class,
        "lower_bound": trace.in_cost(certified.bound),
        # A price counts unit / denominator of cost for one block of room during one request.
        "unit": int(trace.unit),
        "denominator": prices.denominator,
        "prices": list(prices.room),
        # Rows [request, depth, parent_end, price]: the block at that depth (0 is the root) of that
        # request's path, kept up to that request, needs its parent kept up to parent_end.
        "links": [
            [k.child, trace.size_upto[k.block] - 1, k.parent_end, m] for k, m in prices.links
        ],
    }
    return json.dumps(document, separators=(",", ":")) + "\n"
