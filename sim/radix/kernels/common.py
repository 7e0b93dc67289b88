"""What the kernels share: how they are compiled, the types of their arrays, two steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit

from cache_worthy.sim.radix import choose

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """``function`` as machine code, kept on disk where there is a place that can be written to.

    Plain IEEE arithmetic (no fastmath): the results must be those of Python's floats, bit for bit.
    """
    try:
        made = njit(cache=choose.on_disk, nogil=True, error_model="numpy")(function)
    except RuntimeError:  # numba found no place: it compiles in every process then
        made = njit(nogil=True, error_model="numpy")(function)
    return cast(F, made)


# Indices are unsigned integers of 64 bits throughout: numba tests every signed one for being
# negative, and with the tests on every link that is followed a replay takes half as much again.
U = np.uint64
NONE, ONE, TWO = U(0), U(1), U(2)


def record(**kinds: type) -> np.dtype[Any]:
    """Fields side by side, in one line of the processor's cache and not in one each.

    As ``np.record`` their names are attributes without numba too.
    """
    return np.dtype((np.record, list(kinds.items())))


@compiled
def look_up(ranks: Any, pairs: Any, weights: Any, pair: Any) -> float:
    """The weight of a pair of depths, by a table of all pairs or else by bisection."""
    if len(ranks) > 0:
        known: float = weights[ranks[pair]]
        return known
    low = NONE
    high = U(len(pairs))
    while low < high:
        middle = (low + high) >> ONE
        if pairs[middle] < pair:
            low = middle + ONE
        else:
            high = middle
    found: float = weights[low]
    return found


@compiled
def books(
    up: Any, start: Any, end: Any, sizes: Any, resident: Any, used: int, capacity: int
) -> tuple[int, int]:
    """Status and place of the first fault at the end of a replay; zeros where there is none."""
    whole = 0
    for static in range(len(up) - 1):
        if resident[static] != 0:
            whole += sizes[end[static]] - sizes[start[static]]
            if resident[up[static]] == 0:
                return 2, static
    return (3, whole) if whole != used or used > capacity else (0, 0)
