"""The interned engine: replay on integers.

Why it is fast, and why the complexity is worth it: blocks are interned once into the static
forest, so a request is one integer (its terminal static node) and a path of 24 blocks is 3 static
nodes. An online node is a chain of static nodes, known by its head and tail; ``resident[static]``
holds its online id; its parent is ``resident[parent(head)]``, so a split never re-parents
anything and only child counts are kept. ``make bench`` compares it with the node objects
(``replay.py``); the two agree field for field.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

from cache_worthy.sim.errors import InvariantError
from cache_worthy.sim.forest import PrefixForest
from cache_worthy.sim.policies.base import KeyRule


@dataclass(frozen=True, slots=True)
class Tally:
    """What an engine counts."""

    total_cost: int
    evictions: int
    evicted_once: int
    evicted_size: int
    resident_size: int
    matched: list[int]


def replay_interned(
    forest: PrefixForest,
    rule: KeyRule,
    capacity: int,
    sizes: Sequence[int],
    costs: Sequence[int],
) -> Tally:
    """Replay ``forest`` under the policy that ``rule`` states.

    Parameters
    ----------
    forest : PrefixForest
    rule : KeyRule
    capacity : int
        At least ``sizes[forest.depth]``.
    sizes, costs : sequence of int, length ``forest.depth + 1``
        Of the paths of 0, 1, ... blocks.

    Returns
    -------
    Tally

    Raises
    ------
    InvariantError
        If no victim is left or the books do not balance.

    Notes
    -----
    Time a request: static nodes on the missing part and online nodes on the matched path, plus
    log of the residents an eviction. Memory: static nodes plus nodes ever created.
    """
    up, end, start = forest.parent, forest.end, forest.start
    weight = rule.weight
    on_clock = rule.base == "clock"
    use_freq = rule.mult == "freq"
    keep_max = rule.level == "max"
    keep_last = rule.level == "last"
    push, pop = heapq.heappush, heapq.heappop

    resident = [0] * len(up)  # static node -> online id, 0 when absent
    # Per online node; index 0 is the root.
    head = [-1]
    tail = [-1]
    freq = [0]
    key: list[float] = [0.0]
    weights: list[float] = [0.0]
    children = [0]
    alive = bytearray(b"\x01")
    heap: list[tuple[float, int]] = []

    level = 0.0
    total = evictions = evicted_once = evicted_size = used = clock = 0
    matched: list[int] = []

    def weigh(first: int, last: int) -> float:
        s, e = start[first], end[last]
        return weight(sizes[e] - sizes[s], costs[e] - costs[s], s) if weight else 0.0

    for terminal in forest.terminal:
        clock += 1
        missing = terminal
        deepest = terminal
        while deepest >= 0 and not resident[deepest]:
            missing = deepest
            deepest = up[deepest]
        i = 0
        leaf = 0
        if deepest >= 0:
            i = end[deepest]
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
                key.append(key[leaf])
                weights.append(weigh(first, last))
                children.append(children[leaf])
                alive.append(1)
                if not children[leaf]:
                    push(heap, (key[leaf], lower))
                children[leaf] = 1
                tail[leaf] = deepest
                weights[leaf] = weigh(head[leaf], deepest)
            node = leaf
            while node:
                freq[node] += 1
                if on_clock:
                    key[node] = clock + weights[node]
                elif use_freq:
                    key[node] = level + freq[node] * weights[node]
                else:
                    key[node] = level + weights[node]
                above = up[head[node]]
                node = resident[above] if above >= 0 else 0
        matched.append(i)
        if deepest == terminal:
            if leaf and not children[leaf]:
                push(heap, (key[leaf], leaf))
            continue
        length = end[terminal]
        total += costs[length] - costs[i]
        need = sizes[length] - sizes[i]
        while used + need > capacity:
            # A pinned leaf can only be the deepest matched node. It is about to get a child, so
            # its entries are dropped; it is pushed again when that child leaves.
            while True:
                if not heap:
                    raise InvariantError(f"request {clock}: nothing can leave")
                value, victim = pop(heap)
                if (
                    alive[victim]
                    and not children[victim]
                    and key[victim] == value
                    and victim != leaf
                ):
                    break
            if keep_max:
                level = max(level, value)
            elif keep_last:
                level = value
            evictions += 1
            if freq[victim] == 1:
                evicted_once += 1
            alive[victim] = 0
            first = head[victim]
            node = tail[victim]
            freed = sizes[end[node]] - sizes[start[first]]
            used -= freed
            evicted_size += freed
            above = up[first]
            while node != above:
                resident[node] = 0
                node = up[node]
            parent = resident[above] if above >= 0 else 0
            if parent:
                children[parent] -= 1
                if not children[parent]:
                    push(heap, (key[parent], parent))
        online = len(head)
        node = terminal
        while node != deepest:
            resident[node] = online
            node = up[node]
        if leaf:
            children[leaf] += 1
        w = weigh(missing, terminal)
        if on_clock:
            value = clock + w
        elif use_freq:
            value = level + 1 * w
        else:
            value = level + w
        head.append(missing)
        tail.append(terminal)
        freq.append(1)
        key.append(value)
        weights.append(w)
        children.append(0)
        alive.append(1)
        push(heap, (value, online))
        used += need

    held = sum(sizes[end[s]] - sizes[start[s]] for s in range(len(up)) if resident[s])
    if held != used or used > capacity:
        raise InvariantError(f"{held} resident by node, {used} by the books, capacity {capacity}")
    for s, above in enumerate(up):
        if resident[s] and above >= 0 and not resident[above]:
            raise InvariantError(f"static node {s} is resident and its parent is not")
    return Tally(total, evictions, evicted_once, evicted_size, used, matched)
