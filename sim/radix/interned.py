"""The interned engine: replay on integers.

Blocks are interned once into the static forest, so a request is one integer (its terminal static
node) and a path of 24 blocks is 3 static nodes. An online node is a chain of static nodes, known by
its head and tail; ``resident[static]`` is its online id; its parent is ``resident[parent(head)]``, so
a split re-parents nothing and only child counts are kept. ``make bench`` compares it with the node
objects.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from itertools import compress

from cache_worthy.sim.errors import InvariantError
from cache_worthy.sim.forest import Forest
from cache_worthy.sim.outcome import Outcome
from cache_worthy.sim.radix.policies.base import KeyRule


def replay_interned(
    forest: Forest,
    rule: KeyRule,
    capacity: int,
    sizes: Sequence[int],
    costs: Sequence[int],
    held: bytearray | None = None,
) -> Outcome:
    """Replay ``forest`` under the policy that ``rule`` states.

    Parameters
    ----------
    forest : Forest
    rule : KeyRule
    capacity : int
        At least ``sizes[forest.depth]``.
    sizes, costs : sequence of int, length ``forest.depth + 1``
        Of the paths of 0, 1, ... blocks.
    held : bytearray, optional
        Per static node 1 where it never leaves once loaded; closed under parents. Loaded blocks
        are divided where the held ones end, so an online node is held whole or not at all. A held
        one counts one child too many, which keeps it out of the heap.

    Raises
    ------
    InvariantError
        If no victim is left, the books do not balance or a held node left.

    Notes
    -----
    Time per request: static nodes on the missing part and online nodes on the matched path, and per
    eviction the log of the residents. Memory: static nodes and nodes ever created.
    """
    up = forest.parent.tolist()
    # The root is static node -1 (the list's last element) and online node 1: always resident, never
    # childless, so the loops below need no test for it.
    end, start = [*forest.end, 0], forest.start.tolist()
    resident = [*[0] * len(up), 1]  # static node -> online id, 0 when absent
    weight = rule.weight
    on_clock = rule.base == "clock"
    use_freq = rule.mult == "freq"
    keep_max = rule.level == "max"
    keep_last = rule.level == "last"
    push, pop = heapq.heappush, heapq.heappop

    # Per online node; a dead node has the key NaN, which equals no heap entry.
    head = [-1, -1]
    tail = [-1, -1]
    freq = [0, 0]
    key = [math.nan, math.nan]
    weights: list[float] = [0.0, 0.0]
    children = [0, 1 << 62]
    heap: list[tuple[float, int]] = []

    level = 0.0
    total = evictions = evicted_once = evicted_size = used = clock = 0
    w: float = 0
    matched: list[int] = []
    held_loaded = 0

    for terminal in forest.terminal:
        clock += 1
        deepest = terminal
        while not resident[deepest]:
            missing = deepest
            deepest = up[deepest]
        i = end[deepest]
        matched.append(i)
        leaf = resident[deepest]
        last = tail[leaf]
        if last != deepest:
            # The request leaves the online node here: split it. The lower half is new.
            lower = len(head)
            node = last
            while node != deepest:
                resident[node] = lower
                first = node
                node = up[node]
            head.append(first)
            tail.append(last)
            freq.append(freq[leaf])
            kept = key[leaf]
            key.append(kept)
            children.append(children[leaf])
            if not children[leaf]:
                push(heap, (kept, lower))
            children[leaf] = 1
            tail[leaf] = deepest
            if weight:
                e = end[last]
                weights.append(weight(sizes[e] - sizes[i], costs[e] - costs[i], i))
                s = start[head[leaf]]
                weights[leaf] = weight(sizes[i] - sizes[s], costs[i] - costs[s], s)
            else:
                weights.append(0.0)
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
            if not children[leaf]:
                push(heap, (key[leaf], leaf))
            continue
        length = end[terminal]
        total += costs[length] - costs[i]
        need = sizes[length] - sizes[i]
        while used + need > capacity:
            # A pinned leaf can only be the deepest matched node. It is about to get a child, so
            # its entries are dropped; it is pushed again when that child is evicted.
            if not heap:
                raise InvariantError(f"request {clock}: nothing can leave")
            value, victim = pop(heap)
            if key[victim] != value or children[victim] or victim == leaf:
                continue
            if keep_max:
                if value > level:  # noqa: PLR1730 (max() costs a call in the hottest loop)
                    level = value
            elif keep_last:
                level = value
            evictions += 1
            if freq[victim] == 1:
                evicted_once += 1
            key[victim] = math.nan
            node = tail[victim]
            above = up[head[victim]]
            freed = sizes[end[node]] - sizes[end[above]]
            used -= freed
            evicted_size += freed
            while node != above:
                resident[node] = 0
                node = up[node]
            parent = resident[above]
            children[parent] -= 1
            if not children[parent]:
                push(heap, (key[parent], parent))
        online = len(head)
        node = terminal
        if held is not None and held[missing]:
            first = missing
            while not held[node]:
                missing = node
                node = up[node]
            bound = node
            while node != deepest:
                resident[node] = online
                node = up[node]
            children[leaf] += 1
            e = end[bound]
            part = sizes[e] - sizes[i]
            if weight:
                w = weight(part, costs[e] - costs[i], i)
            head.append(first)
            tail.append(bound)
            freq.append(1)
            key.append(clock + w if on_clock else level + w)
            weights.append(w)
            children.append(1)
            used += part
            held_loaded += part
            if bound == terminal:
                continue
            leaf, deepest, i = online, bound, e
            need -= part
            online += 1
            node = terminal
        while node != deepest:
            resident[node] = online
            node = up[node]
        children[leaf] += 1
        if weight:
            w = weight(need, costs[length] - costs[i], i)
        value = clock + w if on_clock else level + w  # freq is 1
        head.append(missing)
        tail.append(terminal)
        freq.append(1)
        key.append(value)
        weights.append(w)
        children.append(0)
        push(heap, (value, online))
        used += need

    sum_resident = 0
    for static in compress(range(len(up)), resident):
        sum_resident += sizes[end[static]] - sizes[start[static]]
        if not resident[up[static]]:
            raise InvariantError(f"static node {static} is resident and its parent is not")
    if sum_resident != used or used > capacity:
        raise InvariantError(
            f"{sum_resident} resident by node, {used} by the books, capacity {capacity}"
        )
    if held is not None:
        whole = sum(sizes[end[n]] - sizes[start[n]] for n in compress(range(len(up)), held))
        if held_loaded != whole or any(h and not r for h, r in zip(held, resident, strict=False)):
            raise InvariantError(f"{whole} held, {held_loaded} loaded: a held node left")
    references, hits = forest.references, sum(matched)
    return Outcome(
        capacity=capacity,
        block_references=references,
        distinct_blocks=forest.distinct,
        hit_blocks=hits,
        block_misses=references - hits,
        total_cost=total,
        compulsory_cost=forest.compulsory(costs),
        evictions=evictions,
        evicted_size=evicted_size,
        resident_size=used,
        matched=tuple(matched),
        evicted_once=evicted_once,
    )
