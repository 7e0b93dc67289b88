"""The loops that :mod:`cache_worthy.sim.radix.compiled` has numba compile; imported by nothing else.

Plain functions of arrays and numbers, with their statements in the order of their oracle's,
:func:`cache_worthy.sim.radix.interned.replay_interned`. Each is compiled, or read from disk, at its
first call. All in one file, because numba makes its code anew when this file changes and looks at no
other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit

from cache_worthy.sim.radix import choose

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """``function`` as machine code, kept on disk where some folder can be written.

    Plain IEEE arithmetic (no fastmath): the results must be those of Python's floats, bit for bit.
    """
    try:
        made = njit(cache=choose.on_disk, nogil=True, error_model="numpy")(function)
    except RuntimeError:  # numba found no place: it compiles in every process then
        made = njit(nogil=True, error_model="numpy")(function)
    return cast(F, made)


# All indices are unsigned: numba tests every signed one for being negative, and with that test on
# every link that is followed a replay takes half as long again.
U = np.uint64
NONE, ONE, TWO = U(0), U(1), U(2)


def record(**kinds: type) -> np.dtype[Any]:
    """Fields side by side, in one cache line; as ``np.record``, so that they read alike without numba."""
    return np.dtype((np.record, list(kinds.items())))


@compiled
def look_up(ranks: Any, pairs: Any, weights: Any, pair: Any) -> float:
    """The weight of a pair of depths, by a table of all pairs or else by bisection."""
    if len(ranks) > 0:
        known: float = weights[ranks[pair]]
        return known
    low = NONE
    high = U(len(pairs))
    while low < high:
        middle = (low + high) >> ONE
        if pairs[middle] < pair:
            low = middle + ONE
        else:
            high = middle
    found: float = weights[low]
    return found


@compiled
def books(
    up: Any, start: Any, end: Any, sizes: Any, resident: Any, used: int, capacity: int
) -> tuple[int, int]:
    """Status and place of the first fault at the end of a replay; zeros where there is none."""
    whole = 0
    for static in range(len(up) - 1):
        if resident[static] != 0:
            whole += sizes[end[static]] - sizes[start[static]]
            if resident[up[static]] == 0:
                return 2, static
    return (3, whole) if whole != used or used > capacity else (0, 0)


@compiled
def lru(
    terminals: Any, up: Any, start: Any, end: Any, sizes: Any, capacity: int, matched: Any
) -> tuple[int, int, int, int, int, int]:
    """What :func:`rules` finds where the key is the clock of the last use, without a heap.

    The blocks last used by one request are the lower end of its path. So the nodes with the oldest
    clock lie on one path, and only the deepest of them is childless: victims are found by walking up
    the path of one request after another, and no node is ranked. ``below[n]`` is the static node
    that continues the online node of ``n``.
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


#: An online node.
_NODE = record(
    key=np.float64,
    weight=np.float64,
    head=np.uint32,
    tail=np.uint32,
    freq=np.uint32,
    children=np.uint32,
)

#: A heap entry.
_ENTRY = record(key=np.float64, node=np.uint64)


@compiled
def _push(heap: Any, size: Any, key: float, node: Any) -> Any:
    """Add an entry to the heap; returns its new size."""
    _settle(heap, size, key, node)
    return size + ONE


@compiled
def _settle(heap: Any, at: Any, key: float, node: Any) -> None:
    """Put an entry in its place between the free place ``at`` and the top."""
    while at > NONE:
        above = (at - ONE) >> TWO
        other = heap[above].key
        if other < key or (other == key and heap[above].node <= node):
            break
        heap[at].key = other
        heap[at].node = heap[above].node
        at = above
    heap[at].key = key
    heap[at].node = node


@compiled
def _less(heap: Any, one: Any, two: Any) -> Any:
    """1 if the entry at ``two`` is less than that at ``one``, else 0; without a branch."""
    a, b = heap[one].key, heap[two].key
    return U((b < a) | ((b == a) & (heap[two].node < heap[one].node)))


@compiled
def _drop(heap: Any, size: Any) -> Any:
    """Remove the least entry, at 0; returns the new size.

    The free place sinks to the bottom, where the last entry nearly always belongs, by comparisons
    without branches, half of which the processor would guess wrongly. Four children per place halve
    the levels.
    """
    size -= ONE
    at = NONE
    below = ONE
    while below < size:
        if below + TWO + ONE < size:
            least = below + _less(heap, below, below + ONE)
            other = below + TWO
            other += _less(heap, other, other + ONE)
            least += (other - least) * _less(heap, least, other)
        else:
            least = below
            for n in range(below + ONE, size):
                other = U(n)
                least += (other - least) * _less(heap, least, other)
        heap[at].key = heap[least].key
        heap[at].node = heap[least].node
        at = least
        below = (at << TWO) + ONE
    _settle(heap, at, heap[size].key, heap[size].node)
    return size


