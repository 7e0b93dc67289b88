"""How long an empty cache takes to warm up, and what that does to the hit rate.

*Cold start* (Easton and Fagin 1978): counted from an empty cache. The *warm half* is the second
half of the same replay, served by the cache that the first half left. Three definitions of a hit
rate are in use and differ by several points, so all are given.

Evidence: rank 1, the cold rates of an unlimited cache on the conversation and synthetic traces;
rank 4, logs computed by hand (tests).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, chain

from cache_worthy.advise.context import Context
from cache_worthy.advise.policy_table import Policies, PolicyTable
from cache_worthy.advise.quantity import SINGLE_REQUESTS, Quantities, Quantity, at_recommended
from cache_worthy.advise.reader import Reader
from cache_worthy.advise.section import section
from cache_worthy.measure.replays import BASELINE, Replays
from cache_worthy.sim.errors import InvariantError

TOLERANCE_PERCENT = 5
"""Within this percentage of the steady rate counts as there."""

WINDOW = 1000
"""Requests a rate is taken over, as vLLM's own hit rate counter does; at most a twentieth of a log."""

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
    """"floor", "recommended", "yours", "working set", several joined by a comma."""
    fraction: float
    """Of the working set."""
    bytes: int
    blocks: int
    cold: HitRates
    """Of all requests, from an empty cache."""
    warm: HitRates
    """Of the second half of them."""
    third_quarter: float | None
    """Block rate; with the next: how steady the second half is in itself."""
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


@section(
    "coldstart",
    needs=("policy_table",),
    title="Cold start",
    place=60,
    skip="requests until an empty cache is warm",
    compare=_compare,
)
def coldstart(context: Context, policies: Policies) -> ColdStarts:
    """How long an empty cache takes to warm up."""
    return measure_coldstart(
        context.replays,
        policies.table,
        known=context.known,
        tokens=context.lengths,
        block_tokens=context.log.block_tokens,
    )


def measure_coldstart(
    replays: Replays,
    policies: PolicyTable,
    *,
    known: Sequence[int],
    tokens: Sequence[int],
    block_tokens: int,
) -> ColdStarts:
    """Hit rates and time to the steady state, at the floor, the recommendation, the user's own
    capacity and the working set.

    Parameters
    ----------
    replays : Replays
    policies : PolicyTable
    known : sequence of int
        Of :func:`~cache_worthy.measure.per_request.known_blocks`: what the working set's cache matches.
    tokens : sequence of int
        Prompt length of every request.
    block_tokens : int

    Notes
    -----
    Time: requests, per capacity.

    Raises
    ------
    InvariantError
        If a larger one of these caches matches fewer blocks than the working set allows.
    """
    forest = replays.forest
    half, window = forest.requests // 2, max(1, min(WINDOW, forest.requests // 20))
    labelled = {row.bytes: row.label for row in policies.rows if row.label}
    whole = replays.working_set
    labelled[whole] = ", ".join(filter(None, (labelled.get(whole, ""), "working set")))
    rows = []
    for capacity in sorted(labelled):
        matched = known if capacity == whole else replays.run(BASELINE, capacity).matched
        if sum(matched) > sum(known):
            raise InvariantError(f"{capacity} bytes match more blocks than were ever repeated")
        hits = [min(m * block_tokens, t) for m, t in zip(matched, tokens, strict=True)]
        served = _Served(blocks=forest.length, matched=matched, tokens=tokens, hits=hits)
        rows.append(
            served.row(
                window,
                label=labelled[capacity],
                fraction=capacity / whole,
                bytes=capacity,
                blocks=capacity // replays.size.block,
            )
        )
    return ColdStarts(
        policy=BASELINE,
        rates=RATES,
        rule=RULE,
        window_requests=window,
        half_requests=half,
        rows=tuple(rows),
    )


@dataclass(frozen=True, slots=True)
class _Served:
    """The requests of one replay: blocks and tokens, all and matched."""

    blocks: Sequence[int]
    matched: Sequence[int]
    tokens: Sequence[int]
    hits: Sequence[int]

    def block_rate(self, begin: int, end: int) -> float | None:
        """Of requests [begin, end)."""
        return _share(sum(self.matched[begin:end]), sum(self.blocks[begin:end]))

    def rates(self, begin: int) -> HitRates:
        """From a request on, by all three definitions."""
        hits, tokens = self.hits[begin:], self.tokens[begin:]
        shares = [h / t for h, t in zip(hits, tokens, strict=True) if t]
        return HitRates(
            block=self.block_rate(begin, len(self.blocks)),
            token=_share(sum(hits), sum(tokens)),
            request=sum(shares) / len(shares) if shares else None,
        )

    def row(
        self, window: int, *, label: str, fraction: float, bytes: int, blocks: int
    ) -> ColdStart:
        """The rates and the time to the steady one, under the name of the capacity."""
        requests = len(self.blocks)
        half = requests // 2
        last = requests - (requests - half) // 2
        reached, settled = settling(self.matched, self.blocks, window)
        return ColdStart(
            label=label,
            fraction=fraction,
            bytes=bytes,
            blocks=blocks,
            cold=self.rates(0),
            warm=self.rates(half),
            third_quarter=self.block_rate(half, last),
            fourth_quarter=self.block_rate(last, requests),
            reached_after=reached,
            settled_after=settled,
        )


def settling(
    matched: Sequence[int], blocks: Sequence[int], window: int
) -> tuple[int | None, int | None]:
    """After how many requests the block rate reaches the steady one, and after how many it stays.

    Parameters
    ----------
    matched, blocks : sequence of int
        Matched and referenced blocks, request by request.
    window : int
        Requests of the windowed rate.

    Returns
    -------
    reached, settled : int or None
        By ``RULE``; None for never, or where the second half has no hit to be steady at.

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
        """Whether the rate of requests [first, end) is within the tolerance; no block is."""
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


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
