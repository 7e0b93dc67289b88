"""Tree Belady and LPround block by block: the obvious reference of oracles/bound/clairvoyant.py.

Every block has its own key and its own place in the heap; nothing is grouped.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from cache_worthy.oracles.bound.groups import BlockTrace, Grouped
from cache_worthy.oracles.schedule import check_schedule
from cache_worthy.theory.instance import Instance, Number


class ReplayError(RuntimeError):
    """An invariant of the replay is broken."""


def keep_until(
    trace: BlockTrace, grouped: Grouped, kept: Sequence[float]
) -> dict[tuple[int, int], int]:
    """Of every group that is kept in part: (start, end) -> the size that its prefix reaches to."""
    out: dict[tuple[int, int], int] = {}
    for g, y in zip(grouped.groups, kept, strict=True):
        base = trace.size_upto[g.above] if g.above >= 0 else 0
        out[g.start, g.end] = base + int(y + 1e-6)
    return out


def _next_uses(trace: BlockTrace) -> list[list[int]]:
    """Per request, the next use of every block of its path, root first."""
    never = len(trace.terminal)
    upcoming = [never] * len(trace.parent)
    out: list[list[int]] = [[]] * never
    for t in range(never - 1, -1, -1):
        path = trace.path(t)
        out[t] = [upcoming[b] for b in path]
        for b in path:
            upcoming[b] = t
    return out


class _Cache:
    """What is resident, and the leaves in the order in which they would be evicted."""

    def __init__(self, trace: BlockTrace, capacity: int) -> None:
        blocks = len(trace.parent)
        self.trace, self.capacity = trace, capacity
        self.resident = bytearray(blocks)
        self.pinned_at = [-1] * blocks
        self.children = [0] * blocks
        self.key: list[tuple[int, int, int] | None] = [None] * blocks
        self.heap: list[tuple[tuple[int, int, int], int]] = []
        self.used = self.cost = 0

    def own(self, upto: Sequence[int], b: int) -> int:
        """Size or cost of one block."""
        above = self.trace.parent[b]
        return upto[b] - (upto[above] if above >= 0 else 0)

    def push(self, t: int, b: int) -> None:
        key = self.key[b]
        if key is None:
            raise ReplayError(f"request {t}: block {b} resident without a key")
        heapq.heappush(self.heap, (key, b))

    def make_room(self, t: int, missing: int) -> None:
        """Evict until so much fits beside what stays."""
        while self.used + missing > self.capacity:
            if not self.heap:
                raise ReplayError(
                    f"request {t}: nothing evictable, {self.used} of {self.capacity} used"
                )
            entry, b = heapq.heappop(self.heap)
            outdated = not self.resident[b] or self.key[b] != entry or self.children[b]
            if outdated or self.pinned_at[b] == t:
                continue  # pinned leaves come back after the request
            self.resident[b] = 0
            self.used -= self.own(self.trace.size_upto, b)
            above = self.trace.parent[b]
            if above >= 0:
                self.children[above] -= 1
                if not self.children[above] and self.pinned_at[above] != t:
                    self.push(t, above)

    def load(self, t: int, b: int) -> None:
        above = self.trace.parent[b]
        if above >= 0:
            if not self.resident[above]:
                raise ReplayError(f"request {t}: block {b} loaded without its parent")
            self.children[above] += 1
        self.resident[b] = 1
        self.used += self.own(self.trace.size_upto, b)
        self.cost += self.own(self.trace.cost_upto, b)

    def serve(self, t: int, path: Sequence[int]) -> None:
        for b in path:
            self.pinned_at[b] = t
        missing = [b for b in path if not self.resident[b]]
        self.make_room(t, sum(self.own(self.trace.size_upto, b) for b in missing))
        for b in missing:
            self.load(t, b)
        if self.used > self.capacity:
            raise ReplayError(f"request {t}: {self.used} resident, capacity {self.capacity}")


def _wanted(
    t: int, upcoming: int, reach: int, keep: dict[tuple[int, int], int], never: int
) -> bool:
    """Whether the relaxation keeps a block that reaches to ``reach`` until its next use."""
    if upcoming == t + 1:
        return True
    return upcoming != never and reach <= keep.get((t, upcoming), 0)


def replay_blocks(trace: BlockTrace, capacity: int, keep: dict[tuple[int, int], int] | None) -> int:
    """Cost of tree Belady, or with ``keep`` of the rounded relaxation."""
    cache = _Cache(trace, capacity)
    never = len(trace.terminal)
    uses = _next_uses(trace)
    for t in range(never):
        path = trace.path(t)
        cache.serve(t, path)
        whole = keep is not None
        for b, n in zip(path, uses[t], strict=True):
            size = trace.size_upto[b]
            whole = whole and _wanted(t, n, size, keep or {}, never)
            cache.key[b] = (int(whole), -n, -size)
        for b in path:
            if not cache.children[b]:
                cache.push(t, b)
        uses[t] = []
    _check_closed(trace, cache.resident, cache.used)
    return cache.cost


def _check_closed(trace: BlockTrace, resident: bytearray, used: int) -> None:
    """Recount what is resident at the end."""
    total = 0
    for b, here in enumerate(resident):
        if here:
            above = trace.parent[b]
            if above >= 0 and not resident[above]:
                raise ReplayError(f"block {b} resident without its parent {above}")
            total += trace.size_upto[b] - (trace.size_upto[above] if above >= 0 else 0)
    if total != used:
        raise ReplayError(f"{total} resident, {used} accounted for")


def belady_by_nodes(instance: Instance, capacity: int) -> Number:
    """Cost of Belady's order on a forest, one whole node at a time: furthest next use, then deepest.

    It must always meet a leaf, because a node is used whenever a descendant is.
    """
    depth = [len(instance.path(v)) for v in range(instance.n)]
    children = instance.children()
    paths = [frozenset(instance.path(v)) for v in range(instance.n)]
    resident: set[int] = set()
    states: list[frozenset[int]] = []
    for t, v in enumerate(instance.requests):

        def next_use(u: int, now: int = t) -> int:
            later = range(now + 1, len(instance.requests))
            return next((i for i in later if u in paths[instance.requests[i]]), len(states) + 10**9)

        while sum(instance.size[u] for u in resident | paths[v]) > capacity:
            victim = max(resident - paths[v], key=lambda u: (next_use(u), depth[u], u))
            if resident & set(children[victim]):
                raise ReplayError(f"request {t}: node {victim} is not a leaf")
            resident.remove(victim)
        resident |= paths[v]
        states.append(frozenset(resident))
    return check_schedule(instance, capacity, states)
