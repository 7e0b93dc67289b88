"""Quantiles without numpy, whose import costs more than most commands take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


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


def weighted_quantile(counts: Mapping[int, int], q: float) -> int:
    """The least value that at least the share ``q`` of the counted items do not exceed.

    Examples
    --------
    >>> weighted_quantile({1: 5, 7: 4, 9: 1}, 0.5), weighted_quantile({1: 5, 7: 4, 9: 1}, 0.51)
    (1, 7)
    """
    total = sum(counts.values())
    seen = 0
    for value in sorted(counts):
        seen += counts[value]
        if seen >= q * total:
            return value
    raise ValueError("no counts")
