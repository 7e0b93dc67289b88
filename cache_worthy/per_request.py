"""What each request paid, from the matched blocks of a replay (exact integers).

Per request, by depth: ``[0, matched)`` was resident, ``[matched, known)`` had been in the cache and
left, ``[known, length)`` was never seen before. The last parts sum to the compulsory cost.

Evidence: rank 2, the sums of both are raised when they do not hold; rank 5, ``known`` equals what a
cache of the whole working set matches (tests).
"""

from __future__ import annotations

from collections.abc import Sequence

from cache_worthy.sim.errors import InvariantError
from cache_worthy.sim.forest import PrefixForest
from cache_worthy.sim.replay import ReplayResult


def known_blocks(forest: PrefixForest) -> list[int]:
    """Per request the blocks of its path that an earlier request had: what no eviction leaves.

    Notes
    -----
    Time: static nodes once, plus the requests.

    Examples
    --------
    >>> from cache_worthy.sim.forest import build_forest
    >>> known_blocks(build_forest([(1, 2), (1, 3), (1, 2)]))
    [0, 1, 2]
    """
    up, end = forest.parent, forest.end
    seen = bytearray(len(up))
    known = []
    for terminal in forest.terminal:
        node = terminal
        while node >= 0 and not seen[node]:
            seen[node] = 1
            node = up[node]
        known.append(end[node] if node >= 0 else 0)
    return known


def require_sums(
    forest: PrefixForest, table: Sequence[int], known: Sequence[int], result: ReplayResult
) -> None:
    """Raise unless the parts of the requests sum to the replay's own totals.

    Parameters
    ----------
    table : sequence of int
        Cumulative cost by depth.
    known : sequence of int
        Of :func:`known_blocks`.
    result : ReplayResult

    Raises
    ------
    InvariantError
        If they do not, or a request matched a block that no earlier one had.
    """
    cost = table.__getitem__
    whole = sum(map(cost, forest.length))
    total, compulsory = result.total_cost, result.compulsory_cost
    if whole - sum(map(cost, result.matched)) != total:
        raise InvariantError(f"recompute by request does not sum to the replay's {total}")
    if whole - sum(map(cost, known)) != compulsory:
        raise InvariantError(f"first occurrences do not sum to the compulsory {compulsory}")
    if any(m > k for m, k in zip(result.matched, known, strict=True)):
        raise InvariantError("a request matched a block that no earlier request had")
