"""The loops that :mod:`cache_worthy.sim.compiled` has numba compile; imported by nothing else.

Plain functions of arrays and numbers, in the order of statements of their oracles.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit

from cache_worthy.sim import fast

F = TypeVar("F", bound=Callable[..., Any])


def _compiled(function: F) -> F:
    """``function`` as machine code, kept on disk where there is a place that can be written to.

    Plain IEEE arithmetic (no fastmath): the results must be those of Python's floats, bit for bit.
    """
    try:
        made = njit(cache=fast.on_disk, nogil=True, error_model="numpy")(function)
    except RuntimeError:  # numba found no place: it compiles in every process then
        made = njit(nogil=True, error_model="numpy")(function)
    return cast(F, made)


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
    holds: bool,
    held: Any,
    matched: Any,
) -> tuple[int, int, int, int, int, int]:
    """See :func:`cache_worthy.sim.interned.replay_interned`, whose names these are."""
    root = len(up) - 1
    requests = len(terminals)
    resident = np.zeros(root + 1, np.int32)
    resident[root] = 1
    # A request makes two nodes at most, by a split and by a load, which what is held divides.
    most = (3 if holds else 2) * requests + 2
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
        if holds and held[missing] != 0:
            node = terminal
            first = missing
            while held[node] == 0:
                missing = node
                node = up[node]
            bound = node
            while node != deepest:
                resident[node] = online
                node = up[node]
            children[leaf] += 1
            e = end[bound]
            part = sizes[e] - sizes[i]
            weight = 0.0
            if weighted:
                weight = _weight(pairs, weights_of, i * stride + e)
            head[online] = first
            tail[online] = bound
            freq[online] = 1
            key[online] = clock + weight if on_clock else level + weight
            weights[online] = weight
            children[online] = 1
            used += part
            if bound == terminal:
                continue
            leaf = online
            deepest = bound
            i = e
            need -= part
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

    whole = 0
    for static in range(root):
        if holds and held[static] != 0 and resident[static] == 0:
            return 7, static, evictions, once, evicted, used
        if resident[static] != 0:
            whole += sizes[end[static]] - sizes[start[static]]
            if resident[up[static]] == 0:
                return 2, static, evictions, once, evicted, used
    if whole != used or used > capacity:
        return 3, whole, evictions, once, evicted, used
    return 0, 0, evictions, once, evicted, used


# -- cosigned ----------------------------------------------------------------------------------
#
# The state of its accounts, by online node, in one tuple ``s`` so that the steps of the rule are
# functions as they are there:
#   0 ids      heap of the nodes that have an entry      7 base
#   1 place    of a node in it, -1 for none              8 carry
#   2 run_out  level at which it runs out                9 cosigner
#   3 touched                                           10 size
#   4 depth                                             11 last_kid
#   5 entry    number of its entry, 0 for none          12 counts: heap, entries, rates, unpinned
#   6 credit                                            13 level, one element
# A node has one entry at most, which moves when it changes; the policy's own heap leaves the old
# entries in it and passes them over. The least valid entry is the same.


@_compiled
def _first(s: Any, a: int, b: int) -> bool:
    """Whether node ``a`` goes before ``b``."""
    if s[2][a] != s[2][b]:
        return bool(s[2][a] < s[2][b])
    if s[3][a] != s[3][b]:
        return bool(s[3][a] < s[3][b])
    if s[4][a] != s[4][b]:
        return bool(s[4][a] > s[4][b])
    return bool(s[5][a] < s[5][b])


@_compiled
def _rise(s: Any, at: int) -> int:
    ids, place = s[0], s[1]
    node = ids[at]
    while at > 0:
        above = (at - 1) >> 1
        if not _first(s, node, ids[above]):
            break
        ids[at] = ids[above]
        place[ids[at]] = at
        at = above
    ids[at] = node
    place[node] = at
    return at


@_compiled
def _sink(s: Any, at: int) -> None:
    ids, place, size = s[0], s[1], s[12][0]
    node = ids[at]
    while True:
        below = 2 * at + 1
        if below >= size:
            break
        if below + 1 < size and _first(s, ids[below + 1], ids[below]):
            below += 1
        if not _first(s, ids[below], node):
            break
        ids[at] = ids[below]
        place[ids[at]] = at
        at = below
    ids[at] = node
    place[node] = at


@_compiled
def _withdraw(s: Any, node: int) -> None:
    """Take the entry of a node out, if it has one."""
    at = s[1][node]
    s[5][node] = 0
    if at < 0:
        return
    s[1][node] = -1
    s[12][0] -= 1
    last = s[0][s[12][0]]
    if last != node:
        s[0][at] = last
        s[1][last] = at
        _sink(s, _rise(s, at))


@_compiled
def _enter(s: Any, node: int) -> None:
    s[12][1] += 1
    s[5][node] = s[12][1]
    s[2][node] = s[7][node] + s[6][node] / (s[10][node] + s[8][node])
    at = s[1][node]
    if at < 0:
        at = s[12][0]
        s[12][0] += 1
        s[0][at] = node
        s[1][node] = at
    _sink(s, _rise(s, at))


@_compiled
def _rebase(s: Any, node: int, rate: int) -> None:
    level = s[13][0]
    if s[7][node] != level:
        left = s[6][node] - (level - s[7][node]) * rate
        s[6][node] = left if left > 0 else 0.0
        s[7][node] = level


@_compiled
def _add(s: Any, node: int, rate: int) -> None:
    while s[9][node] != 0:
        s[8][node] += rate
        node = s[9][node]
    _rebase(s, node, s[10][node] + s[8][node])
    s[8][node] += rate
    s[12][2] += rate
    _enter(s, node)


@_compiled
def _pick(s: Any, node: int) -> None:
    kid = s[11][node]
    s[9][node] = kid
    _add(s, kid, s[10][node] + s[8][node])


@_compiled
def _unlink(last_kid: Any, before: Any, after: Any, parent: int, node: int) -> None:
    """Take a node out of its parent's list of children."""
    if after[node] != 0:
        before[after[node]] = before[node]
    else:
        last_kid[parent] = before[node]
    if before[node] != 0:
        after[before[node]] = after[node]


