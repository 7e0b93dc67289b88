"""A replay written from the rules alone, with a switch for every rule: the third opinion.

It imports nothing of the project. It serves two ends: on random forests it must agree with both
engines, and with one switch turned it must *disagree* with the published table, which shows that
the table pins the rule (``test_mutations.py``).

The rules, one request at a time, path p[0..L):

1. clock += 1.
2. Match from the root. Where the path leaves a node after k < len blocks, or ends there, the node
   splits: the object stays the upper half, a new node is the lower half and takes the remaining
   blocks, the children, freq and key as they are.
3. Every matched node: freq += 1, key overwritten with the current H and the node's own numbers.
4. If all matched: done, nothing is charged. Else the rest is charged, once.
5. Evict, whole, childless nodes off the matched path in order of (key, id) until the rest fits.
6. Insert the rest as one node with freq 1, keyed with H after the evictions.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

BLOCK_TOKENS = 512

FAMILY = ("landlord", "freq_landlord", "gdsf", "cost_only", "size_only")
POLICY_NAMES = ("lru", "recursive_lru", *FAMILY)


@dataclass(frozen=True, slots=True)
class Rules:
    """Every rule as a switch; the defaults are the rules, everything else breaks one."""

    capacity: str = "floor"  # round, ceil
    hits: str = "before evictions"  # after evictions
    hit_nodes: str = "path"  # deepest
    split: str = "upper keeps the object"  # lower keeps the object
    split_at: str = "match"  # insert: the hit comes first and both halves inherit it
    lower: str = "copy"  # re-keyed, fresh, freq 1
    tie: str = "id"  # newest, depth, -depth, last access, push order, size
    gdsf_level: str = "last"  # max
    landlord_level: str = "max"  # last
    insert_key: str = "after evictions"  # before evictions
    insert_freq: int = 1
    hit_key: str = "overwrite"  # max
    pin_lower: bool = False
    split_at_end: bool = True


THE_RULES = Rules()


@dataclass(frozen=True, slots=True)
class Shape:
    """The model's numbers: prefill(n) = a n + b n^2 FLOPs, and bytes of KV a block."""

    a: int
    b: int
    block_bytes: int


def llama_8b(extra_parameters: int = 0) -> Shape:
    """Llama-3.1-8B: 32 layers, d 4096, 8 KV heads of 128, d_ff 14336, bf16."""
    layers, d, kv, d_ff = 32, 4096, 8 * 128, 14336
    n = layers * (2 * d * d + 2 * d * kv + 3 * d * d_ff) + extra_parameters
    return Shape(a=2 * n, b=2 * layers * d, block_bytes=BLOCK_TOKENS * 2 * layers * kv * 2)


class N:
    """A node. ``tie`` and ``seen`` serve the broken rules only."""

    def __init__(self, id: int, parent: Any, blocks: tuple[Hashable, ...], depth: int) -> None:
        self.id = id
        self.parent = parent
        self.blocks = blocks
        self.depth = depth
        self.children: dict[Hashable, N] = {}
        self.alive = True
        self.size = self.cost = self.seen = 0
        self.freq = 1
        self.key: Any = 0.0
        self.tie: Any = None


@dataclass(frozen=True, slots=True)
class Counted:
    """What must equal the engines' result."""

    total_cost: int
    compulsory_cost: int
    distinct_blocks: int
    evictions: int
    evicted_once: int
    evicted_size: int
    resident_size: int
    matched: tuple[int, ...]

    @property
    def ratio(self) -> str:
        """Total over compulsory to four decimals, as the table prints it."""
        return f"{float(Fraction(self.total_cost, self.compulsory_cost)):.4f}"


