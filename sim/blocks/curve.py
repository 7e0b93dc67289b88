"""Belady's MIN at many capacities in one pass over the log.

MIN is a stack algorithm (R. L. Mattson, J. Gecsei, D. R. Slutz, I. L. Traiger, "Evaluation
techniques for storage hierarchies", IBM Systems Journal 9(2), 1970): what a cache holds, every
larger one holds too. So the contents of all the caches are one row of shelves, the first of them
the smallest cache, each next one what the next larger cache holds beyond, and a block lies on one
shelf at a time. What the smallest cache evicts goes down the row: every cache it was in evicts the
block it uses last, and that is either the block that comes down or the last used of its own shelf.

Why not one replay a capacity: the curve of 20 capacities on the conversation trace takes as long as
two of the replays, and no machine code is needed to be level with a peer in C++
(``scripts/bench/scale.py``).

Evidence: with ``bypass``, the hit tokens of kvcache-simulator's optimal policy at every capacity on
the conversation trace and on 10 copies of it (the bench fails where one differs); without, the
replays of ``flat_belady`` in every field, on random logs; both, plain list-based forms and the value
of the interval linear program.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from heapq import heappop, heappush, heappushpop, heapreplace

from cache_worthy.sim.blocks.policies.base import check_capacity
from cache_worthy.sim.blocks.replay import BlockReplay
from cache_worthy.sim.blocks.trace import BlockTrace
from cache_worthy.sim.errors import InputError, InvariantError


def belady_curve(
    trace: BlockTrace, capacities: Iterable[int], *, bypass: bool = False
) -> dict[int, BlockReplay]:
    """Belady's MIN at each capacity.

    Parameters
    ----------
    trace : BlockTrace
        The log.
    capacities : iterable of int
        Blocks, in any order.
    bypass : bool
        False: the policy ``flat_belady``, which takes in every block it references, one by one.
        True: the cache holds blocks between requests only and need not keep what was requested.
        No cache of that many blocks has more hits. What it keeps comes with its prefix, as a block
        is used whenever one behind it is; the one behind is given up first. It holds nothing that
        is not used again, so nothing at the end.

    Returns
    -------
    dict of int to BlockReplay
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
    At most O(capacities x log references) a reference; blocks never used again cost constant time.

    Examples
    --------
    >>> trace = BlockTrace.intern([[7, 8], [9], [7, 8], [9]], [1024, 512, 1024, 512])
    >>> [(c, r.hit_blocks) for c, r in belady_curve(trace, [3, 2, 1]).items()]
    [(1, 0), (2, 2), (3, 3)]
    >>> [(c, r.hit_blocks) for c, r in belady_curve(trace, [3, 2, 1], bypass=True).items()]
    [(1, 1), (2, 2), (3, 3)]
    """
    rooms = sorted(set(capacities))
    for capacity in rooms[:1]:
        check_capacity(capacity)
    if bypass and not trace.fixes_prefix:
        raise InputError("a block id stands behind two prefixes; intern the log by path")
    least = _least_that_hits(trace, rooms, bypass=bypass)
    matched: list[list[int]] = [[] for _ in rooms]
    start = 0
    for path in trace.blocks:
        k, length = 0, len(path)
        for shelf, found in enumerate(matched):
            while k < length and least[start + k] <= shelf:
                k += 1
            found.append(k)
        start += length
    curve = {}
    at_least = Counter(least)
    misses = len(least)
    for shelf, (capacity, found) in enumerate(zip(rooms, matched, strict=True)):
        misses -= at_least[shelf]
        hits = sum(found)
        if bypass and hits + misses != len(least):
            raise InvariantError(f"capacity {capacity}: a block is kept without its prefix")
        tokens = [min(k * trace.block_size, n) for k, n in zip(found, trace.lengths, strict=True)]
        curve[capacity] = BlockReplay(
            policy="belady_bypass" if bypass else "flat_belady",
            capacity_blocks=capacity,
            total_hit_tokens=sum(tokens),
            total_prompt_tokens=sum(trace.lengths),
            hit_blocks=hits,
            block_references=len(least),
            block_misses=misses,
            final_cache_blocks=0 if bypass else min(capacity, trace.distinct),
            matched=tuple(found),
            hit_tokens=tuple(tokens),
            prompt_tokens=tuple(trace.lengths),
        )
    return curve


def _least_that_hits(trace: BlockTrace, rooms: list[int], *, bypass: bool) -> list[int]:
    """For every reference, the index in ``rooms`` of the smallest cache that hits; their number
    for none.

    A block that is held stands by the place of its next reference (see `FlatBelady`), so the answer
    for a place is the shelf where its block lies when it is reached.
    """
    next_use = trace.next_uses()
    never = len(next_use)
    none = len(rooms)
    shelf_of = [none] * never
    # Free places by shelf; the last is what no cache holds, written and never read.
    free = [more - less for less, more in zip([0, *rooms], rooms, strict=False)] + [0]
    heaps: list[list[int]] = [[] for _ in rooms]
    first = heaps[0] if heaps else []
    deeper = list(enumerate(heaps))[1:]

    def pass_down(entry: int) -> None:
        """Take what the smallest cache evicts through the larger ones."""
        for shelf, heap in deeper:
            if free[shelf]:
                free[shelf] -= 1
                heappush(heap, entry)
                shelf_of[-entry] = shelf
                return
            if heap[0] < entry:
                shelf_of[-entry] = shelf
                entry = heapreplace(heap, entry)
        shelf_of[-entry] = none

    if not rooms:
        return shelf_of
    if bypass:
        start = 0
        for path in trace.blocks:
            end = start + len(path)
            for shelf in shelf_of[start:end]:
                free[shelf] += 1
            for upcoming in next_use[start:end]:
                if upcoming < never:
                    shelf_of[upcoming] = 0
                    if free[0]:
                        free[0] -= 1
                        heappush(first, -upcoming)
                    else:
                        pass_down(heappushpop(first, -upcoming))
            start = end
        return shelf_of
    for t, upcoming in enumerate(next_use):
        free[shelf_of[t]] += 1
        # A block never used again stands on no shelf; it takes the place made for it.
        if upcoming < never:
            shelf_of[upcoming] = 0
            if free[0]:
                free[0] -= 1
                heappush(first, -upcoming)
            else:
                pass_down(heapreplace(first, -upcoming))
        elif not free[0]:
            free[0] = 1
            pass_down(heappop(first))
    return shelf_of
