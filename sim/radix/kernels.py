"""The loops that :mod:`cache_worthy.sim.radix.compiled` has numba compile; imported by nothing else.

Plain functions of arrays and numbers, in the order of statements of their oracles.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit

from cache_worthy.sim.radix import choose as fast

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


# Indices are unsigned integers of 64 bits throughout: numba tests every signed one for being
# negative, and with the tests on every link that is followed a replay takes half as much again.
U = np.uint64
_NONE, _ONE, _TWO = U(0), U(1), U(2)


def _record(**kinds: type) -> np.dtype[Any]:
    """Fields side by side, in one line of the processor's cache and not in one each.

    As ``np.record`` their names are attributes without numba too.
    """
    return np.dtype((np.record, list(kinds.items())))


#: What is known of an online node.
_NODE = _record(
    key=np.float64,
    weight=np.float64,
    head=np.uint32,
    tail=np.uint32,
    freq=np.uint32,
    children=np.uint32,
)

#: An entry of the heap.
_ENTRY = _record(key=np.float64, node=np.uint64)


@_compiled
def _push(heap: Any, size: Any, key: float, node: Any) -> Any:
    """Add an entry to the heap of ``(key, node)``; its new size."""
    _settle(heap, size, key, node)
    return size + _ONE


@_compiled
def _settle(heap: Any, at: Any, key: float, node: Any) -> None:
    """Put an entry where it belongs between the free place ``at`` and the top."""
    while at > _NONE:
        above = (at - _ONE) >> _TWO
        other = heap[above].key
        if other < key or (other == key and heap[above].node <= node):
            break
        heap[at].key = other
        heap[at].node = heap[above].node
        at = above
    heap[at].key = key
    heap[at].node = node


@_compiled
def _less(heap: Any, one: Any, two: Any) -> Any:
    """1 where the entry at ``two`` is less than that at ``one``, else 0; without a branch."""
    a, b = heap[one].key, heap[two].key
    return U((b < a) | ((b == a) & (heap[two].node < heap[one].node)))


@_compiled
def _drop(heap: Any, size: Any) -> Any:
    """Remove the least entry, which stands at 0; the new size.

    The free place sinks to the bottom, where the last entry belongs nearly always, by comparisons
    without branches: half of those would be guessed wrongly. Four children to a place are half the
    levels.
    """
    size -= _ONE
    at = _NONE
    below = _ONE
    while below < size:
        if below + _TWO + _ONE < size:
            least = below + _less(heap, below, below + _ONE)
            other = below + _TWO
            other += _less(heap, other, other + _ONE)
            least += (other - least) * _less(heap, least, other)
        else:
            least = below
            for n in range(below + _ONE, size):
                other = U(n)
                least += (other - least) * _less(heap, least, other)
        heap[at].key = heap[least].key
        heap[at].node = heap[least].node
        at = least
        below = (at << _TWO) + _ONE
    _settle(heap, at, heap[size].key, heap[size].node)
    return size


@_compiled
def _weight(ranks: Any, pairs: Any, weights: Any, pair: Any) -> float:
    """The weight of a pair of depths, by a table of all pairs or else by bisection."""
    if len(ranks) > 0:
        known: float = weights[ranks[pair]]
        return known
    low = _NONE
    high = U(len(pairs))
    while low < high:
        middle = (low + high) >> _ONE
        if pairs[middle] < pair:
            low = middle + _ONE
        else:
            high = middle
    found: float = weights[low]
    return found


@_compiled
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

    status, where = _books(up, start, end, sizes, resident, used, capacity)
    return status, where, evictions, once, evicted, used


@_compiled
def _books(
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
    nodes = _TWO
    # A request pushes twice at most, and an eviction once, of nodes made before.
    heap = np.empty(2 * requests + most, _ENTRY)
    entries = _NONE

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
            nodes += _ONE
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
                online[lower].weight = _weight(ranks, pairs, weights_of, pair)
                pair = U(start[online[leaf].head]) * stride + i
                online[leaf].weight = _weight(ranks, pairs, weights_of, pair)
            else:
                online[lower].weight = 0.0
        node = leaf
        if on_clock:
            while node != _ONE:
                online[node].freq += 1
                online[node].key = clock + online[node].weight
                node = U(resident[up[online[node].head]])
        elif use_freq:
            while node != _ONE:
                online[node].freq += 1
                online[node].key = level + online[node].freq * online[node].weight
                node = U(resident[up[online[node].head]])
        else:
            while node != _ONE:
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
            if entries == _NONE:
                return 1, clock, evictions, once, evicted, used
            value = heap[_NONE].key
            victim = heap[_NONE].node
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
        nodes += _ONE
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
                weight = _weight(ranks, pairs, weights_of, i * stride + e)
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
            nodes += _ONE
        node = terminal
        while node != deepest:
            resident[node] = new
            node = U(up[node])
        online[leaf].children += 1
        weight = 0.0
        if weighted:
            weight = _weight(ranks, pairs, weights_of, i * stride + length)
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
    status, where = _books(up, start, end, sizes, resident, used, capacity)
    return status, where, evictions, once, evicted, used


# -- cosigned ----------------------------------------------------------------------------------
#
# The state of its accounts in one tuple ``s``, so that the steps of the rule are functions as they
# are there:
#   0 account  by online node      2 place   in it of every node, _NOWHERE for none
#   1 heap     of claims           3 counts  claims, rates, unpinned
#                                  4 level   one element
# A node has one claim at most, which may be older than what is known of the node: a claim that has
# become later, or void, stays where it is until it comes to the top (the policy's own heap keeps all
# that ever were). A claim is never later than the node's own, so the least that is not older is the
# least of all. Of 160 ms that a replay took where nothing leaves at all, 130 were claims that were
# taken out and put in at every touch.

_ACCOUNT = _record(
    credit=np.float64,
    at_level=np.float64,  # "base" there; records have a "base" and a "size" of their own
    cost=np.float64,
    extent=np.int64,  # "size" there
    carry=np.int64,
    head=np.uint32,
    tail=np.uint32,
    freq=np.uint32,
    depth=np.uint32,
    touched=np.uint32,
    before=np.uint32,
    after=np.uint32,
    last_kid=np.uint32,
    cosigner=np.uint32,
    entered=np.uint32,  # whether it claims anything: 0 for pinned and bankrupt nodes
)

#: ``order``: last touch and depth, by which claims go that run out together. No two nodes share
#: both: nodes of one last touch lie on one path.
_CLAIM = _record(run_out=np.float64, order=np.uint64, node=np.uint64)

_NOWHERE = np.uint32(0xFFFFFFFF)
_HALF = U(32)


@_compiled
def _claim(account: Any, node: Any) -> Any:
    """Level at which a node runs out of credit, and its rank among those of that level."""
    u = account[node]
    run_out = u.at_level + u.credit / (u.extent + u.carry)
    return run_out, (U(u.touched) << _HALF) + U(_NOWHERE - u.depth)


@_compiled
def _rise(heap: Any, place: Any, at: Any, run_out: float, order: Any, node: Any) -> None:
    """Put a claim where it belongs between the free place ``at`` and the top."""
    while at > _NONE:
        above = (at - _ONE) >> _ONE
        other = heap[above].run_out
        if other < run_out or (other == run_out and heap[above].order < order):
            break
        heap[at].run_out = other
        heap[at].order = heap[above].order
        heap[at].node = heap[above].node
        place[heap[above].node] = at
        at = above
    heap[at].run_out = run_out
    heap[at].order = order
    heap[at].node = node
    place[node] = at


@_compiled
def _replace(heap: Any, place: Any, size: Any, run_out: float, order: Any, node: Any) -> None:
    """Put a claim in the place of the first, as :func:`_drop` does with the last entry."""
    at = _NONE
    below = _ONE
    while below < size:
        beside = below + _ONE
        if beside < size:
            one, two = heap[below].run_out, heap[beside].run_out
            below += U((two < one) | ((two == one) & (heap[beside].order < heap[below].order)))
        heap[at].run_out = heap[below].run_out
        heap[at].order = heap[below].order
        heap[at].node = heap[below].node
        place[heap[below].node] = at
        at = below
        below = (at << _ONE) + _ONE
    _rise(heap, place, at, run_out, order, node)


@_compiled
def _enter(s: Any, node: Any) -> None:
    account, heap, place, counts = s[0], s[1], s[2], s[3]
    account[node].entered = 1
    run_out, order = _claim(account, node)
    at = U(place[node])
    if at == U(_NOWHERE):
        at = U(counts[0])
        counts[0] += 1
    else:
        old = heap[at].run_out
        if old < run_out or (old == run_out and heap[at].order <= order):
            return
    _rise(heap, place, at, run_out, order, node)


@_compiled
def _first(s: Any) -> Any:
    """The node whose claim comes first; 0 for none."""
    account, heap, place, counts = s[0], s[1], s[2], s[3]
    while counts[0] > 0:
        node = heap[_NONE].node
        if account[node].entered != 0:
            run_out, order = _claim(account, node)
            old = heap[_NONE].run_out
            if old < run_out or (old == run_out and heap[_NONE].order < order):
                _replace(heap, place, U(counts[0]), run_out, order, node)
                continue
            return node
        place[node] = _NOWHERE
        counts[0] -= 1
        last = U(counts[0])
        if last > _NONE:
            tail = heap[last]
            _replace(heap, place, last, tail.run_out, tail.order, tail.node)
    return _NONE


@_compiled
def _rebase(s: Any, node: Any, rate: int) -> None:
    account, level = s[0], s[4][0]
    if account[node].at_level != level:
        left = account[node].credit - (level - account[node].at_level) * rate
        account[node].credit = left if left > 0 else 0.0
        account[node].at_level = level


@_compiled
def _add(s: Any, node: Any, rate: int) -> None:
    account = s[0]
    while account[node].cosigner != 0:
        account[node].carry += rate
        node = U(account[node].cosigner)
    _rebase(s, node, account[node].extent + account[node].carry)
    account[node].carry += rate
    s[3][1] += rate
    _enter(s, node)


@_compiled
def _pick(s: Any, node: Any) -> None:
    account = s[0]
    kid = U(account[node].last_kid)
    account[node].cosigner = kid
    _add(s, kid, account[node].extent + account[node].carry)


@_compiled
def _unlink(account: Any, parent: Any, node: Any) -> None:
    """Take a node out of its parent's list of children."""
    before, after = U(account[node].before), U(account[node].after)
    if after != _NONE:
        account[after].before = before
    else:
        account[parent].last_kid = before
    if before != _NONE:
        account[before].after = after


