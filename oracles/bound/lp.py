"""The linear program over groups, its prices, and its solution.

Variables: ``y`` of a piece of a group, the size kept of it, and ``v[t]``, the size kept through
request ``t`` besides its path.

    maximise  sum(value / size * y)
    chain     v[t] = v[t-1] + (y of groups starting at t-1) - (y of groups ending at t)
              0 <= v[t] <= capacity - pinned[t],   0 <= y <= size
    A2        kept fraction of a group <= that of the group above it which ends at the same request
    A3        kept fraction of a group <= that of the piece whose last block is the parent, for every
              interval of the parent inside the group's

Every schedule under demand paging with the requested path pinned gives a feasible point of the
chain and A2 rows; A3 needs ancestor-closed residency as well. ``proofs/lower-bound.md`` has the
argument. The chain form has one nonzero per group at each end and two per request; written as one
capacity row per request it is far larger (``scripts/bench/bound.py`` measures both).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Literal

from cache_worthy.oracles.bound.groups import BlockTrace, Group, Grouped, hull_of
from cache_worthy.oracles.schedule import OracleError
from cache_worthy.oracles.solver import Program, SolverError, solve

Rows = Literal["chain", "A2", "A3"]
ROWS: tuple[Rows, ...] = ("chain", "A2", "A3")

# More dependency rows than this are not added: every subset of them is a valid relaxation, and on
# the Mooncake traces there are 55 and 480.
MOST_LINKS = 20_000

POLICY_CLASS = {
    "chain": "demand paging with the requested path pinned, hits counted by prefix",
    "A2": "demand paging with the requested path pinned, hits counted by prefix",
    "A3": "demand paging with the requested path pinned, ancestor-closed residency",
}


@dataclass(frozen=True, slots=True)
class Link:
    """A price on "this block may be kept only while its parent is"."""

    child: int
    """Request that ends the child block's interval."""
    block: int
    """The child block; its parent is the block above it."""
    parent_end: int
    """Request that ends the parent's interval."""


@dataclass(frozen=True, slots=True)
class Relaxation:
    """Solution of a chain program, or of the linear program of a whole trace."""

    kept: list[float]
    """Size kept of every span or group, in the order of those given."""
    prices: list[float]
    """Of a unit of capacity at every request, in cost per size; never negative."""
    duals: list[float]
    """Of every row."""
    saved: float
    """Objective: value of what is kept."""
    solver: str
    """Which solver, through what."""
    links: tuple[tuple[Link, float], ...] = ()
    """Prices of A2 or A3 rows that are not zero."""


def relax(
    trace: BlockTrace,
    grouped: Grouped,
    capacity: int,
    *,
    rows: Rows = "chain",
    solver: str | None = None,
) -> Relaxation:
    """Solve the linear program of the whole trace.

    Parameters
    ----------
    capacity : int
        In size units, at least the largest requested path.
    rows : {"chain", "A2", "A3"}
        Dependency rows besides the chain's.
    solver : {"highs", "cbc"}, optional
        Default HiGHS, else CBC.

    Raises
    ------
    OracleError
        If the capacity is under the floor.
    SolverError
        If there is no solver or it fails.
    """
    require_room(grouped.pinned, capacity)
    groups = grouped.groups
    rows_wanted = [] if rows == "chain" else _dependency_rows(trace, grouped, every=rows == "A3")
    cuts: dict[int, set[int]] = {}
    for row in rows_wanted:
        cuts.setdefault(row.parent_group, set()).add(row.parent_size)
    chain = Chain(
        room=[capacity - p for p in grouped.pinned],
        spans=[(g.start, g.end) for g in groups],
        pieces=[
            _cut(trace, g, cuts[i]) if i in cuts else steps(g.hull) for i, g in enumerate(groups)
        ],
    )
    # A deeper piece of a cut group is kept only while the shallower ones are whole.
    for i in cuts:
        for j in range(1, len(chain.columns[i])):
            chain.fraction_row((i, j), (i, j - 1))
    placed: list[tuple[Link, int]] = []
    for row in rows_wanted:
        sizes = [n for n, _ in chain.pieces[row.parent_group]]
        at = list(accumulate(sizes)).index(row.parent_size)
        placed.append((row.link, chain.fraction_row((row.child, 0), (row.parent_group, at))))
    answer = chain.solve(solver)
    links = ((link, max(0.0, -answer.duals[row_index])) for link, row_index in placed)
    return replace(answer, links=tuple((link, price) for link, price in links if price > 1e-9))


def require_room(pinned: Sequence[int], capacity: int) -> None:
    """Raise :class:`OracleError` when a requested path is larger than the capacity."""
    floor = max(pinned, default=0)
    if isinstance(capacity, bool) or not isinstance(capacity, int) or capacity < floor:
        raise OracleError(
            f"capacity = {capacity!r}: the largest requested path needs {floor}, "
            "so no policy that pins the requested path can serve these requests"
        )