class Replay:
    """One replay of prefix-faithful paths (an id fixes its whole prefix)."""

    def __init__(self, policy: str, shape: Shape, capacity: int, rules: Rules) -> None:
        self.policy = policy
        self.shape = shape
        self.capacity = capacity
        self.rules = rules
        self.level = 0.0
        self.clock = 0
        self.pushes = 0
        self.next_id = 0
        self.heap: list[tuple[Any, Any, int, N]] = []
        self.root = self.node(None, (), 0)
        self.used = self.total = self.evictions = self.evicted_once = self.evicted_size = 0
        self.matched: list[int] = []

    def node(self, parent: N | None, blocks: tuple[Hashable, ...], depth: int) -> N:
        n = N(self.next_id, parent, blocks, depth)
        self.next_id += 1
        n.seen = self.clock
        self.measure(n)
        return n

    def measure(self, n: N) -> None:
        start = n.depth * BLOCK_TOKENS
        end = start + len(n.blocks) * BLOCK_TOKENS
        n.size = len(n.blocks) * self.shape.block_bytes
        n.cost = self.shape.a * (end - start) + self.shape.b * (end * end - start * start)

    def key_of(self, n: N, level: float) -> Any:
        if self.policy == "lru":
            return self.clock
        if self.policy == "recursive_lru":
            return (self.clock, -n.depth)
        if self.policy == "landlord":
            return level + n.cost / n.size
        if self.policy in ("freq_landlord", "gdsf"):
            return level + n.freq * (n.cost / n.size)
        if self.policy == "cost_only":
            return level + n.cost
        return level + 1.0 / n.size

    def tie_of(self, n: N) -> Any:
        # "id" needs no entry of its own: the id ends every heap entry.
        return {
            "id": 0,
            "newest": -n.id,
            "depth": n.depth,
            "-depth": -n.depth,
            "last access": n.seen,
            "push order": self.pushes,
            "size": n.size,
        }[self.rules.tie]

    def offer(self, n: N) -> None:
        """A childless node is a candidate with the key that it has now."""
        if n is self.root or n.children:
            return
        self.pushes += 1
        n.tie = self.tie_of(n)
        heapq.heappush(self.heap, (n.key, n.tie, n.id, n))

    def victim(self, pinned: set[int]) -> N:
        held = []
        while True:
            entry = heapq.heappop(self.heap)
            key, tie, _, n = entry
            if not n.alive or n.children or n.key != key or n.tie != tie:
                continue
            if n.id in pinned:
                held.append(entry)
                continue
            break
        for entry in held:
            heapq.heappush(self.heap, entry)
        return n

    def evict(self, n: N) -> None:
        rule = self.rules.gdsf_level if self.policy == "gdsf" else self.rules.landlord_level
        if self.policy in FAMILY:
            self.level = n.key if rule == "last" else max(self.level, n.key)
        n.alive = False
        self.used -= n.size
        self.evictions += 1
        self.evicted_once += n.freq == 1
        self.evicted_size += n.size
        del n.parent.children[n.blocks[0]]
        self.offer(n.parent)

    def divide(self, n: N, k: int) -> N:
        """Split ``n`` after ``k`` blocks; returns the upper half."""
        if self.rules.split == "upper keeps the object":
            upper, lower = n, self.node(n, n.blocks[k:], n.depth + k)
            lower.children, upper.children = n.children, {lower.blocks[0]: lower}
            for child in lower.children.values():
                child.parent = lower
            upper.blocks = upper.blocks[:k]
        else:
            upper, lower = self.node(n.parent, n.blocks[:k], n.depth), n
            n.parent.children[upper.blocks[0]] = upper
            lower.parent, lower.blocks, lower.depth = upper, n.blocks[k:], n.depth + k
            upper.children = {lower.blocks[0]: lower}
        self.measure(upper)
        self.measure(lower)
        upper.freq = lower.freq = n.freq
        upper.key = lower.key = n.key
        upper.seen = lower.seen = n.seen
        if self.rules.lower in ("freq 1", "fresh"):
            lower.freq = 1
        if self.rules.lower in ("re-keyed", "fresh"):
            lower.key = self.key_of(lower, self.level)
        self.offer(lower)
        return upper

    def hit(self, nodes: Sequence[N]) -> None:
        for n in nodes if self.rules.hit_nodes == "path" else nodes[-1:]:
            n.freq += 1
            key = self.key_of(n, self.level)
            n.key = max(n.key, key) if self.rules.hit_key == "max" else key
            n.seen = self.clock
        if nodes:
            self.offer(nodes[-1])

    def match(self, path: tuple[Hashable, ...]) -> tuple[list[N], int, int]:
        """Matched nodes, blocks matched, and after how many of its blocks the last node splits."""
        n, i, nodes, cut = self.root, 0, [], 0
        while i < len(path) and path[i] in n.children:
            n = n.children[path[i]]
            width = len(n.blocks)
            nodes.append(n)
            if path[i : i + width] == n.blocks:
                i += width
                continue
            cut = 0
            while i + cut < len(path) and path[i + cut] == n.blocks[cut]:
                cut += 1
            i += cut
            break
        if cut and i == len(path) and not self.rules.split_at_end:
            cut = 0
        return nodes, i, cut

    def serve(self, path: tuple[Hashable, ...]) -> None:
        self.clock += 1
        nodes, i, cut = self.match(path)
        self.matched.append(i)
        pinned = {m.id for m in nodes}

        if cut and self.rules.split_at == "insert":
            self.hit(nodes)
            nodes[-1] = self.divide(nodes[-1], cut)
            self.offer(nodes[-1])
        else:
            if cut:
                whole = nodes[-1]
                nodes[-1] = self.divide(whole, cut)
                pinned = {m.id for m in nodes}
                if self.rules.pin_lower:
                    pinned |= {m.id for m in nodes[-1].children.values()}
            if self.rules.hits == "before evictions":
                self.hit(nodes)

        if i < len(path):
            self.load(path, i, nodes, pinned)
        elif self.rules.hits == "after evictions":
            self.hit(nodes)

    def load(self, path: tuple[Hashable, ...], i: int, nodes: list[N], pinned: set[int]) -> None:
        """Charge and insert what is missing, once there is room."""
        fresh = self.node(nodes[-1] if nodes else self.root, path[i:], i)
        # The id is taken when the node is inserted; nothing else is created in between.
        fresh.freq = self.rules.insert_freq
        self.total += fresh.cost
        early = self.key_of(fresh, self.level)
        while self.used + fresh.size > self.capacity:
            self.evict(self.victim(pinned))
        if self.rules.hits == "after evictions":
            self.hit(nodes)
        late = self.key_of(fresh, self.level)
        fresh.key = late if self.rules.insert_key == "after evictions" else early
        fresh.parent.children[fresh.blocks[0]] = fresh
        self.used += fresh.size
        self.offer(fresh)


