"""Small forests up to isomorphism, with sizes, and their symmetries: what the searches enumerate."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

Parent = tuple[int | None, ...]
_Shape = tuple[Any, ...]
Tick = Callable[[], None]
"""Called again and again by a long enumeration; it may raise to stop it."""


def _no_tick() -> None:
    pass


def forests(n: int) -> Iterator[Parent]:
    """Rooted forests on ``n`` nodes up to isomorphism, parents before children.

    The number of them is that of rooted trees on ``n + 1`` nodes: 1, 2, 4, 9, 20, 48, 115 for
    n = 1..7 (OEIS A000081).

    Examples
    --------
    >>> [sum(1 for _ in forests(n)) for n in range(1, 8)]
    [1, 2, 4, 9, 20, 48, 115]
    """
    for shapes in _shapes(n, n):
        parent: list[int | None] = []
        for shape in shapes:
            _lay_out(shape, None, parent)
        yield tuple(parent)


def _shapes(total: int, largest: int) -> Iterator[tuple[_Shape, ...]]:
    """Multisets of rooted trees with ``total`` nodes, largest tree first."""
    if total == 0:
        yield ()
        return
    for size in range(min(total, largest), 0, -1):
        trees = list(_shapes(size - 1, size - 1))
        for count in range(total // size, 0, -1):
            for chosen in itertools.combinations_with_replacement(trees, count):
                for rest in _shapes(total - count * size, size - 1):
                    yield chosen + rest


def _lay_out(shape: _Shape, above: int | None, parent: list[int | None]) -> None:
    parent.append(above)
    here = len(parent) - 1
    for child in shape:
        _lay_out(child, here, parent)


def symmetries(
    parent: Parent, size: tuple[int, ...], tick: Tick = _no_tick
) -> tuple[tuple[int, ...], ...]:
    """Permutations of the nodes that keep parents and sizes, the identity among them.

    Time: ``n!``, for searches on a handful of nodes; ``tick`` is called at every permutation.

    Examples
    --------
    >>> symmetries((None, None, 1), (1, 1, 1))
    ((0, 1, 2),)
    >>> symmetries((None, 0, 0), (1, 2, 2))
    ((0, 1, 2), (0, 2, 1))
    """
    found: list[tuple[int, ...]] = []
    for g in itertools.permutations(range(len(parent))):
        tick()
        if all(
            size[g[v]] == size[v] and parent[g[v]] == (None if p is None else g[p])
            for v, p in enumerate(parent)
        ):
            found.append(g)
    return tuple(found)


def sized_forests(
    n: int, max_size: int, tick: Tick = _no_tick
) -> Iterator[tuple[Parent, tuple[int, ...]]]:
    """Forests on ``n`` nodes with sizes ``1..max_size``, up to isomorphism.

    ``tick`` is called at every labelled size vector, and at every permutation of the nodes.

    Examples
    --------
    >>> sum(1 for _ in sized_forests(3, 1)), sum(1 for _ in sized_forests(2, 2))
    (4, 7)
    """
    for parent in forests(n):
        group = symmetries(parent, (1,) * n, tick)
        for size in itertools.product(range(1, max_size + 1), repeat=n):
            tick()
            if size == min(tuple(size[g[v]] for v in range(n)) for g in group):
                yield parent, size