def steps(hull: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Hull vertices as consecutive pieces ``(size, value)`` of falling value per size."""
    return [(n - x, value - y) for (x, y), (n, value) in pairwise([(0, 0), *hull])]


class Chain:
    """The chain program: spans that compete for the room left by the pinned paths.

    Parameters
    ----------
    room : list of int
        Size left by the pinned path at every step.
    spans : list of (int, int)
        ``(start, end)``: what is kept occupies the steps strictly between; both ends may lie
        outside the steps there are (a window of a longer trace).
    pieces : list of list of (int, int or float)
        Of every span, consecutive ``(size, value)``.
    """

    def __init__(
        self,
        room: Sequence[int],
        spans: Sequence[tuple[int, int]],
        pieces: Sequence[Sequence[tuple[int, float]]],
    ) -> None:
        self.pieces = pieces
        # Values reach 1e15 in some units: solvers want numbers near one.
        self.scale = max((v / n for p in pieces for n, v in p), default=1.0) / 1024 or 1.0
        self.program = Program()
        steps_there = len(room)
        self.held = [self.program.column(0.0, 0.0, float(r)) for r in room]
        self.columns: list[list[int]] = []
        enter: list[list[int]] = [[] for _ in range(steps_there)]
        leave: list[list[int]] = [[] for _ in range(steps_there)]
        for (start, end), parts in zip(spans, pieces, strict=True):
            columns = [self.program.column(-(v / n) / self.scale, 0.0, float(n)) for n, v in parts]
            self.columns.append(columns)
            enter[max(start + 1, 0)].extend(columns)
            if end < steps_there:
                leave[end].extend(columns)
        for t in range(steps_there):
            pairs = [(self.held[t], 1.0)]
            if t:
                pairs.append((self.held[t - 1], -1.0))
            pairs.extend((c, -1.0) for c in enter[t])
            pairs.extend((c, 1.0) for c in leave[t])
            self.program.row(pairs, "=", 0.0)

    def fraction_row(self, low: tuple[int, int], high: tuple[int, int]) -> int:
        """Kept fraction of piece ``low`` (span, place) <= kept fraction of piece ``high``."""
        a, b = self.columns[low[0]][low[1]], self.columns[high[0]][high[1]]
        n, m = self.pieces[low[0]][low[1]][0], self.pieces[high[0]][high[1]][0]
        return self.program.row([(a, 1.0 / n), (b, -1.0 / m)], "<=", 0.0)

    def solve(self, solver: str | None) -> Relaxation:
        """Solve it to optimality; raises :class:`SolverError` otherwise."""
        if not self.program.cost:
            return Relaxation([], [], [], 0.0, "none needed")
        solution = solve(self.program, solver)
        if not solution.proved:
            raise SolverError(f"{solution.solver}: stopped before the optimum")
        saved = sum(
            solution.values[c] * v / n
            for columns, parts in zip(self.columns, self.pieces, strict=True)
            for c, (n, v) in zip(columns, parts, strict=True)
        )
        return Relaxation(
            kept=[sum(solution.values[c] for c in columns) for columns in self.columns],
            prices=[max(0.0, -solution.reduced[c] * self.scale) for c in self.held],
            duals=[d * self.scale for d in solution.duals],
            saved=saved,
            solver=solution.solver,
        )


@dataclass(frozen=True, slots=True)
class _DependencyRow:
    """Kept fraction of group ``child`` <= that of the part of ``parent_group`` ending at a size."""

    child: int
    parent_group: int
    parent_size: int
    link: Link


def _dependency_rows(trace: BlockTrace, grouped: Grouped, *, every: bool) -> list[_DependencyRow]:
    """A2 rows, and with ``every`` the A3 rows as well (A2 is the last interval of A3)."""
    groups, size_upto = grouped.groups, trace.size_upto
    accesses: dict[int, list[int]] = {g.above: [] for g in groups if g.above >= 0}
    for t in range(len(trace.terminal)):
        for b in trace.path(t):
            if b in accesses:
                accesses[b].append(t)
    ending: dict[int, list[int]] = {}
    for i, g in enumerate(groups):
        ending.setdefault(g.end, []).append(i)
    out: list[_DependencyRow] = []
    for i, g in enumerate(groups):
        if g.above < 0:
            continue
        times = accesses[g.above]
        low, high = bisect_left(times, g.start), bisect_left(times, g.end)
        for j in range(low if every else high - 1, high):
            if times[j + 1] - times[j] < 2:
                continue  # always a hit
            # The group of that request which holds the parent; sizes grow with depth.
            k = next(
                k for k in ending[times[j + 1]] if size_upto[groups[k].bottom] >= size_upto[g.above]
            )
            out.append(
                _DependencyRow(
                    child=i,
                    parent_group=k,
                    parent_size=size_upto[g.above] - trace.upto(groups[k].above)[0],
                    link=Link(
                        child=g.end,
                        block=trace.between(g.above, g.bottom)[0],
                        parent_end=times[j + 1],
                    ),
                )
            )
            if len(out) == MOST_LINKS:
                return out
    return out


def _cut(trace: BlockTrace, group: Group, sizes: set[int]) -> list[tuple[int, int]]:
    """Pieces of a group that end at the given prefix sizes, each split at its own hull."""
    base = trace.upto(group.above)[0]
    out: list[tuple[int, int]] = []
    above = group.above
    for b in trace.between(group.above, group.bottom):
        if b == group.bottom or trace.size_upto[b] - base in sizes:
            out.extend(steps(hull_of(trace, above, b)))
            above = b
    return out
