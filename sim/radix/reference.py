"""The node engines: replay on node objects, with every invariant checked in the loop.

The *reference* engine finds each victim by a linear scan; the *heap* engine keeps the candidates in
a heap and compares some victims with a scan. A policy that names its victims is asked for them.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Sequence

from cache_worthy.sim.cost import DepthFn, SegmentFn
from cache_worthy.sim.errors import CapacityError, InvariantError
from cache_worthy.sim.forest import Forest
from cache_worthy.sim.outcome import Outcome
from cache_worthy.sim.radix.policies.base import EvictionPolicy
from cache_worthy.sim.radix.tree import Node, Priority, RadixTree
from cache_worthy.sim.trace import BlockId

CHECK_EVERY = 256
"""Requests between full checks of the tree in the reference engine, and evictions between checks of
the heap's victim against a linear scan."""

CHECK_FIRST = 32
"""Evictions whose victim is always checked against a linear scan."""


def require_floor(floor: int, capacity: int, held: bool = False) -> None:
    """Refuse a capacity under ``floor``.

    Raises
    ------
    CapacityError
    """
    if capacity < floor:
        beside = " beside what is pinned" if held else ""
        raise CapacityError(
            f"capacity {capacity} is under the floor {floor}: the largest request pins its whole "
            f"path{beside} while it is served; expected a capacity >= {floor}"
        )


def replay_nodes(
    paths: Iterable[Sequence[BlockId]] | Forest,
    policy: EvictionPolicy,
    capacity: int,
    size_fn: SegmentFn,
    cost_fn: SegmentFn,
    *,
    scan: bool,
    held: Sequence[int] = (),
) -> Outcome:
    """As :func:`~cache_worthy.sim.radix.replay.replay`, with victims found by a linear ``scan`` or not.

    ``held`` has per request the blocks of its path that never leave once loaded.
    """
    rows = paths.paths() if isinstance(paths, Forest) else tuple(map(tuple, paths))
    require_floor(max((size_fn(row, 0) for row in rows if row), default=0), capacity)
    loop = _Loop(policy, capacity, RadixTree(size_fn, cost_fn), scan)
    for number, row in enumerate(rows):
        loop.serve(row, held[number] if held else 0)
    loop.check_end()
    if isinstance(paths, Forest) and isinstance(cost_fn, DepthFn) and not scan:
        # The trie below takes longer than the replay, so only the reference engine uses it.
        distinct = paths.distinct
        compulsory = paths.compulsory(cost_fn.cumulative(paths.depth))
    else:
        distinct, compulsory = _compulsory(rows, cost_fn)
    references, hits = sum(map(len, rows)), sum(loop.matched)
    return Outcome(
        capacity=capacity,
        block_references=references,
        distinct_blocks=distinct,
        hit_blocks=hits,
        block_misses=references - hits,
        total_cost=loop.total,
        compulsory_cost=compulsory,
        evictions=loop.evictions,
        evicted_size=loop.evicted_size,
        resident_size=loop.tree.used,
        matched=tuple(loop.matched),
        evicted_once=loop.evicted_once,
    )


def _compulsory(rows: Sequence[Sequence[BlockId]], cost_fn: SegmentFn) -> tuple[int, int]:
    """Distinct blocks, and the cost of each once, by a plain trie that no engine shares."""
    trie: dict[BlockId, object] = {}
    distinct = total = 0
    for row in rows:
        level = trie
        for depth, block in enumerate(row):
            below = level.get(block)
            if below is None:
                below = level[block] = {}
                distinct += 1
                total += cost_fn((block,), depth)
            level = below  # type: ignore[assignment]
    return distinct, total


