"""The offline problem at trace scale: blocks interned into a forest, references into groups.

At request ``t`` the previous access time of the blocks of the path never rises with depth (touching
a block touches its ancestors). So the blocks of one request with the same previous access ``s``
form one contiguous depth range, a *group* ``(s, t)``, and every schedule that serves prefix hits
keeps a prefix of it from ``s`` to ``t``. Groups with ``t = s + 1`` are always hits under demand
paging with the requested path pinned, and drop out.

Costs are exact integers in the greatest unit that divides all of them (:attr:`BlockTrace.unit`),
so that prices stay small.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import ceil, gcd, lcm

from cache_worthy.oracles.schedule import OracleError
from cache_worthy.theory.instance import Instance

CumulativeCost = Sequence[int] | Callable[[int], int]
"""Exact cost of the first ``d`` blocks of a path: ``cost[d]`` or ``cost(d)``, 0 at ``d = 0``."""


@dataclass(frozen=True, slots=True)
class BlockTrace:
    """Requests over an interned forest of blocks."""

    parent: list[int]
    """Of every block, -1 for a root; a parent comes before its children."""
    size_upto: list[int]
    """Sum over the path root..block, the block included."""
    cost_upto: list[int]
    """The same sum of costs, in multiples of ``unit``."""
    terminal: list[int]
    """The last block of every request. Requests without blocks are left out: they load nothing."""
    unit: Fraction
    """What one unit of cost stands for."""
    cumulative: tuple[int, ...] | None
    """The exact cost by depth the trace was built with, or None when it came from an instance."""

    def upto(self, b: int) -> tuple[int, int]:
        """Size and cost of the path root..b; (0, 0) above a root (-1)."""
        return (self.size_upto[b], self.cost_upto[b]) if b >= 0 else (0, 0)

    def between(self, above: int, bottom: int) -> list[int]:
        """Blocks below ``above`` (-1: from the root) down to ``bottom``, in this order."""
        out: list[int] = []
        while bottom != above:
            out.append(bottom)
            bottom = self.parent[bottom]
        return out[::-1]

    def path(self, t: int) -> list[int]:
        """Blocks of request ``t``, root first."""
        return self.between(-1, self.terminal[t])

    def in_cost(self, units: Fraction | int) -> int:
        """In the caller's unit of cost, rounded up: costs are integers, so an optimum is."""
        return ceil(units * self.unit)

    def digest(self) -> str:
        """SHA-256 of the requests, blind to how the blocks are labelled.

        One line per request: its blocks, numbered by first appearance of ``(parent, id)``, in
        decimal, separated by one space. Requests without blocks are left out.
        """
        seen = hashlib.sha256()
        number: dict[int, int] = {}
        for t in range(len(self.terminal)):
            line = [str(number.setdefault(b, len(number))) for b in self.path(t)]
            seen.update((" ".join(line) + "\n").encode("ascii"))
        return seen.hexdigest()


