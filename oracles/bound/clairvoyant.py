"""Feasible schedules from above: Belady's rule on the tree, and the linear program rounded.

Both serve the requests one at a time under demand paging with the requested path pinned, evicting
single blocks without resident children, and differ in the order of eviction only:

* *tree Belady*: furthest next use first, the deeper block first on ties. A block is used whenever a
  descendant is, so this order alone always meets a leaf first.
* *LPround*: blocks the linear program does not keep go first, in Belady's order; then those it
  keeps, in the same order. A block counts as kept only when its ancestors are.

The replay works on groups, not on blocks. Blocks that are never requested again leave at once and
cost nothing, and a pinned block is resident anyway, so only a prefix of each group that spans the
request competes for room. It keeps one counter per block, the groups that hang from it, and an
eviction that would leave a resident block without its parent raises. The same two rules replayed
block by block (``tests/support/block_replay.py``, the obvious reference) give exactly the same cost, at a
tenth of the speed.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from cache_worthy.oracles.bound.groups import BlockTrace, Grouped
from cache_worthy.oracles.bound.lp import require_room
from cache_worthy.oracles.schedule import ScheduleError


def tree_belady(trace: BlockTrace, grouped: Grouped, capacity: int) -> int:
    """Cost of evicting the block of furthest next use, the deeper on ties; in units of the trace.

    Notes
    -----
    Time: groups x log(groups) plus the blocks evicted.
    """
    return _Replay(trace, grouped, capacity, None).run()


def round_relaxation(
    trace: BlockTrace, grouped: Grouped, capacity: int, kept: Sequence[float]
) -> int:
    """Cost of following the linear program where it can be followed, in units of the trace.

    Parameters
    ----------
    kept : sequence of float
        Size kept of every group of ``grouped``, as :class:`~cache_worthy.oracles.bound.lp.Relaxation`
        has it; the fractional part is dropped.
    """
    # What the program keeps, as the size of the path down to the end of the kept prefix.
    reach: list[int] = []
    whole: dict[tuple[int, int], bool] = {}
    for g, y in zip(grouped.groups, kept, strict=True):
        reach.append(trace.upto(g.above)[0] + int(y + 1e-6))
        whole[g.start, g.end] = reach[-1] == trace.size_upto[g.bottom]
    # Groups that start together lie on one path, the sooner used above: below one that is not kept
    # whole nothing can be kept.
    for start, members in _by_start(grouped).items():
        blocked = False
        for i in sorted(members, key=lambda i: grouped.groups[i].end):
            if blocked:
                reach[i] = 0
            blocked = blocked or not whole[start, grouped.groups[i].end]
    return _Replay(trace, grouped, capacity, reach).run()


def _by_start(grouped: Grouped) -> dict[int, list[int]]:
    out: dict[int, list[int]] = {}
    for i, g in enumerate(grouped.groups):
        out.setdefault(g.start, []).append(i)
    return out


class _Replay:
    """State: per group its deepest resident block; per block the resident groups below it."""

    def __init__(
        self, trace: BlockTrace, grouped: Grouped, capacity: int, reach: Sequence[int] | None
    ) -> None:
        require_room(grouped.pinned, capacity)
        self.trace = trace
        self.groups = grouped.groups
        self.grouped = grouped
        self.capacity = capacity
        self.reach = reach
        self.tip = [g.above for g in self.groups]  # deepest resident block; `above` when empty
        self.active = bytearray(len(self.groups))
        self.hanging: dict[int, int] = {}
        self.tip_of: dict[int, int] = {}  # block -> the active group it is the tip of
        self.heap: list[tuple[int, int, int, int, int]] = []
        self.held = 0

    def run(self) -> int:
        """Serve all requests; the cost of all loads."""
        starting = _by_start(self.grouped)
        saved = 0
        i = 0
        for t, pinned in enumerate(self.grouped.pinned):
            for j in starting.get(t - 1, ()):
                self._enter(j)
            whole = True
            while i < len(self.groups) and self.groups[i].end == t:
                if not whole and self.tip[i] != self.groups[i].above:
                    raise ScheduleError(f"request {t}: blocks resident without their parent")
                whole = whole and self.tip[i] == self.groups[i].bottom
                saved += self._leave(i)
                i += 1
            room = self.capacity - pinned
            while self.held > room:
                self._evict(t, room)
        if self.held or any(self.active) or any(self.hanging.values()):
            raise ScheduleError(f"{self.held} still held after the last request")
        return self.grouped.ceiling - saved

    def _enter(self, i: int) -> None:
        g = self.groups[i]
        self.active[i] = 1
        self.tip[i] = g.bottom
        self.tip_of[g.bottom] = i
        self.held += g.size
        if g.above >= 0:
            self.hanging[g.above] = self.hanging.get(g.above, 0) + 1
        self._offer(i)

    def _leave(self, i: int) -> int:
        """The group is requested: the value of what was kept of it."""
        g, tip = self.groups[i], self.tip[i]
        self.active[i] = 0
        if tip == g.above:
            return 0
        del self.tip_of[tip]
        self.held -= self.trace.upto(tip)[0] - self.trace.upto(g.above)[0]
        if g.above >= 0:
            # Whether or not this frees the block above: it is on the requested path, too.
            self.hanging[g.above] -= 1
        self.tip[i] = g.above
        return self.trace.upto(tip)[1] - self.trace.upto(g.above)[1]

    def _offer(self, i: int) -> None:
        """Make the tip of a group a candidate for eviction, unless a resident group hangs there."""
        g, tip = self.groups[i], self.tip[i]
        if not self.hanging.get(tip):
            rank = 0 if self.reach is None or self.trace.upto(tip)[0] > self.reach[i] else 1
            heapq.heappush(self.heap, (rank, -g.end, g.start, i, tip))

    def _evict(self, t: int, room: int) -> None:
        """Take blocks of the first group in order, until there is room or its rank changes."""
        if not self.heap:
            raise ScheduleError(f"request {t}: {self.held} kept besides the path, room for {room}")
        rank, _, _, i, tip = heapq.heappop(self.heap)
        if not self.active[i] or self.tip[i] != tip or self.hanging.get(tip):
            return  # outdated
        g = self.groups[i]
        parent = self.trace.parent
        stop = 0 if self.reach is None or rank else self.reach[i]
        del self.tip_of[tip]
        while self.held > room and tip != g.above and self.trace.upto(tip)[0] > stop:
            if self.hanging.get(tip):
                if self.reach is None:
                    raise ScheduleError(f"request {t}: block {tip} is not a leaf")
                break
            self.held -= self.trace.upto(tip)[0] - self.trace.upto(parent[tip])[0]
            tip = parent[tip]
        self.tip[i] = tip
        if tip != g.above:
            self.tip_of[tip] = i
            self._offer(i)
        elif tip >= 0:
            self.hanging[tip] -= 1
            if not self.hanging[tip] and tip in self.tip_of:
                self._offer(self.tip_of[tip])
