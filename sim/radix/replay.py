"""Replay of a trace under an eviction policy, in exact integers.

One function, :func:`replay`, over three engines. The *reference* engine keeps node objects, finds
each victim by a linear scan and raises on every broken invariant in the loop. The *interned*
engine (:mod:`cache_worthy.sim.radix.interned`) works on integers, the *compiled* one
(:mod:`cache_worthy.sim.radix.compiled`) is the same loop as machine code. They agree in every field of the
result. A policy without a :class:`~cache_worthy.sim.radix.policies.base.KeyRule` runs on node objects
with a heap.

Evidence: rank 1, all published cells of the reference table for the traces at hand
(``scripts/check/replay.py --check``); rank 2, the invariants in the loop; rank 5, the engines and
an independent transcription agree.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from cache_worthy.sim.columns import Ints
from cache_worthy.sim.cost import BlockCost, BlockSize, DepthFn, SegmentFn
from cache_worthy.sim.errors import CapacityError, InputError, InvariantError
from cache_worthy.sim.forest import PrefixForest, build_forest
from cache_worthy.sim.radix import choose as fast
from cache_worthy.sim.radix.interned import Tally, replay_interned
from cache_worthy.sim.radix.policies.base import EvictionPolicy
from cache_worthy.sim.radix.policies.cosigned import Cosigned
from cache_worthy.sim.radix.tree import Node, Priority, RadixTree
from cache_worthy.sim.trace import BlockId

Engine = Literal["auto", "compiled", "interned", "heap", "reference"]

CHECK_EVERY = 256
"""Requests between full checks of the tree in the reference engine (single events are checked as
they happen, in both), and evictions between checks of the heap's victim against a linear scan."""

CHECK_FIRST = 32
"""Evictions whose victim is always checked against a linear scan."""


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """What a replay cost and did.

    Attributes
    ----------
    policy : str
    capacity : int
        In units of the size function (bytes by default).
    requests, block_references, distinct_blocks : int
    hit_blocks : int
        Blocks found resident, summed over the requests.
    total_cost, compulsory_cost : int
        Recomputed cost, and each distinct block once (exact FLOPs by default).
    evictions : int
        Evicted nodes.
    evicted_once : int
        Evicted nodes whose only use was their insertion.
    evicted_size, resident_size : int
        Sizes that left, and that remain.
    matched : sequence of int
        Blocks matched, request by request.
    """

    policy: str
    capacity: int
    requests: int
    block_references: int
    distinct_blocks: int
    hit_blocks: int
    total_cost: int
    compulsory_cost: int
    evictions: int
    evicted_once: int
    evicted_size: int
    resident_size: int
    matched: Sequence[int] = field(repr=False)

    @property
    def cost_ratio(self) -> float | None:
        """Total over compulsory cost; None when nothing has a cost."""
        return self.total_cost / self.compulsory_cost if self.compulsory_cost else None

    @property
    def block_hit_rate(self) -> float | None:
        """Matched over referenced blocks, whole trace, cold start; None without blocks."""
        return self.hit_blocks / self.block_references if self.block_references else None

    def token_hit_rate(self, input_lengths: Sequence[int], block_tokens: int = 512) -> float | None:
        """Prompt tokens found resident, the last block cut to the prompt; None without tokens."""
        total = sum(input_lengths)
        hit = sum(
            min(blocks * block_tokens, tokens)
            for blocks, tokens in zip(self.matched, input_lengths, strict=True)
        )
        return hit / total if total else None


