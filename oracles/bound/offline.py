"""The certified bracket of the offline optimum: a lower bound, and feasible schedules above it.

Below: the linear program over groups, whose rounded duals are evaluated in exact integers (only
that verified number is reported). Above: tree Belady, and the linear program rounded. Beyond
:data:`WHOLE_LP` requests the prices come from window coordinate ascent instead: from one price for
all requests, each window's chain program is solved again with the prices outside it subtracted, and
the windows shift by half from pass to pass. Every price vector on the way is a valid certificate,
so the run can stop at any time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cache_worthy.oracles.bound.certificate import Certified, certify
from cache_worthy.oracles.bound.clairvoyant import round_relaxation, tree_belady
from cache_worthy.oracles.bound.groups import BlockTrace, Grouped, group_references
from cache_worthy.oracles.bound.lp import Chain, Link, Rows, relax, require_room, steps
from cache_worthy.oracles.schedule import OracleError

WHOLE_LP = 100_000
"""Requests up to which the program is solved as a whole: 192,496 take 57 CPU seconds and 1.5 GB\n(``scripts/bench/bound.py``); the ascent takes longer in time, half of the memory, and can stop."""

WINDOW = 12_000
"""Requests in one window of the ascent: one solve is about the conversation trace's."""

PASSES = 4
GAIN = 1e-4
"""The ascent stops after ``PASSES``, or when a pass raises the bound by less than this share of
compulsory. A pass over 192,000 requests takes some 40 s (``scripts/bench/bound.py``)."""

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Bound:
    """What every schedule must pay, and what a clairvoyant one pays.

    Costs are exact integers in the unit of the cost given.
    """

    capacity: int
    """Blocks."""
    compulsory: int
    """First loads, which every schedule pays."""
    lower: int
    """Verified in exact integers from the prices of ``certified``."""
    belady: int
    """Cost of tree Belady, feasible."""
    feasible: int
    """The least cost of a feasible schedule found: the rounded program's or Belady's."""
    certified: Certified
    solver: str
    """What produced the prices."""
    interrupted: bool = False
    """Whether the run was cut short and a better bound may exist."""


def offline_bound(
    trace: BlockTrace,
    capacity: int,
    *,
    grouped: Grouped | None = None,
    rows: Rows = "A3",
    solver: str | None = None,
    window: int | None = None,
    progress: Progress | None = None,
) -> Bound:
    """Bracket the offline optimum of a trace at one capacity.

    Parameters
    ----------
    trace : BlockTrace
        From :func:`cache_worthy.oracles.bound.groups.trace_of_requests`.
    capacity : int
        Blocks, at least the longest path.
    grouped : Grouped, optional
        ``group_references(trace)``, when several capacities share it.
    rows : {"chain", "A2", "A3"}
        Dependency rows besides the chain's, and so the class that the bound covers. The ascent
        uses the chain's only.
    solver : {"highs", "cbc"}, optional
    window : int, optional
        Requests per window of the ascent; by default the whole program is solved up to
        :data:`WHOLE_LP` requests, and windows of :data:`WINDOW` are used beyond.
    progress : callable, optional
        Called with one line of text now and then.

    Raises
    ------
    OracleError
        If the capacity is under the longest path, or there are no requests.
    SolverError
        If no solver is installed or it fails.

    Notes
    -----
    KeyboardInterrupt ends the search, not the call: the best certificate so far is returned with
    ``interrupted`` true. 0.3 to 1 s for the 12,031 requests of the Mooncake conversation trace
    (``scripts/bench/bound.py``).

    Examples
    --------
    >>> from cache_worthy.oracles.bound.groups import trace_of_requests
    >>> trace = trace_of_requests(["ab", "c", "ad", "ab", "c", "ad"], [0, 3, 8])
    >>> bound = offline_bound(trace, 2)
    >>> bound.compulsory, bound.lower, bound.feasible
    (16, 29, 29)
    """
    if not trace.terminal:
        raise OracleError("no request has a block: nothing to bound")
    grouped = grouped or group_references(trace)
    require_room(grouped.pinned, capacity)
    search = _Search(trace, grouped, capacity, progress or (lambda text: None))
    search.run(rows, solver, window)
    return search.bound()