@compiled
def rules(
    terminals: Any,
    up: Any,
    start: Any,
    end: Any,
    sizes: Any,
    capacity: int,
    on_clock: bool,
    use_freq: bool,
    level_rule: int,
    weighted: bool,
    ranks: Any,
    pairs: Any,
    weights_of: Any,
    width: int,
    holds: bool,
    held: Any,
    matched: Any,
) -> tuple[int, int, int, int, int, int]:
    """See :func:`cache_worthy.sim.radix.interned.replay_interned`, whose names these are."""
    root = U(len(up) - 1)
    stride = U(width)
    requests = len(terminals)
    resident = np.zeros(len(up), np.uint32)
    resident[root] = 1
    # A request makes two nodes at most, by a split and by a load, which what is held divides.
    most = (3 if holds else 2) * requests + 2
    online = np.empty(most, _NODE)
    for n in range(2):
        online[n].head = root
        online[n].tail = root
        online[n].freq = 0
        online[n].key = np.nan
        online[n].weight = 0.0
        online[n].children = 0
    online[1].children = 1 << 30  # the root is never childless
    nodes = TWO
    # A request pushes twice at most, and an eviction once, of nodes made before.
    heap = np.empty(2 * requests + most, _ENTRY)
    entries = NONE

    level = 0.0
    evictions = 0
    once = 0
    evicted = 0
    used = 0
    clock = 0
    for request in terminals:
        clock += 1
        terminal = U(request)
        deepest = terminal
        missing = root
        while resident[deepest] == 0:
            missing = deepest
            deepest = U(up[deepest])
        i = U(end[deepest])
        matched[clock - 1] = i
        leaf = U(resident[deepest])
        last = U(online[leaf].tail)
        if last != deepest:
            lower = nodes
            nodes += ONE
            node = last
            first = last
            while node != deepest:
                resident[node] = lower
                first = node
                node = U(up[node])
            online[lower].head = first
            online[lower].tail = last
            online[lower].freq = online[leaf].freq
            kept = online[leaf].key
            online[lower].key = kept
            online[lower].children = online[leaf].children
            if online[leaf].children == 0:
                entries = _push(heap, entries, kept, lower)
            online[leaf].children = 1
            online[leaf].tail = deepest
            if weighted:
                pair = i * stride + U(end[last])
                online[lower].weight = look_up(ranks, pairs, weights_of, pair)
                pair = U(start[online[leaf].head]) * stride + i
                online[leaf].weight = look_up(ranks, pairs, weights_of, pair)
            else:
                online[lower].weight = 0.0
        node = leaf
        if on_clock:
            while node != ONE:
                online[node].freq += 1
                online[node].key = clock + online[node].weight
                node = U(resident[up[online[node].head]])
        elif use_freq:
            while node != ONE:
                online[node].freq += 1
                online[node].key = level + online[node].freq * online[node].weight
                node = U(resident[up[online[node].head]])
        else:
            while node != ONE:
                online[node].freq += 1
                online[node].key = level + online[node].weight
                node = U(resident[up[online[node].head]])
        if deepest == terminal:
            if online[leaf].children == 0:
                entries = _push(heap, entries, online[leaf].key, leaf)
            continue
        length = U(end[terminal])
        need = sizes[length] - sizes[i]
        while used + need > capacity:
            if entries == NONE:
                return 1, clock, evictions, once, evicted, used
            value = heap[NONE].key
            victim = heap[NONE].node
            entries = _drop(heap, entries)
            if online[victim].key != value or online[victim].children != 0 or victim == leaf:
                continue
            if level_rule == 1:
                level = max(level, value)
            elif level_rule == 2:
                level = value
            evictions += 1
            if online[victim].freq == 1:
                once += 1
            online[victim].key = np.nan
            node = U(online[victim].tail)
            above = U(up[online[victim].head])
            freed = sizes[end[node]] - sizes[end[above]]
            used -= freed
            evicted += freed
            while node != above:
                resident[node] = 0
                node = U(up[node])
            parent = U(resident[above])
            online[parent].children -= 1
            if online[parent].children == 0:
                entries = _push(heap, entries, online[parent].key, parent)
        new = nodes
        nodes += ONE
        if holds and held[missing] != 0:
            node = terminal
            first = missing
            while held[node] == 0:
                missing = node
                node = U(up[node])
            bound = node
            while node != deepest:
                resident[node] = new
                node = U(up[node])
            online[leaf].children += 1
            e = U(end[bound])
            part = sizes[e] - sizes[i]
            weight = 0.0
            if weighted:
                weight = look_up(ranks, pairs, weights_of, i * stride + e)
            online[new].head = first
            online[new].tail = bound
            online[new].freq = 1
            online[new].key = clock + weight if on_clock else level + weight
            online[new].weight = weight
            online[new].children = 1
            used += part
            if bound == terminal:
                continue
            leaf = new
            deepest = bound
            i = e
            need -= part
            new = nodes
            nodes += ONE
        node = terminal
        while node != deepest:
            resident[node] = new
            node = U(up[node])
        online[leaf].children += 1
        weight = 0.0
        if weighted:
            weight = look_up(ranks, pairs, weights_of, i * stride + length)
        value = clock + weight if on_clock else level + weight
        online[new].head = missing
        online[new].tail = terminal
        online[new].freq = 1
        online[new].key = value
        online[new].weight = weight
        online[new].children = 0
        entries = _push(heap, entries, value, new)
        used += need

    if holds:
        for static in range(len(up) - 1):
            if held[static] != 0 and resident[static] == 0:
                return 7, static, evictions, once, evicted, used
    status, where = books(up, start, end, sizes, resident, used, capacity)
    return status, where, evictions, once, evicted, used