def replay(
    paths: Iterable[Sequence[BlockId]] | PrefixForest,
    policy: EvictionPolicy,
    capacity: int,
    size_fn: SegmentFn | None = None,
    cost_fn: SegmentFn | None = None,
    engine: Engine = "auto",
    pinned: Iterable[int] = (),
) -> ReplayResult:
    """Serve every request in order and charge what had to be recomputed.

    Parameters
    ----------
    paths : iterable of sequence of (int or str), or PrefixForest
        One path of block ids a request; a forest saves interning when a trace is replayed often.
    policy : EvictionPolicy
        A fresh instance: it keeps state.
    capacity : int
        In units of ``size_fn``; at least the size of the largest path.
    size_fn, cost_fn : SegmentFn, optional
        ``fn(block_ids, depth)``; KV bytes and prefill FLOPs of the default model by default.
    engine : {"auto", "compiled", "interned", "heap", "reference"}
        "auto" is interned where the policy declares a key rule and both functions look at depths
        only, else heap, or reference for a policy with ``dynamic = True``; in place of the first two
        compiled for the forest of a large log, where numba is installed.
    pinned : iterable of int, optional
        Static nodes of the forest that stay, with their ancestors, from the first request that
        loads them on. They take their room in the same capacity. ``paths`` must then be a forest
        and both functions look at depths only.

    Returns
    -------
    ReplayResult

    Raises
    ------
    CapacityError
        If some request's own path, with what is pinned, does not fit.
    InputError
        If ``engine`` is unknown or cannot run this policy, or nodes cannot be pinned: a policy
        that names its victims does not know of them.
    InvariantError
        On a bug in the simulator or the policy.

    Notes
    -----
    A request pins its path while it is served; missing blocks are loaded and charged; only
    childless nodes leave, whole; capacity is never exceeded. Reuse counts from the root.
    Time: interned, static nodes on the path plus evictions times log of the residents;
    reference, residents an eviction.

    Examples
    --------
    >>> from cache_worthy.sim.radix.policies import POLICIES
    >>> unit = lambda block_ids, depth: len(block_ids)
    >>> result = replay([(1, 2), (1, 3), (1, 2)], POLICIES["lru"](), 2, unit, unit)
    >>> result.total_cost, result.compulsory_cost, result.evictions, result.matched
    (4, 3, 2, (0, 1, 1))
    """
    size_fn = BlockSize() if size_fn is None else size_fn
    cost_fn = BlockCost() if cost_fn is None else cost_fn
    tabular = isinstance(size_fn, DepthFn) and isinstance(cost_fn, DepthFn)
    rule = type(policy).__dict__.get("key_rule")
    held = None
    held_depths: list[int] = []
    nodes = set(pinned)
    if nodes:
        if not isinstance(paths, PrefixForest) or not (
            isinstance(size_fn, DepthFn) and isinstance(cost_fn, DepthFn)
        ):
            raise InputError("pinned: needs a forest, and sizes and costs with cumulative(depth)")
        if policy.chooses:
            raise InputError(f"pinned: policy {policy.name} names its victims itself")
        held, held_depths = hold(paths, nodes)
        _require_floor(held_floor(paths, held, held_depths, size_fn), capacity, held=True)
    if engine == "auto":
        if isinstance(paths, PrefixForest) and tabular and fast.wanted(paths.requests):
            engine = "compiled"
        exact = False
    else:
        exact = engine == "compiled"
    tally = None
    if engine == "compiled":
        forest = paths if isinstance(paths, PrefixForest) else build_forest(paths)
        tally = _compiled(forest, policy, capacity, size_fn, cost_fn, held, exact)
    if engine == "auto" or (engine == "compiled" and tally is None):
        if rule is not None and tabular:
            engine = "interned"
        else:
            engine = "reference" if policy.dynamic else "heap"
    if tally is not None and isinstance(cost_fn, DepthFn):
        references, distinct = forest.references, forest.distinct
        compulsory = _compulsory_of_forest(forest, cost_fn.cumulative(forest.depth))
    elif engine == "interned":
        if rule is None:
            raise InputError(f"engine 'interned': policy {policy.name} declares no key rule")
        if not (isinstance(size_fn, DepthFn) and isinstance(cost_fn, DepthFn)):
            raise InputError("engine 'interned': size_fn and cost_fn must have cumulative(depth)")
        forest = paths if isinstance(paths, PrefixForest) else build_forest(paths)
        sizes = size_fn.cumulative(forest.depth)
        costs = cost_fn.cumulative(forest.depth)
        _require_floor(sizes[forest.depth], capacity)
        tally = replay_interned(forest, rule, capacity, sizes, costs, held)
        references, distinct = forest.references, forest.distinct
        compulsory = _compulsory_of_forest(forest, costs)
    elif engine in ("heap", "reference"):
        if engine == "heap" and policy.dynamic:
            raise InputError(f"engine 'heap': policy {policy.name} has dynamic priorities")
        rows = paths.paths() if isinstance(paths, PrefixForest) else tuple(tuple(p) for p in paths)
        _require_floor(max((size_fn(p, 0) for p in rows if p), default=0), capacity)
        scan = engine == "reference"
        tally = _replay_nodes(rows, policy, capacity, size_fn, cost_fn, scan, held_depths)
        references = sum(len(p) for p in rows)
        if engine == "heap" and isinstance(paths, PrefixForest) and isinstance(cost_fn, DepthFn):
            # The trie below takes longer than the replay; the reference engine keeps it.
            distinct = paths.distinct
            compulsory = _compulsory_of_forest(paths, cost_fn.cumulative(paths.depth))
        else:
            distinct, compulsory = _compulsory(rows, cost_fn)
    else:
        raise InputError(
            f"engine {engine!r}: expected 'auto', 'compiled', 'interned', 'heap' or 'reference'"
        )
    return ReplayResult(
        policy=policy.name,
        capacity=capacity,
        requests=len(tally.matched),
        block_references=references,
        distinct_blocks=distinct,
        hit_blocks=tally.hit_blocks,
        total_cost=tally.total_cost,
        compulsory_cost=compulsory,
        evictions=tally.evictions,
        evicted_once=tally.evicted_once,
        evicted_size=tally.evicted_size,
        resident_size=tally.resident_size,
        matched=tally.matched if isinstance(tally.matched, Ints) else tuple(tally.matched),
    )