class _Search:
    """The best certificate and the cheapest schedule so far, and the prices being worked on."""

    def __init__(self, trace: BlockTrace, grouped: Grouped, capacity: int, tell: Progress) -> None:
        self.trace = trace
        self.grouped = grouped
        self.capacity = capacity
        self.tell = tell
        self.best: Certified | None = None
        self.prices: list[float] = []
        self.solver = "none needed"
        self.belady = self.feasible = tree_belady(trace, grouped, capacity)
        self.interrupted = False

    def run(self, rows: Rows, solver: str | None, window: int | None) -> None:
        """Search until there is no better certificate, or a key is pressed."""
        trace, grouped, capacity = self.trace, self.grouped, self.capacity
        if self.belady == grouped.compulsory:
            self.offer([0.0] * len(grouped.pinned))  # nothing beyond compulsory is ever paid
            return
        try:
            self.offer([_one_price(grouped, capacity)] * len(grouped.pinned))
            if window is None and len(grouped.pinned) <= WHOLE_LP:
                self.tell("bound: solving the linear program")
                answer = relax(trace, grouped, capacity, rows=rows, solver=solver)
                self.solver = answer.solver
                self.offer(answer.prices, answer.links)
                kept = answer.kept
            else:
                kept = _ascend(self, window or WINDOW, solver)
            self.tell("bound: rounding")
            rounded = round_relaxation(trace, grouped, capacity, kept)
            self.feasible = min(self.belady, rounded)
        except KeyboardInterrupt:
            self.interrupted = True
            if self.prices:
                self.offer(self.prices)

    def bound(self) -> Bound:
        """What was found."""
        if self.best is None:
            raise KeyboardInterrupt  # before there was anything to keep
        return Bound(
            capacity=self.capacity,
            compulsory=self.trace.in_cost(self.grouped.compulsory),
            lower=self.trace.in_cost(self.best.bound),
            belady=self.trace.in_cost(self.belady),
            feasible=self.trace.in_cost(self.feasible),
            certified=self.best,
            solver=self.solver,
            interrupted=self.interrupted,
        )

    def offer(self, prices: Sequence[float], links: Sequence[tuple[Link, float]] = ()) -> Certified:
        """Certify prices, keep them if they are the best; returns what they prove."""
        self.prices = list(prices)
        found = certify(self.trace, self.grouped, self.capacity, prices, links)
        if self.best is None or found.bound > self.best.bound:
            self.best = found
        return found


def _one_price(grouped: Grouped, capacity: int) -> float:
    """The best single price for all requests: where kept demand meets the room there is."""
    room = sum(capacity - p for p in grouped.pinned)
    offers = sorted(
        (
            (value / (n * (g.end - g.start - 1)), n * (g.end - g.start - 1))
            for g in grouped.groups
            for n, value in steps(g.hull)
        ),
        reverse=True,
    )
    for price, demand in offers:
        room -= demand
        if room <= 0:
            return price
    return 0.0


def _ascend(search: _Search, window: int, solver: str | None) -> list[float]:
    """Window coordinate ascent on the prices; returns the size kept of every group."""
    import numpy as np

    if window < 2:
        raise OracleError(f"window = {window}: expected at least 2 requests")
    groups, pinned = search.grouped.groups, search.grouped.pinned
    count = len(pinned)
    start = np.array([g.start for g in groups], dtype=np.int64)
    end = np.array([g.end for g in groups], dtype=np.int64)
    room = [search.capacity - p for p in pinned]
    kept = [0.0] * len(groups)
    compulsory = search.grouped.compulsory or 1
    before_pass = float(search.best.bound) if search.best else 0.0
    for turn in range(PASSES):
        first = 0 if turn % 2 == 0 else -(window // 2)
        for low in range(first, count, window):
            a, b = max(low, 0), min(low + window, count)
            if a >= b:
                continue
            search.tell(
                f"bound: pass {turn + 1}, request {a} of {count}, "
                f"{before_pass / compulsory:.5f} times compulsory"
            )
            before = np.concatenate(([0.0], np.cumsum(search.prices)))
            inside = np.nonzero((start + 1 < b) & (end > a))[0]
            ahead = np.maximum(start[inside] + 1, a)
            behind = np.minimum(end[inside], b)
            outside = (
                before[end[inside]] - before[start[inside] + 1] - (before[behind] - before[ahead])
            )
            members: list[int] = []
            pieces: list[list[tuple[int, float]]] = []
            for i, rent in zip(inside.tolist(), outside.tolist(), strict=True):
                parts = [(n, v - n * rent) for n, v in steps(groups[i].hull)]
                parts = [(n, v) for n, v in parts if v > 0]
                kept[i] = 0.0
                if parts:
                    members.append(i)
                    pieces.append(parts)
            chain = Chain(
                room=room[a:b],
                spans=[(groups[i].start - a, groups[i].end - a) for i in members],
                pieces=pieces,
            )
            answer = chain.solve(solver)
            search.solver = answer.solver
            search.prices[a:b] = answer.prices
            for i, y in zip(members, answer.kept, strict=True):
                kept[i] = y
        found = float(search.offer(search.prices).bound)
        if found - before_pass < GAIN * compulsory and turn:
            break
        before_pass = found
    return kept
