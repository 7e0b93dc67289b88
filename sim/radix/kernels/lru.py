"""The kernel of LRU, which needs no heap."""

from __future__ import annotations

from typing import Any

import numpy as np

from cache_worthy.sim.radix.kernels.common import U, books, compiled


@compiled
def lru(
    terminals: Any, up: Any, start: Any, end: Any, sizes: Any, capacity: int, matched: Any
) -> tuple[int, int, int, int, int, int]:
    """What :func:`rules` finds where the key is the clock of the last use, without a heap.

    The blocks last used by one request are the lower end of its path. So the oldest clock that some
    node still has is that of a childless node, the deepest of them, and never that of two: victims
    are found by walking up the path of one request after another, and no node is ranked. Nodes are
    kept on the static ones: ``below[n]`` is the one that continues the online node of ``n``.
    """
    root = U(len(up) - 1)
    resident = np.zeros(len(up), np.uint32)  # clock of the last use, 0 when absent
    resident[root] = len(terminals) + 1
    below = np.full(len(up), len(up) - 1, np.uint32)  # the root is below none
    reused = np.zeros(len(up), np.bool_)

    evictions = 0
    once = 0
    evicted = 0
    used = 0
    clock = 0
    oldest = 0
    bottom = root
    for request in terminals:
        clock += 1
        terminal = U(request)
        deepest = terminal
        while resident[deepest] == 0:
            deepest = U(up[deepest])
        i = end[deepest]
        matched[clock - 1] = i
        below[deepest] = root  # the request leaves or ends here, which splits what goes on
        node = deepest
        while node != root:
            resident[node] = clock
            reused[node] = True
            node = U(up[node])
        if deepest == terminal:
            continue
        need = sizes[end[terminal]] - sizes[i]
        while used + need > capacity:
            while resident[bottom] != oldest:
                oldest += 1
                if oldest == clock:
                    return 1, clock, evictions, once, evicted, used
                bottom = U(terminals[oldest - 1])
            evictions += 1
            if not reused[bottom]:
                once += 1
            freed = sizes[end[bottom]]
            resident[bottom] = 0
            above = U(up[bottom])
            while below[above] == bottom:
                below[above] = root
                resident[above] = 0
                bottom = above
                above = U(up[bottom])
            freed -= sizes[end[above]]
            used -= freed
            evicted += freed
            bottom = above
        node = terminal
        while True:
            resident[node] = clock
            reused[node] = False
            above = U(up[node])
            if above == deepest:
                break
            below[above] = node
            node = above
        used += need

    status, where = books(up, start, end, sizes, resident, used, capacity)
    return status, where, evictions, once, evicted, used
