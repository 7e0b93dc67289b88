"""Belady's MIN at many capacities in one pass over the log.

MIN is a stack algorithm (R. L. Mattson, J. Gecsei, D. R. Slutz, I. L. Traiger, "Evaluation
techniques for storage hierarchies", IBM Systems Journal 9(2), 1970): what a cache holds, every
larger one holds too. So the contents of all caches are a row of shelves: the first is the smallest
cache, each next one what the next larger cache holds in addition, and a block is on one shelf at a
time. What the smallest cache evicts is passed down the row: every cache it was in evicts the block
used last, either the one passed down or the last used of its own shelf.

The curve of 20 capacities on the conversation trace takes as long as two replays, about the time of a
peer in C++ (``scripts/bench/scale.py``).

Evidence: with ``bypass``, the hit tokens of kvcache-simulator's optimal policy at every capacity on
the conversation trace and on 10 copies of it (the bench fails where one differs); without, the
replays of ``flat_belady`` in every field, on random logs; both, plain list-based forms and the value
of the interval linear program.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from heapq import heappop, heappush, heappushpop, heapreplace

from cache_worthy.sim.blocks.log import BlockLog
from cache_worthy.sim.blocks.policies.base import check_capacity
from cache_worthy.sim.blocks.replay import outcome_of
from cache_worthy.sim.errors import InputError, InvariantError
from cache_worthy.sim.outcome import Outcome


def belady_curve(
    log: BlockLog, capacities: Iterable[int], *, bypass: bool = False
) -> dict[int, Outcome]:
    """Belady's MIN at each capacity.

    Parameters
    ----------
    log : BlockLog
    capacities : iterable of int
        Blocks, in any order.
    bypass : bool
        False: the policy ``flat_belady``, which takes in every block it references, one by one.
        True: the cache holds blocks between requests only and need not keep what was requested.
        No cache of that many blocks has more hits. What it keeps comes with its prefix, because a
        block is used whenever one behind it is. At the end it holds nothing.

    Returns
    -------
    dict of int to Outcome
        By capacity, ascending.

    Raises
    ------
    CapacityError
        For a capacity that is not positive.
    InputError
        For ``bypass`` with ids that do not fix their prefix.
    InvariantError
        When a kept block lacks its prefix.

    Notes
    -----
    At most O(capacities x log references) per reference; constant for blocks never used again.

    Examples
    --------
    >>> log = BlockLog.intern([[7, 8], [9], [7, 8], [9]], [1024, 512, 1024, 512])
    >>> [(c, r.hit_blocks) for c, r in belady_curve(log, [3, 2, 1]).items()]
    [(1, 0), (2, 2), (3, 3)]
    >>> [(c, r.hit_blocks) for c, r in belady_curve(log, [3, 2, 1], bypass=True).items()]
    [(1, 1), (2, 2), (3, 3)]
    """
    rooms = sorted(set(capacities))
    if not rooms:
        return {}
    check_capacity(rooms[0])
    if bypass and not log.fixes_prefix:
        raise InputError("a block id stands behind two prefixes; intern the log by path")
    least = (_least_with_bypass if bypass else _least)(log, rooms)
    matched = _matched(log, least, len(rooms))
    curve, at_least, misses = {}, Counter(least), len(least)
    for shelf, (capacity, found) in enumerate(zip(rooms, matched, strict=True)):
        misses -= at_least[shelf]
        if bypass and sum(found) + misses != len(least):
            raise InvariantError(f"capacity {capacity}: a block is kept without its prefix")
        resident = 0 if bypass else min(capacity, log.distinct)
        curve[capacity] = outcome_of(log, found, capacity, misses, resident)
    return curve


def _matched(log: BlockLog, least: list[int], rooms: int) -> list[list[int]]:
    """Per capacity and request the blocks of the prefix that hit."""
    matched: list[list[int]] = [[] for _ in range(rooms)]
    start = 0
    for path in log.blocks:
        k, length = 0, len(path)
        for shelf, found in enumerate(matched):
            while k < length and least[start + k] <= shelf:
                k += 1
            found.append(k)
        start += length
    return matched


class _Shelves:
    """What each capacity holds beyond the next smaller one, under MIN.

    A held block is known by the position of its next reference (see `FlatBelady`), so the smallest
    cache that hits there is the shelf its block is on. ``of`` has the shelf by position, ``free`` the
    free space by shelf (the last, for no shelf, is never read), ``first`` the heap of the smallest
    cache, of negated positions.
    """

    def __init__(self, rooms: list[int], references: int) -> None:
        self.of = [len(rooms)] * references
        self.free = [more - less for less, more in zip([0, *rooms], rooms, strict=False)] + [0]
        heaps: list[list[int]] = [[] for _ in rooms]
        self.first = heaps[0]
        self.deeper = list(enumerate(heaps))[1:]

    def pass_down(self, entry: int) -> None:
        """Take what the smallest cache evicts through the larger ones."""
        free, of = self.free, self.of
        for shelf, heap in self.deeper:
            if free[shelf]:
                free[shelf] -= 1
                heappush(heap, entry)
                of[-entry] = shelf
                return
            if heap[0] < entry:
                of[-entry] = shelf
                entry = heapreplace(heap, entry)
        of[-entry] = len(free) - 1


def _least(log: BlockLog, rooms: list[int]) -> list[int]:
    """For every reference, the index in ``rooms`` of the smallest cache that hits, if any."""
    next_use = log.next_uses()
    never = len(next_use)
    shelves = _Shelves(rooms, never)
    of, free, first, pass_down = shelves.of, shelves.free, shelves.first, shelves.pass_down
    for t, upcoming in enumerate(next_use):
        free[of[t]] += 1
        # A block never used again is on no shelf; it takes the free space made for it.
        if upcoming < never:
            of[upcoming] = 0
            if free[0]:
                free[0] -= 1
                heappush(first, -upcoming)
            else:
                pass_down(heapreplace(first, -upcoming))
        elif not free[0]:
            free[0] = 1
            pass_down(heappop(first))
    return of


def _least_with_bypass(log: BlockLog, rooms: list[int]) -> list[int]:
    """As :func:`_least` for caches that hold blocks between requests only."""
    next_use = log.next_uses()
    never = len(next_use)
    shelves = _Shelves(rooms, never)
    of, free, first, pass_down = shelves.of, shelves.free, shelves.first, shelves.pass_down
    start = 0
    for path in log.blocks:
        end = start + len(path)
        for shelf in of[start:end]:
            free[shelf] += 1
        for upcoming in next_use[start:end]:
            if upcoming < never:
                of[upcoming] = 0
                if free[0]:
                    free[0] -= 1
                    heappush(first, -upcoming)
                else:
                    pass_down(heappushpop(first, -upcoming))
        start = end
    return of
