"""The formal model: a forest with sizes and costs, and a request sequence.

The model is stated in ``proofs/model.md``. ``theory`` and ``oracles`` share this one type and
nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeGuard

Number = int | Fraction

MAX_DIGITS = 1000
"""Digits of a number that is read: beyond it, sums of several could not be printed any more."""

_FORM = re.compile(r"-?[0-9]+(/[0-9]+)?")


class InstanceError(ValueError):
    """An instance that the model does not admit; the message says what, where and the range."""


@dataclass(frozen=True, slots=True)
class Instance:
    """A dependency-constrained caching instance ``(F, size, cost, sigma)``.

    Raises
    ------
    InstanceError
        If the lengths differ, a parent is out of range or lies on a cycle, a size is not a
        positive integer, a cost is negative or not exact, or a request names no node.

    Examples
    --------
    >>> instance = Instance(parent=(None, 0, 0, 1), size=(1, 2, 1, 3),
    ...                     cost=(4, 1, 7, 2), requests=(3, 2, 3, 2))
    >>> instance.path(3)
    (0, 1, 3)
    >>> instance.floor
    6
    """

    parent: tuple[int | None, ...]
    """``parent[v]`` is the node that must be resident for ``v`` to be; ``None`` for a root. Any
    order of nodes is allowed, cycles are not."""
    size: tuple[int, ...]
    """Positive integers, in the unit of the capacity."""
    cost: tuple[Number, ...]
    """Non-negative; the price of loading ``v`` while its ancestors are resident."""
    requests: tuple[int, ...]
    """The requested nodes in order. A request to ``v`` needs the whole path root..v."""

    def __post_init__(self) -> None:
        n = len(self.parent)
        if len(self.size) != n or len(self.cost) != n:
            raise InstanceError(
                f"parent, size and cost must have one entry per node: "
                f"got {n}, {len(self.size)} and {len(self.cost)}"
            )
        for v, p in enumerate(self.parent):
            if p is not None and not (is_integer(p) and 0 <= p < n):
                raise InstanceError(f"parent[{v}] = {p!r}: expected None or 0..{n - 1}")
        for v, s in enumerate(self.size):
            if not (is_integer(s) and s > 0):
                raise InstanceError(f"size[{v}] = {s!r}: expected a positive integer")
        for v, c in enumerate(self.cost):
            if not (is_integer(c) or isinstance(c, Fraction)) or c < 0:
                shown = str(c) if isinstance(c, Fraction) else repr(c)
                raise InstanceError(f"cost[{v}] = {shown}: expected an integer or Fraction >= 0")
        for t, v in enumerate(self.requests):
            if not (is_integer(v) and 0 <= v < n):
                raise InstanceError(f"requests[{t}] = {v!r}: expected a node, 0..{n - 1}")
        self._check_acyclic()

    def _check_acyclic(self) -> None:
        settled = [False] * self.n
        for v in range(self.n):
            walk: list[int] = []
            u: int | None = v
            while u is not None and not settled[u]:
                if u in walk:
                    raise InstanceError(f"parent: node {u} is its own ancestor")
                walk.append(u)
                u = self.parent[u]
            for w in walk:
                settled[w] = True

    @property
    def n(self) -> int:
        """Number of nodes."""
        return len(self.parent)

    def path(self, v: int) -> tuple[int, ...]:
        """Nodes from the root down to ``v``, both included. Time: depth."""
        out: list[int] = []
        u: int | None = v
        while u is not None:
            out.append(u)
            u = self.parent[u]
        return tuple(reversed(out))

    def children(self) -> tuple[tuple[int, ...], ...]:
        """Children of every node, in node order."""
        kids: list[list[int]] = [[] for _ in self.parent]
        for v, p in enumerate(self.parent):
            if p is not None:
                kids[p].append(v)
        return tuple(tuple(k) for k in kids)

    def path_size(self, v: int) -> int:
        """Total size of the path to ``v``."""
        return sum(self.size[u] for u in self.path(v))

    @property
    def floor(self) -> int:
        """Least capacity that can serve the requests: the largest requested path, 0 if none."""
        return max((self.path_size(v) for v in set(self.requests)), default=0)

    @property
    def compulsory(self) -> Number:
        """Cost that every schedule pays: each node on a requested path once."""
        return sum((self.cost[u] for u in self.touched()), 0)

    def touched(self) -> frozenset[int]:
        """Nodes on at least one requested path."""
        return frozenset(u for v in set(self.requests) for u in self.path(v))


def is_integer(value: object) -> TypeGuard[int]:
    """Whether this is an ``int`` and no ``bool``."""
    return isinstance(value, int) and not isinstance(value, bool)


def parse_number(value: object, where: str) -> Number:
    """Read an exact number: an integer, or a string ``"p"`` or ``"p/q"`` of decimal digits.

    Raises
    ------
    InstanceError
        For a float (inexact), a boolean, text that is neither form, or more than
        :data:`MAX_DIGITS` digits on either side of the stroke.

    Examples
    --------
    >>> parse_number("-6/4", "cost")
    Fraction(-3, 2)
    """
    if is_integer(value):
        return _short(value, where)
    if isinstance(value, Fraction):
        return value
    if isinstance(value, str) and _FORM.fullmatch(value):
        top, _, bottom = value.lstrip("-").partition("/")
        if max(len(top), len(bottom)) > MAX_DIGITS:
            raise InstanceError(_too_long(where))
        if not bottom or int(bottom):
            exact = Fraction(value)
            return int(exact) if exact.denominator == 1 else exact
    shown = repr(value)
    shown = shown if len(shown) <= 60 else shown[:57] + "..."
    raise InstanceError(f'{where} = {shown}: expected an integer or a string "p/q"')


def _short(value: int, where: str) -> int:
    if abs(value) >= 10**MAX_DIGITS:
        raise InstanceError(_too_long(where))
    return value


def _too_long(where: str) -> str:
    return f"{where}: expected a number of at most {MAX_DIGITS:,} digits"


def _cost(value: object, where: str) -> Number:
    number = parse_number(value, where)
    if number < 0:  # told here, in the form it was written in
        raise InstanceError(f'{where} = {value!r}: expected an integer or "p/q" >= 0')
    return number


def instance_from_mapping(data: Mapping[str, object]) -> Instance:
    """Build an instance from ``{parent, size, cost, requests}`` as JSON holds it.

    A root is ``null`` or ``-1``; costs are integers or ``"p/q"``. Other keys are ignored.

    Examples
    --------
    >>> instance_from_mapping({"parent": [-1, 0], "size": [1, 1], "cost": [0, "5/2"],
    ...                        "requests": [1]}).cost
    (0, Fraction(5, 2))
    """
    columns: dict[str, Sequence[object]] = {}
    for key in ("parent", "size", "cost", "requests"):
        column = data.get(key)
        if not isinstance(column, list | tuple):
            raise InstanceError(f"{key}: expected a list, got {type(column).__name__}")
        columns[key] = column
    return Instance(
        parent=tuple(
            None if p is None or (is_integer(p) and p == -1) else _integer(p, f"parent[{v}]")
            for v, p in enumerate(columns["parent"])
        ),
        size=_integers(columns["size"], "size"),
        cost=tuple(_cost(c, f"cost[{v}]") for v, c in enumerate(columns["cost"])),
        requests=_integers(columns["requests"], "requests"),
    )


def _integer(value: object, where: str) -> int:
    if is_integer(value):
        return _short(value, where)
    raise InstanceError(f"{where} = {value!r}: expected an integer")


def _integers(column: Iterable[object], name: str) -> tuple[int, ...]:
    return tuple(_integer(x, f"{name}[{i}]") for i, x in enumerate(column))
