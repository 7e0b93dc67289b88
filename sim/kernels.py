"""The loops that :mod:`cache_worthy.sim.compiled` has numba compile; imported by nothing else.

Plain functions of arrays and numbers, in the order of statements of their oracles.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

# Plain IEEE arithmetic (no fastmath): the results must be those of Python's floats, bit for bit.
_compiled = njit(cache=True, nogil=True, error_model="numpy")


@_compiled
def _push(keys: Any, ids: Any, size: int, key: float, node: int) -> int:
    """Add an entry to the heap of ``(key, id)``; its new size."""
    at = size
    while at > 0:
        above = (at - 1) >> 1
        if keys[above] < key or (keys[above] == key and ids[above] <= node):
            break
        keys[at] = keys[above]
        ids[at] = ids[above]
        at = above
    keys[at] = key
    ids[at] = node
    return size + 1


@_compiled
def _drop(keys: Any, ids: Any, size: int) -> int:
    """Remove the least entry, which stands at 0; the new size."""
    size -= 1
    key = keys[size]
    node = ids[size]
    at = 0
    while True:
        below = 2 * at + 1
        if below >= size:
            break
        if below + 1 < size and (
            keys[below + 1] < keys[below]
            or (keys[below + 1] == keys[below] and ids[below + 1] < ids[below])
        ):
            below += 1
        if key < keys[below] or (key == keys[below] and node <= ids[below]):
            break
        keys[at] = keys[below]
        ids[at] = ids[below]
        at = below
    keys[at] = key
    ids[at] = node
    return size


@_compiled
def _weight(pairs: Any, weights: Any, pair: int) -> float:
    low = 0
    high = len(pairs)
    while low < high:
        middle = (low + high) >> 1
        if pairs[middle] < pair:
            low = middle + 1
        else:
            high = middle
    found: float = weights[low]
    return found


@_compiled
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
    pairs: Any,
    weights_of: Any,
    stride: int,
    matched: Any,
) -> tuple[int, int, int, int, int, int]:
    """See :func:`cache_worthy.sim.interned.replay_interned`, whose names these are."""
    root = len(up) - 1
    requests = len(terminals)
    resident = np.zeros(root + 1, np.int32)
    resident[root] = 1
    most = 2 * requests + 2  # a request makes two nodes at most, by a split and by a load
    head = np.empty(most, np.int32)
    tail = np.empty(most, np.int32)
    freq = np.empty(most, np.int64)
    key = np.empty(most, np.float64)
    weights = np.empty(most, np.float64)
    children = np.empty(most, np.int32)
    for node in range(2):
        head[node] = tail[node] = root
        freq[node] = 0
        key[node] = np.nan
        weights[node] = 0.0
        children[node] = 0
    children[1] = 1 << 30  # the root is never childless
    nodes = 2
    # A request pushes twice at most, and an eviction once, of nodes made before.
    heap_keys = np.empty(2 * requests + most, np.float64)
    heap_ids = np.empty(2 * requests + most, np.int32)
    heap = 0

    level = 0.0
    evictions = 0
    once = 0
    evicted = 0
    used = 0
    clock = 0
    for terminal in terminals:
        clock += 1
        deepest = terminal
        missing = root
        while resident[deepest] == 0:
            missing = deepest
            deepest = up[deepest]
        i = end[deepest]
        matched[clock - 1] = i
        leaf = resident[deepest]
        last = tail[leaf]
        if last != deepest:
            lower = nodes
            nodes += 1
            node = last
            first = last
            while node != deepest:
                resident[node] = lower
                first = node
                node = up[node]
            head[lower] = first
            tail[lower] = last
            freq[lower] = freq[leaf]
            kept = key[leaf]
            key[lower] = kept
            children[lower] = children[leaf]
            if children[leaf] == 0:
                heap = _push(heap_keys, heap_ids, heap, kept, lower)
            children[leaf] = 1
            tail[leaf] = deepest
            if weighted:
                weights[lower] = _weight(pairs, weights_of, i * stride + end[last])
                weights[leaf] = _weight(pairs, weights_of, start[head[leaf]] * stride + i)
            else:
                weights[lower] = 0.0
        node = leaf
        if on_clock:
            while node != 1:
                freq[node] += 1
                key[node] = clock + weights[node]
                node = resident[up[head[node]]]
        elif use_freq:
            while node != 1:
                freq[node] += 1
                key[node] = level + freq[node] * weights[node]
                node = resident[up[head[node]]]
        else:
            while node != 1:
                freq[node] += 1
                key[node] = level + weights[node]
                node = resident[up[head[node]]]
        if deepest == terminal:
            if children[leaf] == 0:
                heap = _push(heap_keys, heap_ids, heap, key[leaf], leaf)
            continue
        length = end[terminal]
        need = sizes[length] - sizes[i]
        while used + need > capacity:
            if heap == 0:
                return 1, clock, evictions, once, evicted, used
            value = heap_keys[0]
            victim = heap_ids[0]
            heap = _drop(heap_keys, heap_ids, heap)
            if key[victim] != value or children[victim] != 0 or victim == leaf:
                continue
            if level_rule == 1:
                level = max(level, value)
            elif level_rule == 2:
                level = value
            evictions += 1
            if freq[victim] == 1:
                once += 1
            key[victim] = np.nan
            node = tail[victim]
            above = up[head[victim]]
            freed = sizes[end[node]] - sizes[end[above]]
            used -= freed
            evicted += freed
            while node != above:
                resident[node] = 0
                node = up[node]
            parent = resident[above]
            children[parent] -= 1
            if children[parent] == 0:
                heap = _push(heap_keys, heap_ids, heap, key[parent], parent)
        online = nodes
        nodes += 1
        node = terminal
        while node != deepest:
            resident[node] = online
            node = up[node]
        children[leaf] += 1
        weight = 0.0
        if weighted:
            weight = _weight(pairs, weights_of, i * stride + length)
        value = clock + weight if on_clock else level + weight
        head[online] = missing
        tail[online] = terminal
        freq[online] = 1
        key[online] = value
        weights[online] = weight
        children[online] = 0
        heap = _push(heap_keys, heap_ids, heap, value, online)
        used += need

    held = 0
    for static in range(root):
        if resident[static] != 0:
            held += sizes[end[static]] - sizes[start[static]]
            if resident[up[static]] == 0:
                return 2, static, evictions, once, evicted, used
    if held != used or used > capacity:
        return 3, held, evictions, once, evicted, used
    return 0, 0, evictions, once, evicted, used