def hold(forest: PrefixForest, nodes: Iterable[int]) -> tuple[bytearray, list[int]]:
    """Which static nodes are held when ``nodes`` are: these and their ancestors.

    Returns
    -------
    held : bytearray
        Per static node.
    depths : list of int
        Per request the blocks of its path that are held: always a prefix.

    Raises
    ------
    InputError
        If a node is none of the forest's.
    """
    held = bytearray(forest.nodes)
    for node in nodes:
        if not 0 <= node < forest.nodes:
            raise InputError(f"pinned: node {node}: expected 0 to {forest.nodes - 1}")
        while node >= 0 and not held[node]:
            held[node] = 1
            node = forest.parent[node]
    depth = [0] * forest.nodes  # parents come before children
    for node, above in enumerate(forest.parent):
        depth[node] = forest.end[node] if held[node] else depth[above] if above >= 0 else 0
    return held, [depth[t] if t >= 0 else 0 for t in forest.terminal]


def held_floor(
    forest: PrefixForest, held: Sequence[int], depths: Sequence[int], size_fn: DepthFn
) -> int:
    """The least capacity that serves every request while the held nodes stay.

    All of them, and the largest rest of a path beside them.
    """
    sizes = size_fn.cumulative(forest.depth)
    whole = sum(
        sizes[forest.end[n]] - sizes[forest.start[n]] for n in range(forest.nodes) if held[n]
    )
    rest = (sizes[n] - sizes[d] for n, d in zip(forest.length, depths, strict=True))
    return whole + max(rest, default=0)


def _compiled(
    forest: PrefixForest,
    policy: EvictionPolicy,
    capacity: int,
    size_fn: SegmentFn,
    cost_fn: SegmentFn,
    held: bytearray | None,
    asked: bool,
) -> Tally | None:
    """The compiled engine's result; None where it has none and was not asked for by name."""
    if not fast.available():
        raise InputError("engine 'compiled': needs numba; pip install 'cache-worthy[fast]'")
    from cache_worthy.sim.radix.compiled import replay_compiled, replay_cosigned

    rule = type(policy).__dict__.get("key_rule")
    tally = None
    if isinstance(size_fn, DepthFn) and isinstance(cost_fn, DepthFn):
        sizes, costs = size_fn.cumulative(forest.depth), cost_fn.cumulative(forest.depth)
        _require_floor(sizes[forest.depth], capacity)
        if rule is not None:
            tally = replay_compiled(forest, rule, capacity, sizes, costs, held)
        elif type(policy) is Cosigned and policy.in_floats:
            tally = replay_cosigned(forest, capacity, sizes, costs)
    if tally is None and asked:
        raise InputError(
            f"engine 'compiled': policy {policy.name} with these sizes and costs needs another engine"
        )
    return tally