@_compiled
def _append(account: Any, parent: Any, node: Any) -> None:
    last = U(account[parent].last_kid)
    account[node].before = last
    account[node].after = 0
    if last != _NONE:
        account[last].after = node
    account[parent].last_kid = node


@_compiled
def _open(account: Any, node: Any, depth: Any, size: int, cost: float, clock: int) -> None:
    """A new account, without credit and without relatives."""
    account[node].credit = 0.0
    account[node].at_level = 0.0
    account[node].cost = cost
    account[node].extent = size
    account[node].carry = 0
    account[node].freq = 1
    account[node].depth = depth
    account[node].touched = clock
    account[node].before = 0
    account[node].after = 0
    account[node].last_kid = 0
    account[node].cosigner = 0
    account[node].entered = 0


@_compiled
def cosigned(
    terminals: Any,
    up: Any,
    start: Any,
    end: Any,
    sizes: Any,
    capacity: int,
    ranks: Any,
    pairs: Any,
    costs_of: Any,
    width: int,
    rounding: float,
    matched: Any,
) -> tuple[int, int, int, int, int, int]:
    """See :class:`cache_worthy.sim.radix.policies.cosigned.Cosigned`, whose names these are.

    ``costs_of`` are costs rounded to doubles, as there.
    """
    root = U(len(up) - 1)
    stride = U(width)
    resident = np.zeros(len(up), np.uint32)
    resident[root] = 1
    most = 2 * len(terminals) + 2
    account = np.empty(most, _ACCOUNT)
    heap = np.empty(most, _CLAIM)
    place = np.full(most, _NOWHERE, np.uint32)
    counts = np.zeros(3, np.int64)
    level = np.zeros(1, np.float64)
    s = (account, heap, place, counts, level)
    _open(account, _ONE, _NONE, 0, 0.0, 0)
    account[_ONE].head = root
    account[_ONE].tail = root
    nodes = _TWO
    pinned = np.empty(width + 1, np.uint32)
    pins = 0
    path = np.empty(width + 1, np.uint32)
    evictions = 0
    once = 0
    evicted = 0
    used = 0
    clock = 0

    for request in terminals:
        clock += 1
        terminal = U(request)
        if terminal == root:  # no event: whatever is pinned stays so
            matched[clock - 1] = 0
            continue
        # Key and unpin the path of the request before, its nodes still whole.
        for n in range(pins):
            node = U(pinned[n])
            account[node].credit = account[node].cost
            account[node].at_level = level[0]
            counts[1] += account[node].extent + account[node].carry
            counts[2] += account[node].extent
            _enter(s, node)
        pins = 0

        deepest = terminal
        missing = root
        while resident[deepest] == 0:
            missing = deepest
            deepest = U(up[deepest])
        i = U(end[deepest])
        matched[clock - 1] = i
        leaf = U(resident[deepest])
        last = U(account[leaf].tail)
        if last != deepest:
            lower = nodes
            nodes += _ONE
            node = last
            first = last
            while node != deepest:
                resident[node] = lower
                first = node
                node = U(up[node])
            above = U(account[leaf].depth)
            whole = account[leaf].cost
            part = _weight(ranks, pairs, costs_of, i * stride + U(end[last]))
            size = sizes[end[last]] - sizes[i]
            _open(account, lower, i, size, part, account[leaf].touched)
            account[lower].head = first
            account[lower].tail = last
            account[lower].freq = account[leaf].freq
            account[lower].last_kid = account[leaf].last_kid
            account[lower].at_level = account[leaf].at_level
            account[leaf].tail = deepest
            account[leaf].extent = sizes[i] - sizes[above]
            account[leaf].cost = _weight(ranks, pairs, costs_of, above * stride + i)
            account[leaf].last_kid = lower
            if account[leaf].cosigner != 0:
                account[lower].cosigner = account[leaf].cosigner
                account[leaf].cosigner = lower
                account[lower].carry = account[leaf].extent + account[leaf].carry
            else:
                _rebase(s, leaf, account[leaf].extent + account[leaf].carry + size)
                account[lower].at_level = account[leaf].at_level
                if whole != 0:
                    account[lower].credit = account[leaf].credit * part / whole
                    account[leaf].credit -= account[lower].credit
                _enter(s, leaf)
                _enter(s, lower)
        length = 0
        node = leaf
        while node != _ONE:
            path[length] = node
            length += 1
            node = U(resident[up[account[node].head]])
        parent = _ONE
        for n in range(length - 1, -1, -1):
            node = U(path[n])
            account[node].freq += 1
            kid = U(account[node].cosigner)
            rate = account[node].extent + account[node].carry
            if kid != _NONE:
                account[node].cosigner = 0
                _add(s, kid, -rate)
            else:
                counts[1] -= rate
            if account[node].carry != 0:
                return 4, clock, evictions, once, evicted, used
            account[node].entered = 0
            account[node].touched = clock
            if account[node].after != 0:
                _unlink(account, parent, node)
                _append(account, parent, node)
            parent = node
            counts[2] -= account[node].extent
            pinned[pins] = node
            pins += 1
        if deepest == terminal:
            continue
        blocks = U(end[terminal])
        need = sizes[blocks] - sizes[i]
        while used + need > capacity:
            while True:
                victim = _first(s)
                if victim == _NONE:
                    return 1, clock, evictions, once, evicted, used
                rate = account[victim].extent + account[victim].carry
                run_out = account[victim].at_level + account[victim].credit / rate
                if run_out > level[0]:
                    if counts[1] != counts[2]:
                        return 5, clock, evictions, once, evicted, used
                    level[0] = run_out
                elif run_out < level[0] - rounding * (1 + level[0]):
                    return 6, clock, evictions, once, evicted, used
                account[victim].entered = 0
                account[victim].credit = 0.0
                account[victim].at_level = level[0]
                counts[1] -= rate
                if account[victim].last_kid == 0:
                    break
                _pick(s, victim)
            evictions += 1
            if account[victim].freq == 1:
                once += 1
            size = account[victim].extent
            counts[2] -= size
            above = U(up[account[victim].head])
            parent = U(resident[above])
            _unlink(account, parent, victim)
            used -= size
            evicted += size
            node = U(account[victim].tail)
            while node != above:
                resident[node] = 0
                node = U(up[node])
            if parent != _ONE and account[parent].cosigner == victim:
                account[parent].cosigner = 0
                account[parent].credit = 0.0
                account[parent].at_level = level[0]
                if account[parent].last_kid != 0:
                    _pick(s, parent)
                else:
                    counts[1] += account[parent].extent + account[parent].carry
                    _enter(s, parent)
        new = nodes
        nodes += _ONE
        node = terminal
        while node != deepest:
            resident[node] = new
            node = U(up[node])
        cost = _weight(ranks, pairs, costs_of, i * stride + blocks)
        _open(account, new, i, need, cost, clock)
        account[new].head = missing
        account[new].tail = terminal
        _append(account, leaf, new)
        pinned[pins] = new
        pins += 1
        used += need

    status, where = _books(up, start, end, sizes, resident, used, capacity)
    return status, where, evictions, once, evicted, used