def trace_of_requests(requests: Iterable[Sequence[Hashable]], cost: CumulativeCost) -> BlockTrace:
    """Intern requests given as sequences of block ids; every block has size 1.

    A block is identified by its parent *and* its id, so an id that occurs under two parents is two
    blocks.

    Parameters
    ----------
    requests : iterable of sequence
        Block ids (any hashable) from the root down.
    cost : sequence or callable
        Exact cumulative cost by depth in blocks; must not fall.

    Raises
    ------
    OracleError
        If a cost is not an integer, is not 0 at depth 0, falls with depth, or is missing.

    Examples
    --------
    >>> trace = trace_of_requests(["ab", "ac", "ab"], [0, 4, 10])
    >>> trace.terminal, trace.cost_upto, trace.unit
    ([1, 2, 1], [2, 5, 5], Fraction(2, 1))
    """
    children: dict[tuple[int, Hashable], int] = {}
    parent: list[int] = []
    depth: list[int] = []
    terminal: list[int] = []
    for request in requests:
        b = -1
        for d, name in enumerate(request, 1):
            child = children.setdefault((b, name), len(parent))
            if child == len(parent):
                parent.append(b)
                depth.append(d)
            b = child
        if b >= 0:
            terminal.append(b)
    deepest = max(depth, default=0)
    exact = _cumulative(cost, deepest)
    unit = gcd(*(after - before for before, after in pairwise(exact))) or 1
    scaled = [c // unit for c in exact]
    return BlockTrace(
        parent=parent,
        size_upto=depth,
        cost_upto=[scaled[d] for d in depth],
        terminal=terminal,
        unit=Fraction(unit),
        cumulative=exact,
    )


def trace_of_instance(instance: Instance) -> BlockTrace:
    """The same form for an instance of the formal model: one block per node, with its size.

    The bound then holds for schedules that may keep any part of a node, so for the model's own.
    """
    scale = lcm(*(Fraction(c).denominator for c in instance.cost)) if instance.n else 1
    cost = [int(c * scale) for c in instance.cost]
    unit = gcd(*cost) or 1
    order = sorted(range(instance.n), key=lambda v: len(instance.path(v)))
    new = {v: i for i, v in enumerate(order)}
    parent: list[int] = []
    size_upto: list[int] = []
    cost_upto: list[int] = []
    for v in order:
        p = instance.parent[v]
        above = -1 if p is None else new[p]
        parent.append(above)
        size_upto.append(instance.size[v] + (size_upto[above] if above >= 0 else 0))
        cost_upto.append(cost[v] // unit + (cost_upto[above] if above >= 0 else 0))
    return BlockTrace(
        parent=parent,
        size_upto=size_upto,
        cost_upto=cost_upto,
        terminal=[new[v] for v in instance.requests],
        unit=Fraction(unit, scale),
        cumulative=None,
    )


def _cumulative(cost: CumulativeCost, deepest: int) -> tuple[int, ...]:
    if callable(cost):
        values = tuple(cost(d) for d in range(deepest + 1))
    else:
        if len(cost) <= deepest:
            raise OracleError(
                f"cost: {len(cost)} cumulative values, the deepest path needs {deepest + 1}"
            )
        values = tuple(cost[: deepest + 1])
    for d, value in enumerate(values):
        if isinstance(value, bool) or not isinstance(value, int):
            raise OracleError(f"cost at depth {d} = {value!r}: expected an exact integer")
        if not d and value:
            raise OracleError(f"cost at depth 0 = {value}: expected 0, no block costs nothing")
        if d and value < values[d - 1]:
            raise OracleError(
                f"cost at depth {d} = {value} is below {values[d - 1]} at depth {d - 1}: "
                "a cumulative cost must not fall"
            )
    return values


@dataclass(frozen=True, slots=True)
class Group:
    """Blocks of request ``end`` last accessed at ``start``, a contiguous depth range."""

    start: int
    end: int
    """Request, at least ``start + 2``."""
    above: int
    """The parent of the first block, -1 if the first block is a root."""
    bottom: int
    """The last block."""
    hull: tuple[tuple[int, int], ...]
    """Vertices ``(size, value)`` after the origin of the concave hull of (size kept, value kept)
    over the prefixes. One vertex, the whole group, where cost per size rises with depth."""

    @property
    def size(self) -> int:
        """Total size of the blocks."""
        return self.hull[-1][0]

    @property
    def value(self) -> int:
        """Total cost of the blocks, in units."""
        return self.hull[-1][1]


@dataclass(frozen=True, slots=True)
class Grouped:
    """What the bound needs of a trace."""

    groups: list[Group]
    """In order of ``end``, root first within a request."""
    pinned: list[int]
    """Size of the path of every request."""
    compulsory: int
    """Cost of first loads, in units."""

    @property
    def ceiling(self) -> int:
        """Cost of keeping nothing beyond the next request: compulsory and every group."""
        return self.compulsory + sum(g.value for g in self.groups)


def group_references(trace: BlockTrace) -> Grouped:
    """Groups, pinned sizes and the compulsory cost. Time: the number of references."""
    last = [-1] * len(trace.parent)
    parent = trace.parent
    groups: list[Group] = []
    compulsory = 0
    for t, terminal in enumerate(trace.terminal):
        here: list[Group] = []
        b = terminal
        while b >= 0:
            bottom, s = b, last[b]
            while b >= 0 and last[b] == s:
                last[b] = t
                b = parent[b]
            if s < 0:
                compulsory += trace.upto(bottom)[1] - trace.upto(b)[1]
            elif s < t - 1:
                here.append(Group(s, t, b, bottom, hull_of(trace, b, bottom)))
        groups.extend(reversed(here))
    pinned = [trace.size_upto[b] for b in trace.terminal]
    return Grouped(groups=groups, pinned=pinned, compulsory=compulsory)


def hull_of(trace: BlockTrace, above: int, bottom: int) -> tuple[tuple[int, int], ...]:
    """Concave hull of (size, value) over the prefixes of the blocks below ``above`` to ``bottom``.

    Examples
    --------
    >>> trace = trace_of_requests(["abc"], [0, 5, 6, 9])
    >>> hull_of(trace, -1, 2)
    ((1, 5), (3, 9))
    """
    size0, cost0 = trace.upto(above)
    # Built from the deep end up: `stack` holds the hull of the points seen, shallowest last.
    stack: list[tuple[int, int]] = []
    for b in [*reversed(trace.between(above, bottom)), above]:
        size, cost = trace.upto(b)
        x, y = size - size0, cost - cost0
        while len(stack) >= 2:
            (x1, y1), (x2, y2) = stack[-1], stack[-2]
            # Drop the middle point when it lies on or below the chord.
            if (y1 - y) * (x2 - x) > (y2 - y) * (x1 - x):
                break
            stack.pop()
        stack.append((x, y))
    stack.reverse()
    return tuple(stack[1:])
