"""The kernel of every policy with a key rule, and its heap."""

from __future__ import annotations

from typing import Any

import numpy as np

from cache_worthy.sim.radix.kernels.common import (
    NONE,
    ONE,
    TWO,
    U,
    books,
    compiled,
    look_up,
    record,
)

#: What is known of an online node.
_NODE = record(
    key=np.float64,
    weight=np.float64,
    head=np.uint32,
    tail=np.uint32,
    freq=np.uint32,
    children=np.uint32,
)

#: An entry of the heap.
_ENTRY = record(key=np.float64, node=np.uint64)


@compiled
def _push(heap: Any, size: Any, key: float, node: Any) -> Any:
    """Add an entry to the heap of ``(key, node)``; its new size."""
    _settle(heap, size, key, node)
    return size + ONE


@compiled
def _settle(heap: Any, at: Any, key: float, node: Any) -> None:
    """Put an entry where it belongs between the free place ``at`` and the top."""
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
    """1 where the entry at ``two`` is less than that at ``one``, else 0; without a branch."""
    a, b = heap[one].key, heap[two].key
    return U((b < a) | ((b == a) & (heap[two].node < heap[one].node)))


@compiled
def _drop(heap: Any, size: Any) -> Any:
    """Remove the least entry, which stands at 0; the new size.

    The free place sinks to the bottom, where the last entry belongs nearly always, by comparisons
    without branches: half of those would be guessed wrongly. Four children to a place are half the
    levels.
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
