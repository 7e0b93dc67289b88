"""The kernel of cosigned."""

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

_ACCOUNT = record(
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
_CLAIM = record(run_out=np.float64, order=np.uint64, node=np.uint64)

_NOWHERE = np.uint32(0xFFFFFFFF)
_HALF = U(32)


@compiled
def _claim(account: Any, node: Any) -> Any:
    """Level at which a node runs out of credit, and its rank among those of that level."""
    u = account[node]
    run_out = u.at_level + u.credit / (u.extent + u.carry)
    return run_out, (U(u.touched) << _HALF) + U(_NOWHERE - u.depth)


@compiled
def _rise(heap: Any, place: Any, at: Any, run_out: float, order: Any, node: Any) -> None:
    """Put a claim where it belongs between the free place ``at`` and the top."""
    while at > NONE:
        above = (at - ONE) >> ONE
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


@compiled
def _replace(heap: Any, place: Any, size: Any, run_out: float, order: Any, node: Any) -> None:
    """Put a claim in the place of the first, as :func:`_drop` does with the last entry."""
    at = NONE
    below = ONE
    while below < size:
        beside = below + ONE
        if beside < size:
            one, two = heap[below].run_out, heap[beside].run_out
            below += U((two < one) | ((two == one) & (heap[beside].order < heap[below].order)))
        heap[at].run_out = heap[below].run_out
        heap[at].order = heap[below].order
        heap[at].node = heap[below].node
        place[heap[below].node] = at
        at = below
        below = (at << ONE) + ONE
    _rise(heap, place, at, run_out, order, node)


@compiled
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


@compiled
def _first(s: Any) -> Any:
    """The node whose claim comes first; 0 for none."""
    account, heap, place, counts = s[0], s[1], s[2], s[3]
    while counts[0] > 0:
        node = heap[NONE].node
        if account[node].entered != 0:
            run_out, order = _claim(account, node)
            old = heap[NONE].run_out
            if old < run_out or (old == run_out and heap[NONE].order < order):
                _replace(heap, place, U(counts[0]), run_out, order, node)
                continue
            return node
        place[node] = _NOWHERE
        counts[0] -= 1
        last = U(counts[0])
        if last > NONE:
            tail = heap[last]
            _replace(heap, place, last, tail.run_out, tail.order, tail.node)
    return NONE


@compiled
def _rebase(s: Any, node: Any, rate: int) -> None:
    account, level = s[0], s[4][0]
    if account[node].at_level != level:
        left = account[node].credit - (level - account[node].at_level) * rate
        account[node].credit = left if left > 0 else 0.0
        account[node].at_level = level


@compiled
def _add(s: Any, node: Any, rate: int) -> None:
    account = s[0]
    while account[node].cosigner != 0:
        account[node].carry += rate
        node = U(account[node].cosigner)
    _rebase(s, node, account[node].extent + account[node].carry)
    account[node].carry += rate
    s[3][1] += rate
    _enter(s, node)


@compiled
def _pick(s: Any, node: Any) -> None:
    account = s[0]
    kid = U(account[node].last_kid)
    account[node].cosigner = kid
    _add(s, kid, account[node].extent + account[node].carry)


@compiled
def _unlink(account: Any, parent: Any, node: Any) -> None:
    """Take a node out of its parent's list of children."""
    before, after = U(account[node].before), U(account[node].after)
    if after != NONE:
        account[after].before = before
    else:
        account[parent].last_kid = before
    if before != NONE:
        account[before].after = after


@compiled
def _append(account: Any, parent: Any, node: Any) -> None:
    last = U(account[parent].last_kid)
    account[node].before = last
    account[node].after = 0
    if last != NONE:
        account[last].after = node
    account[parent].last_kid = node


@compiled
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


@compiled
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
    _open(account, ONE, NONE, 0, 0.0, 0)
    account[ONE].head = root
    account[ONE].tail = root
    nodes = TWO
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
            nodes += ONE
            node = last
            first = last
            while node != deepest:
                resident[node] = lower
                first = node
                node = U(up[node])
            above = U(account[leaf].depth)
            whole = account[leaf].cost
            part = look_up(ranks, pairs, costs_of, i * stride + U(end[last]))
            size = sizes[end[last]] - sizes[i]
            _open(account, lower, i, size, part, account[leaf].touched)
            account[lower].head = first
            account[lower].tail = last
            account[lower].freq = account[leaf].freq
            account[lower].last_kid = account[leaf].last_kid
            account[lower].at_level = account[leaf].at_level
            account[leaf].tail = deepest
            account[leaf].extent = sizes[i] - sizes[above]
            account[leaf].cost = look_up(ranks, pairs, costs_of, above * stride + i)
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
        while node != ONE:
            path[length] = node
            length += 1
            node = U(resident[up[account[node].head]])
        parent = ONE
        for n in range(length - 1, -1, -1):
            node = U(path[n])
            account[node].freq += 1
            kid = U(account[node].cosigner)
            rate = account[node].extent + account[node].carry
            if kid != NONE:
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
                if victim == NONE:
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
            if parent != ONE and account[parent].cosigner == victim:
                account[parent].cosigner = 0
                account[parent].credit = 0.0
                account[parent].at_level = level[0]
                if account[parent].last_kid != 0:
                    _pick(s, parent)
                else:
                    counts[1] += account[parent].extent + account[parent].carry
                    _enter(s, parent)
        new = nodes
        nodes += ONE
        node = terminal
        while node != deepest:
            resident[node] = new
            node = U(up[node])
        cost = look_up(ranks, pairs, costs_of, i * stride + blocks)
        _open(account, new, i, need, cost, clock)
        account[new].head = missing
        account[new].tail = terminal
        _append(account, leaf, new)
        pinned[pins] = new
        pins += 1
        used += need

    status, where = books(up, start, end, sizes, resident, used, capacity)
    return status, where, evictions, once, evicted, used
