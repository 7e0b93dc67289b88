"""What each request paid, from the matched blocks of a replay (exact integers).

Per request, by depth: ``[0, matched)`` was resident, ``[matched, known)`` had been cached and evicted,
``[known, length)`` was new. The new parts sum to the compulsory cost.

Evidence: rank 2, both sums are checked in every run; rank 5, ``known`` equals what a
cache of the whole working set matches (tests).
"""

from __future__ import annotations

import operator
import sys
from array import array
from collections import Counter
from collections.abc import Sequence

from cache_worthy.sim.errors import InvariantError
from cache_worthy.sim.forest import Forest
from cache_worthy.sim.outcome import Outcome


def known_blocks(forest: Forest) -> list[int]:
    """Per request, the blocks of its path that an earlier request had: its hits without evictions.

    Notes
    -----
    Time: linear in the nodes and the requests.

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


def by_depth(blocks: Sequence[int]) -> Counter[int]:
    """How often each depth occurs; by numpy where it is loaded, as it is for every large log.

    Examples
    --------
    >>> by_depth([0, 2, 2])
    Counter({2: 2, 0: 1})
    """
    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(blocks, array):
        return Counter(blocks)
    found = numpy.bincount(numpy.frombuffer(blocks, blocks.typecode)) if blocks else []
    return Counter({depth: int(n) for depth, n in enumerate(found) if n})


def summed(table: Sequence[int], counts: Counter[int]) -> int:
    """Cumulative costs summed over depths that occur ``counts`` times.

    Examples
    --------
    >>> summed([0, 5, 11], by_depth([0, 2, 2]))
    22
    """
    return sum(n * table[depth] for depth, n in counts.items())


def require_sums(
    forest: Forest, table: Sequence[int], known: Sequence[int], result: Outcome
) -> None:
    """Raise unless the parts of the requests sum to the replay's own totals.

    Parameters
    ----------
    table : sequence of int
        Cumulative cost by depth.
    known : sequence of int
        Of :func:`known_blocks`.
    result : Outcome

    Raises
    ------
    InvariantError
        If they do not, or a request matched a block that no earlier one had.
    """
    whole = summed(table, forest.lengths)
    total, compulsory = result.total_cost, result.compulsory_cost
    if whole - summed(table, by_depth(result.matched)) != total:
        raise InvariantError(f"recompute by request does not sum to the replay's {total}")
    if whole - summed(table, by_depth(known)) != compulsory:
        raise InvariantError(f"first occurrences do not sum to the compulsory {compulsory}")
    if not all(map(operator.le, result.matched, known)):
        raise InvariantError("a request matched a block that no earlier request had")
