"""Quantiles without numpy, whose import costs more than most commands take."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import TypeVar

Number = TypeVar("Number", int, float)


def quantile(ordered: Sequence[float], q: float) -> float:
    """The ``q``-quantile of sorted values, linear between neighbours.

    Source: Hyndman and Fan 1996, definition 7 (numpy's default).

    Examples
    --------
    >>> quantile([1, 2, 3, 4], 0.5), quantile([1, 2, 3, 4], 0.9)
    (2.5, 3.7)
    """
    position = q * (len(ordered) - 1)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    share = position - below
    return ordered[below] * (1 - share) + ordered[above] * share if share else ordered[below]


def nearest_rank(counts: Mapping[Number, int], percent: int) -> Number:
    """The least value that at least ``percent`` percent of the counted ones do not exceed.

    Source: Hyndman and Fan 1996, definition 1.

    Parameters
    ----------
    counts : mapping of a number to int
        How often each value occurs; at least one.
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
