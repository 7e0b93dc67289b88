"""How long an empty cache takes to warm up, and what that does to the hit rate.

A *cold* rate (Easton and Fagin 1978) is counted from an empty cache. The *warm half* is the second
half of the same replay, which starts with the cache that the first half left. Three definitions of
a hit rate are in use and differ by several points, so all three are given.

Evidence: rank 1, the cold rates of an unlimited cache on the conversation and synthetic traces;
rank 4, logs computed by hand (tests).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, chain

from cache_worthy.advise.context import Context
from cache_worthy.advise.policy_table import Policies
from cache_worthy.advise.quantity import SINGLE_REQUESTS, Quantities, Quantity, at_recommended
from cache_worthy.advise.reader import Reader
from cache_worthy.advise.section import Section
from cache_worthy.advise.workload import share
from cache_worthy.measure.replays import BASELINE
from cache_worthy.sim.errors import InvariantError

TOLERANCE_PERCENT = 5
"""A rate within this percentage of the steady rate counts as steady."""

WINDOW = 1000
"""Requests in the window of a rate, as in vLLM's hit rate counter; at most a twentieth of a log."""

RATES = (
    "block: matched over referenced blocks; token: prompt tokens in matched blocks over prompt "
    "tokens; request: mean over the requests of their share of tokens matched"
)

RULE = (
    f"steady: the block rate of the second half; reached: the first request at which the rate of "
    f"the last window of requests is within {TOLERANCE_PERCENT}% of it; settled: so is the rate of "
    "the rest of the first half, and those of the third and the fourth quarter; else never"
)


@dataclass(frozen=True, slots=True)
class HitRates:
    """One stretch of requests by three definitions (``RATES``); None without blocks or tokens."""

    block: float | None
    token: float | None
    request: float | None


@dataclass(frozen=True, slots=True)
class ColdStart:
    """One capacity."""

    label: str
    """"floor", "recommended", "yours", "working set", or several of them joined by commas."""
    fraction: float
    """Of the working set."""
    bytes: int
    blocks: int
    cold: HitRates
    """Of all requests, from an empty cache."""
    warm: HitRates
    """Of the second half of them."""
    third_quarter: float | None
    """Block rate; together with the next, it shows how steady the second half is."""
    fourth_quarter: float | None
    reached_after: int | None
    """Requests served by then; None for never."""
    settled_after: int | None
    """Likewise."""


@dataclass(frozen=True, slots=True)
class ColdStarts:
    """The warm-up at every labelled capacity under the deployed default."""

    policy: str
    rates: str
    rule: str
    window_requests: int
    half_requests: int
    rows: tuple[ColdStart, ...]


def _compare(document: Reader) -> Quantities:
    row = at_recommended(document, "coldstart", "rows")
    if row is None:
        return
    cold, warm = row.number("cold", "token"), row.number("warm", "token")
    yield SINGLE_REQUESTS, Quantity("token hit rate, cold", "share", cold)
    yield SINGLE_REQUESTS, Quantity("token hit rate, warm half", "share", warm)
    yield SINGLE_REQUESTS, Quantity("requests until warm", "count", row.number("reached_after"))


@Section(
    "coldstart",
    needs=("policy_table",),
    title="Cold start",
    place=60,
    skip="requests until an empty cache is warm",
    compare=_compare,
)
def coldstart(context: Context, policies: Policies) -> ColdStarts:
    """Hit rates and warm-up time at every labelled capacity and at the working set.

    Time: requests, per capacity.

    Raises
    ------
    InvariantError
        If a cache matches more blocks than one that holds the whole working set.
    """
    replays, known, requests = context.replays, context.known, context.forest.requests
    window = max(1, min(WINDOW, requests // 20))
    labelled = {row.bytes: row.label for row in policies.table.rows if row.label}
    whole = replays.working_set
    labelled[whole] = ", ".join(filter(None, (labelled.get(whole, ""), "working set")))
    rows = []
    for capacity, label in sorted(labelled.items()):
        matched = known if capacity == whole else replays.run(BASELINE, capacity).matched
        if sum(matched) > sum(known):
            raise InvariantError(f"{capacity} bytes match more blocks than were ever repeated")
        rows.append(_row(context, matched, window, of=(label, capacity)))
    return ColdStarts(
        policy=BASELINE,
        rates=RATES,
        rule=RULE,
        window_requests=window,
        half_requests=requests // 2,
        rows=tuple(rows),
    )


def _row(
    context: Context, matched: Sequence[int], window: int, *, of: tuple[str, int]
) -> ColdStart:
    """Rates and warm-up at one capacity; ``of`` is its label and its bytes."""
    blocks, lengths, n = context.forest.length, context.lengths, context.forest.requests
    half = n // 2
    last = n - (n - half) // 2
    size = context.log.block_tokens
    served = [min(m * size, t) for m, t in zip(matched, lengths, strict=True)]

    def rate(begin: int, end: int) -> float | None:
        return share(sum(matched[begin:end]), sum(blocks[begin:end]))

    def rates(begin: int) -> HitRates:
        hits, tokens = served[begin:], lengths[begin:]
        shares = [h / t for h, t in zip(hits, tokens, strict=True) if t]
        return HitRates(
            block=rate(begin, n),
            token=share(sum(hits), sum(tokens)),
            request=sum(shares) / len(shares) if shares else None,
        )

    label, capacity = of
    reached, settled = settling(matched, blocks, window)
    return ColdStart(
        label=label,
        fraction=capacity / context.replays.working_set,
        bytes=capacity,
        blocks=capacity // context.size.block,
        cold=rates(0),
        warm=rates(half),
        third_quarter=rate(half, last),
        fourth_quarter=rate(last, n),
        reached_after=reached,
        settled_after=settled,
    )


def settling(
    matched: Sequence[int], blocks: Sequence[int], window: int
) -> tuple[int | None, int | None]:
    """After how many requests the block rate reaches the steady rate, and after how many it stays.

    Parameters
    ----------
    matched, blocks : sequence of int
        Matched and referenced blocks, request by request.
    window : int
        Requests of the windowed rate.

    Returns
    -------
    reached, settled : int or None
        By ``RULE``; None for never, or if the second half has no hits.

    Notes
    -----
    Rates are compared as exact fractions. Time: requests.

    Examples
    --------
    >>> settling([0, 0, 1, 1, 1, 1, 1, 1], [1] * 8, 1)
    (3, 3)
    >>> settling([0, 1, 0, 0, 1, 1, 1, 1], [1] * 8, 1)
    (2, None)
    """
    n = len(blocks)
    half = n // 2
    last = n - (n - half) // 2  # the fourth quarter begins here
    m = list(accumulate(matched, initial=0))
    b = list(accumulate(blocks, initial=0))
    steady_hits, steady_blocks = m[n] - m[half], b[n] - b[half]
    if not steady_hits:
        return None, None

    def near(first: int, end: int) -> bool:
        """Whether the rate of requests [first, end) is within the tolerance; true without
        blocks."""
        hits, whole = (m[end] - m[first]) * steady_blocks, (b[end] - b[first]) * steady_hits
        return 100 * abs(hits - whole) <= TOLERANCE_PERCENT * whole

    there = (
        end
        for end in range(window, half + 1)
        if b[end] > b[end - window] and near(end - window, end)
    )
    reached = next(there, None)
    settled = None
    if reached is not None and near(half, last) and near(last, n):
        settled = next((end for end in chain([reached], there) if near(end, half)), None)
    return reached, settled