def capacity_of(percent: int, distinct: int, block_bytes: int, how: str = "floor") -> int:
    """A percentage of the working set in bytes."""
    # The rules floor the bytes; whole blocks are all that a replay can use of them.
    exact = Fraction(percent * distinct, 100)
    if how == "floor":
        return math.floor(exact) * block_bytes
    return (round(exact) if how == "round" else math.ceil(exact)) * block_bytes


def naive_replay(
    paths: Sequence[tuple[Hashable, ...]],
    policy: str,
    capacity: int,
    shape: Shape,
    rules: Rules = THE_RULES,
) -> Counted:
    """Replay; time about a logarithm an eviction plus the blocks of the paths."""
    run = Replay(policy, shape, capacity, rules)
    for path in paths:
        run.serve(path)
    firsts = {block: depth for path in paths for depth, block in enumerate(path)}
    compulsory = sum(
        shape.a * BLOCK_TOKENS + shape.b * BLOCK_TOKENS**2 * (2 * depth + 1)
        for depth in firsts.values()
    )
    return Counted(
        total_cost=run.total,
        compulsory_cost=compulsory,
        distinct_blocks=len(firsts),
        evictions=run.evictions,
        evicted_once=run.evicted_once,
        evicted_size=run.evicted_size,
        resident_size=run.used,
        matched=tuple(run.matched),
    )