@_compiled
def _append(last_kid: Any, before: Any, after: Any, parent: int, node: int) -> None:
    last = last_kid[parent]
    before[node] = last
    after[node] = 0
    if last != 0:
        after[last] = node
    last_kid[parent] = node


@_compiled
def cosigned(
    terminals: Any,
    up: Any,
    start: Any,
    end: Any,
    sizes: Any,
    capacity: int,
    pairs: Any,
    costs_of: Any,
    stride: int,
    rounding: float,
    matched: Any,
) -> tuple[int, int, int, int, int, int]:
    """See :class:`cache_worthy.sim.policies.cosigned.Cosigned`, whose names these are.

    ``costs_of`` are costs rounded to doubles, as there.
    """
    root = len(up) - 1
    requests = len(terminals)
    resident = np.zeros(root + 1, np.int32)
    resident[root] = 1
    most = 2 * requests + 2
    head = np.empty(most, np.int32)
    tail = np.empty(most, np.int32)
    freq = np.zeros(most, np.int64)
    before = np.zeros(most, np.int32)
    after = np.zeros(most, np.int32)
    touched = np.zeros(most, np.int64)
    depth = np.zeros(most, np.int32)
    credit = np.zeros(most, np.float64)
    base = np.zeros(most, np.float64)
    carry = np.zeros(most, np.int64)
    cosigner = np.zeros(most, np.int32)
    size = np.zeros(most, np.int64)
    last_kid = np.zeros(most, np.int32)
    counts = np.zeros(4, np.int64)
    level = np.zeros(1, np.float64)
    s = (
        np.zeros(most, np.int32), np.full(most, -1, np.int32), np.zeros(most, np.float64), touched,
        depth, np.zeros(most, np.int64), credit, base, carry, cosigner, size, last_kid, counts,
        level,
    )  # fmt: skip
    for node in range(2):
        head[node] = tail[node] = root
    nodes = 2
    pinned = np.empty(stride + 1, np.int32)
    pins = 0
    path = np.empty(stride + 1, np.int32)
    evictions = 0
    once = 0
    evicted = 0
    used = 0
    clock = 0

    for terminal in terminals:
        clock += 1
        if terminal == root:  # no event: whatever is pinned stays so
            matched[clock - 1] = 0
            continue
        # Key and unpin the path of the request before, its nodes still whole.
        for n in range(pins):
            node = pinned[n]
            pair = start[head[node]] * stride + end[tail[node]]
            credit[node] = _weight(pairs, costs_of, pair)
            base[node] = level[0]
            counts[2] += size[node] + carry[node]
            counts[3] += size[node]
            _enter(s, node)
        pins = 0

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
            tail[leaf] = deepest
            freq[lower] = freq[leaf]
            above_start = start[head[leaf]]
            whole = _weight(pairs, costs_of, above_start * stride + end[last])
            part = _weight(pairs, costs_of, i * stride + end[last])
            depth[lower] = i
            size[lower] = sizes[end[last]] - sizes[i]
            size[leaf] = sizes[i] - sizes[above_start]
            last_kid[lower] = last_kid[leaf]
            last_kid[leaf] = lower
            touched[lower] = touched[leaf]
            base[lower] = base[leaf]
            if cosigner[leaf] != 0:
                cosigner[lower] = cosigner[leaf]
                cosigner[leaf] = lower
                carry[lower] = size[leaf] + carry[leaf]
            else:
                _rebase(s, leaf, size[leaf] + carry[leaf] + size[lower])
                base[lower] = base[leaf]
                if whole != 0:
                    credit[lower] = credit[leaf] * part / whole
                    credit[leaf] -= credit[lower]
                _enter(s, leaf)
                _enter(s, lower)
        length = 0
        node = leaf
        while node != 1:
            path[length] = node
            length += 1
            node = resident[up[head[node]]]
        for n in range(length - 1, -1, -1):
            node = path[n]
            freq[node] += 1
            kid = cosigner[node]
            if kid != 0:
                cosigner[node] = 0
                _add(s, kid, -(size[node] + carry[node]))
            else:
                counts[2] -= size[node] + carry[node]
            if carry[node] != 0:
                return 4, clock, evictions, once, evicted, used
            _withdraw(s, node)
            touched[node] = clock
            parent = path[n + 1] if n + 1 < length else 1
            _unlink(last_kid, before, after, parent, node)
            _append(last_kid, before, after, parent, node)
            counts[3] -= size[node]
            pinned[pins] = node
            pins += 1
        if deepest == terminal:
            continue
        blocks = end[terminal]
        need = sizes[blocks] - sizes[i]
        while used + need > capacity:
            while True:
                if counts[0] == 0:
                    return 1, clock, evictions, once, evicted, used
                victim = s[0][0]
                run_out = base[victim] + credit[victim] / (size[victim] + carry[victim])
                if run_out > level[0]:
                    if counts[2] != counts[3]:
                        return 5, clock, evictions, once, evicted, used
                    level[0] = run_out
                elif run_out < level[0] - rounding * (1 + level[0]):
                    return 6, clock, evictions, once, evicted, used
                _withdraw(s, victim)
                credit[victim] = 0.0
                base[victim] = level[0]
                if last_kid[victim] == 0:
                    break
                counts[2] -= size[victim] + carry[victim]
                _pick(s, victim)
            evictions += 1
            if freq[victim] == 1:
                once += 1
            counts[2] -= size[victim] + carry[victim]
            counts[3] -= size[victim]
            above = up[head[victim]]
            parent = resident[above]
            _unlink(last_kid, before, after, parent, victim)
            used -= size[victim]
            evicted += size[victim]
            node = tail[victim]
            while node != above:
                resident[node] = 0
                node = up[node]
            if parent != 1 and cosigner[parent] == victim:
                cosigner[parent] = 0
                credit[parent] = 0.0
                base[parent] = level[0]
                if last_kid[parent] != 0:
                    _pick(s, parent)
                else:
                    counts[2] += size[parent] + carry[parent]
                    _enter(s, parent)
        online = nodes
        nodes += 1
        node = terminal
        while node != deepest:
            resident[node] = online
            node = up[node]
        head[online] = missing
        tail[online] = terminal
        freq[online] = 1
        touched[online] = clock
        depth[online] = i
        size[online] = need
        _append(last_kid, before, after, leaf, online)
        pinned[pins] = online
        pins += 1
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
