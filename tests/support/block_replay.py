"""Tree Belady and LPround block by block: the obvious reference of oracles/bound/clairvoyant.py.

Every block has its own key and its own place in the heap; nothing is grouped.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from cache_worthy.oracles.bound.groups import BlockTrace, Grouped


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


def replay_blocks(trace: BlockTrace, capacity: int, keep: dict[tuple[int, int], int] | None) -> int:
    parent, size_upto, cost_upto = trace.parent, trace.size_upto, trace.cost_upto
    blocks = len(parent)
    resident = bytearray(blocks)
    pinned_at = [-1] * blocks
    resident_children = [0] * blocks
    key: list[tuple[int, int, int] | None] = [None] * blocks
    heap: list[tuple[tuple[int, int, int], int]] = []
    never = len(trace.terminal)
    used = cost = 0
    uses = _next_uses(trace)
    for t in range(never):
        path = trace.path(t)
        missing = 0
        for b in path:
            pinned_at[b] = t
            if not resident[b]:
                above = parent[b]
                missing += size_upto[b] - (size_upto[above] if above >= 0 else 0)
        while used + missing > capacity:
            if not heap:
                raise ReplayError(f"request {t}: nothing evictable, {used} of {capacity} used")
            entry, b = heapq.heappop(heap)
            if not resident[b] or key[b] != entry or resident_children[b] or pinned_at[b] == t:
                continue  # outdated; pinned leaves come back after the request
            resident[b] = 0
            above = parent[b]
            used -= size_upto[b] - (size_upto[above] if above >= 0 else 0)
            if above >= 0:
                resident_children[above] -= 1
                if not resident_children[above] and pinned_at[above] != t:
                    k = key[above]
                    if k is None:
                        raise ReplayError(f"request {t}: block {above} resident without a key")
                    heapq.heappush(heap, (k, above))
        for b in path:
            if resident[b]:
                continue
            above = parent[b]
            if above >= 0:
                if not resident[above]:
                    raise ReplayError(f"request {t}: block {b} loaded without its parent")
                resident_children[above] += 1
            resident[b] = 1
            used += size_upto[b] - (size_upto[above] if above >= 0 else 0)
            cost += cost_upto[b] - (cost_upto[above] if above >= 0 else 0)
        if used > capacity:
            raise ReplayError(f"request {t}: {used} resident, capacity {capacity}")
        whole = True
        for b, n in zip(path, uses[t], strict=True):
            rank = 0
            if keep is not None:
                if n == t + 1:
                    wanted = True
                elif n == never:
                    wanted = False
                else:
                    wanted = size_upto[b] <= keep.get((t, n), 0)
                whole = whole and wanted
                rank = 1 if whole else 0
            key[b] = (rank, -n, -size_upto[b])
        for b in path:
            if not resident_children[b]:
                k = key[b]
                if k is None:
                    raise ReplayError(f"request {t}: block {b} resident without a key")
                heapq.heappush(heap, (k, b))
        uses[t] = []
    _check_closed(trace, resident, used)
    return cost


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