def _require_floor(floor: int, capacity: int, held: bool = False) -> None:
    if capacity < floor:
        beside = " beside what is pinned" if held else ""
        raise CapacityError(
            f"capacity {capacity} is under the floor {floor}: the largest request pins its whole "
            f"path{beside} while it is served; expected a capacity >= {floor}"
        )


def _compulsory_of_forest(forest: PrefixForest, costs: Sequence[int]) -> int:
    """Cost of each distinct block once, from cumulative costs by depth."""
    return sum(n * (costs[depth] - costs[depth - 1]) for depth, n in forest.depths.items())


def _compulsory(rows: Sequence[Sequence[BlockId]], cost_fn: SegmentFn) -> tuple[int, int]:
    """Distinct blocks, and the cost of each once; a plain trie, shared with no engine."""
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


class _Scan:
    """Victims by a linear scan over all residents: slow and obviously right."""

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
                # Touched since (a newer entry lies below) or risen by itself: ask again later.
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
        return any(_has_nan(x) for x in value)
    return isinstance(value, float) and math.isnan(value)


def _replay_nodes(
    rows: Sequence[Sequence[BlockId]],
    policy: EvictionPolicy,
    capacity: int,
    size_fn: SegmentFn,
    cost_fn: SegmentFn,
    scan: bool,
    held: Sequence[int] = (),
) -> Tally:
    """``held``: per request the blocks of its path that never leave once loaded."""
    tree = RadixTree(size_fn, cost_fn)
    victims: _Chosen | _Scan | _Heap
    victims = _Chosen(policy, scan) if policy.chooses else (_Scan if scan else _Heap)(tree, policy)
    total = evictions = evicted_once = evicted_size = loaded_size = 0
    matched: list[int] = []
    stays: set[int] = set()  # ids of the nodes that never leave; no entry for them is made
    for clock, path in enumerate(rows, start=1):
        nodes, i, split = tree.match(path)
        if split is not None:
            policy.on_split(*split, clock)
            if split[0].id in stays:
                stays.add(split[1].id)
            else:
                victims.changed(split[1], clock)
        matched.append(i)
        for node in nodes:
            node.freq += 1
            policy.on_hit(node, clock)
        if nodes and nodes[-1].id not in stays:
            victims.changed(nodes[-1], clock)
        if i < len(path):
            rest = tuple(path[i:])
            need = size_fn(rest, i)
            total += cost_fn(rest, i)
            pinned = {node.id for node in nodes} | stays
            while tree.used + need > capacity:
                victim = victims.victim(pinned, clock)
                if victim is None:
                    raise InvariantError(
                        f"request {clock}: nothing can leave, {tree.used} used, {need} needed, "
                        f"capacity {capacity}"
                    )
                if victim.id in pinned:
                    raise InvariantError(f"request {clock}: {victim!r} is pinned")
                policy.on_evict(victim, clock)
                evictions += 1
                evicted_once += victim.freq == 1
                evicted_size += victim.size
                above = tree.evict(victim)
                if above.id not in stays:
                    victims.changed(above, clock)
            above = nodes[-1] if nodes else tree.root
            bound = held[clock - 1] - i if held else 0  # blocks of the rest that never leave
            cut = bound if 0 < bound < len(rest) else 0
            before = loaded_size
            for part, depth in ((rest[:cut], i), (rest[cut:], i + cut)):
                if not part:
                    continue
                above = tree.insert(above, part, depth)
                loaded_size += above.size
                policy.on_insert(above, clock)
                if depth - i < bound:
                    stays.add(above.id)
                else:
                    victims.changed(above, clock)
            if loaded_size - before != need:
                raise InvariantError(f"request {clock}: {above!r} and above needed {need}")
        if tree.used > capacity:
            raise InvariantError(f"request {clock}: {tree.used} resident, capacity {capacity}")
        if loaded_size - evicted_size != tree.used:
            raise InvariantError(
                f"request {clock}: loaded {loaded_size} - evicted {evicted_size} is not the "
                f"{tree.used} resident"
            )
        if scan and clock % CHECK_EVERY == 0:  # the heap engine checks the whole tree at the end
            tree.check()
    tree.check()
    if not stays <= tree.nodes.keys():
        raise InvariantError("a pinned node left")
    return Tally(total, evictions, evicted_once, evicted_size, tree.used, sum(matched), matched)