class _Loop:
    """One cache served one request at a time."""

    def __init__(self, policy: EvictionPolicy, capacity: int, tree: RadixTree, scan: bool) -> None:
        self.policy = policy
        self.capacity = capacity
        self.tree = tree
        self.scan = scan
        self.victims: _Chosen | _Scan | _Heap
        if policy.chooses:
            self.victims = _Chosen(policy, scan)
        else:
            self.victims = (_Scan if scan else _Heap)(tree, policy)
        self.clock = 0
        self.total = self.evictions = self.evicted_once = 0
        self.evicted_size = self.loaded_size = 0
        self.matched: list[int] = []
        self.stays: set[int] = set()  # ids of the nodes that never leave

    def serve(self, path: Sequence[BlockId], bound: int) -> None:
        """Serve a request whose first ``bound`` blocks never leave once loaded."""
        self.clock += 1
        nodes, i, split = self.tree.match(path)
        if split is not None:
            self.policy.on_split(*split, self.clock)
            if split[0].id in self.stays:
                self.stays.add(split[1].id)
            else:
                self.victims.changed(split[1], self.clock)
        self.matched.append(i)
        for node in nodes:
            node.freq += 1
            self.policy.on_hit(node, self.clock)
        if nodes and nodes[-1].id not in self.stays:
            self.victims.changed(nodes[-1], self.clock)
        if i < len(path):
            rest = tuple(path[i:])
            need = self.tree.size_fn(rest, i)
            self.total += self.tree.cost_fn(rest, i)
            self._make_room(need, {node.id for node in nodes} | self.stays)
            loaded = self._load(nodes[-1] if nodes else self.tree.root, rest, i, bound - i)
            if loaded != need:
                raise InvariantError(f"request {self.clock}: needed {need}, loaded {loaded}")
        self._check()

    def _make_room(self, need: int, pinned: set[int]) -> None:
        tree, policy, clock = self.tree, self.policy, self.clock
        while tree.used + need > self.capacity:
            victim = self.victims.victim(pinned, clock)
            if victim is None:
                raise InvariantError(
                    f"request {clock}: nothing can leave, {tree.used} used, {need} needed, "
                    f"capacity {self.capacity}"
                )
            if victim.id in pinned:
                raise InvariantError(f"request {clock}: {victim!r} is pinned")
            policy.on_evict(victim, clock)
            self.evictions += 1
            self.evicted_once += victim.freq == 1
            self.evicted_size += victim.size
            above = tree.evict(victim)
            if above.id not in self.stays:
                self.victims.changed(above, clock)

    def _load(self, above: Node, rest: tuple[BlockId, ...], depth: int, bound: int) -> int:
        """Insert blocks, divided at ``bound``, from where on they may leave; the size of all."""
        cut = bound if 0 < bound < len(rest) else 0
        loaded = 0
        for part, at in ((rest[:cut], depth), (rest[cut:], depth + cut)):
            if not part:
                continue
            above = self.tree.insert(above, part, at)
            loaded += above.size
            self.policy.on_insert(above, self.clock)
            if at - depth < bound:
                self.stays.add(above.id)
            else:
                self.victims.changed(above, self.clock)
        self.loaded_size += loaded
        return loaded

    def _check(self) -> None:
        used = self.tree.used
        if used > self.capacity:
            raise InvariantError(f"request {self.clock}: {used} resident, capacity {self.capacity}")
        if self.loaded_size - self.evicted_size != used:
            raise InvariantError(
                f"request {self.clock}: loaded {self.loaded_size} - evicted {self.evicted_size} is "
                f"not the {used} resident"
            )
        if self.scan and self.clock % CHECK_EVERY == 0:
            self.tree.check()  # the heap engine checks the whole tree at the end

    def check_end(self) -> None:
        """Check the whole tree, and that nothing pinned has left."""
        self.tree.check()
        if not self.stays <= self.tree.nodes.keys():
            raise InvariantError("a pinned node left")


class _Scan:
    """Victims by a linear scan over all residents."""

    def __init__(self, tree: RadixTree, policy: EvictionPolicy) -> None:
        self.tree = tree
        self.policy = policy

    def changed(self, node: Node, clock: int) -> None:
        """Nothing is kept between evictions."""

    def victim(self, pinned: set[int], clock: int) -> Node | None:
        best: tuple[Priority, int] | None = None
        found: Node | None = None
        for node in self.tree.nodes.values():
            if node.children or node.id in pinned:
                continue
            key = (_valid(self.policy.priority(node, clock), node), node.id)
            if best is None or key < best:
                best, found = key, node
        if found is not None and best is not None:
            again = self.policy.priority(found, clock)
            if again != best[0]:
                raise InvariantError(
                    f"policy {self.policy.name}: priority of {found!r} was {best[0]!r}, then "
                    f"{again!r}: it must be deterministic"
                )
        return found


class _Heap:
    """Victims from a heap of childless nodes, entries checked when they come up."""

    def __init__(self, tree: RadixTree, policy: EvictionPolicy) -> None:
        self.tree = tree
        self.policy = policy
        self.heap: list[tuple[Priority, int]] = []
        self.evictions = 0

    def changed(self, node: Node, clock: int) -> None:
        if node.id and not node.children:
            priority = _valid(self.policy.priority(node, clock), node)
            heapq.heappush(self.heap, (priority, node.id))

    def victim(self, pinned: set[int], clock: int) -> Node | None:
        held: list[tuple[Priority, int]] = []
        found: Node | None = None
        while self.heap and found is None:
            entry = heapq.heappop(self.heap)
            node = self.tree.nodes.get(entry[1])
            if node is None or node.children:
                continue
            now = _valid(self.policy.priority(node, clock), node)
            if now != entry[0]:
                # Touched since (there is a newer entry) or risen by itself: ask again later.
                if self.policy.priority(node, clock) != now:
                    raise InvariantError(
                        f"policy {self.policy.name}: two calls of priority for {node!r} differ: it "
                        "must be deterministic (draw random keys in on_insert or on_hit)"
                    )
                heapq.heappush(self.heap, (now, node.id))
            elif node.id in pinned:
                held.append(entry)
            else:
                found = node
        for entry in held:
            heapq.heappush(self.heap, entry)
        self.evictions += 1
        if self.evictions <= CHECK_FIRST or self.evictions % CHECK_EVERY == 0:
            least = _Scan(self.tree, self.policy).victim(pinned, clock)
            if least is not found:
                raise InvariantError(
                    f"policy {self.policy.name}: {least!r} ranks below {found!r}, whose priority "
                    "has not changed: priorities fell between the policy's own events; set "
                    "dynamic = True"
                )
        return found


class _Chosen:
    """Victims named by the policy; the replay loop checks them like any other."""

    def __init__(self, policy: EvictionPolicy, scan: bool) -> None:
        self.policy = policy
        self.scan = scan

    def changed(self, node: Node, clock: int) -> None:
        """The policy's own hooks have told it."""

    def victim(self, pinned: set[int], clock: int) -> Node | None:
        return self.policy.choose(clock, self.scan)


def _valid(priority: Priority, node: Node) -> Priority:
    if _has_nan(priority):
        raise InvariantError(f"priority of {node!r} is NaN")
    return priority


def _has_nan(value: object) -> bool:
    if isinstance(value, tuple):
        return any(map(_has_nan, value))
    return isinstance(value, float) and math.isnan(value)
