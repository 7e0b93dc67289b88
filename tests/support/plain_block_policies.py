"""Block policies transcribed a second time, as plainly as their descriptions allow.

They share nothing with the replay engine: queues are ordered dictionaries or lists of objects
that the original descriptions speak of, ids are taken as they come, and no work is saved. The
S3-FIFO transcription is cut into the steps its reference document names, so that a test can
replace one step by a known mistake and show that the comparison notices.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import TypeAlias

Queue: TypeAlias = OrderedDict[int, int]


class PlainS3Fifo:
    """S3-FIFO over prefix blocks in the words of the project's reference document.

    Parameters
    ----------
    capacity : int
        Blocks.
    block_size : int
        Tokens a block.
    small_ratio, max_freq, ghost_hit_freq
        As in the engine.
    """

    def __init__(
        self,
        capacity: int,
        block_size: int,
        small_ratio: float = 0.1,
        max_freq: int = 3,
        ghost_hit_freq: int = 0,
    ) -> None:
        self.capacity = capacity
        self.block_size = block_size
        self.small_ratio = small_ratio
        self.max_freq = max_freq
        self.ghost_hit_freq = ghost_hit_freq
        self.small: Queue = OrderedDict()
        self.main: Queue = OrderedDict()
        self.ghost: Queue = OrderedDict()
        self.small_cap = self.small_size()
        self.main_cap = capacity - self.small_cap
        self.ghost_cap = self.ghost_size()

    def small_size(self) -> int:
        """Blocks of the small queue."""
        return round(self.capacity * self.small_ratio)

    def ghost_size(self) -> int:
        """Ids of the ghost queue."""
        return self.main_cap

    def serve(self, blocks: Sequence[int], tokens: int) -> int:
        """Serve one request; return its hit tokens."""
        k = self.prefix(blocks)
        for position, block in enumerate(blocks):
            self.access(block, within_prefix=position < k)
        return self.hit_tokens(k, tokens)

    def prefix(self, blocks: Sequence[int]) -> int:
        """Length of the resident prefix."""
        k = 0
        while k < len(blocks) and self.is_resident(blocks[k]):
            k += 1
        return k

    def is_resident(self, block: int) -> bool:
        """Whether the data of a block are held."""
        return block in self.small or block in self.main

    def hit_tokens(self, k: int, tokens: int) -> int:
        """Tokens that ``k`` blocks are worth."""
        return min(k * self.block_size, tokens)

    def access(self, block: int, *, within_prefix: bool) -> None:
        """The access rule."""
        if block in self.small:
            self.small[block] = self.saturate(self.small[block] + 1)
        elif block in self.main:
            self.main[block] = self.saturate(self.main[block] + 1)
        elif block in self.ghost:
            del self.ghost[block]
            self.admit_to_main(block, self.ghost_hit_freq)
        else:
            self.admit_to_small(block)

    def saturate(self, freq: int) -> int:
        """Clamp a counter."""
        return min(freq, self.max_freq)

    def admit_to_small(self, block: int) -> None:
        """Admission of a new block."""
        while len(self.small) >= self.small_cap:
            victim, freq = self.small.popitem(last=False)
            if freq >= 1:
                self.admit_to_main(victim, self.promoted_freq(freq))
            else:
                self.insert_to_ghost(victim)
        self.small[block] = 0

    def promoted_freq(self, freq: int) -> int:
        """Counter of a block that goes from small to main."""
        return freq

    def admit_to_main(self, block: int, freq: int) -> None:
        """Admission to main."""
        if len(self.main) >= self.main_cap:
            self.evict_main()
        self.main[block] = freq

    def evict_main(self) -> None:
        """Second chance until one block is evicted."""
        while True:
            victim, freq = next(iter(self.main.items()))
            del self.main[victim]
            if freq == 0:
                self.insert_to_ghost(victim)
                return
            self.requeue(victim, freq - 1)

    def requeue(self, block: int, freq: int) -> None:
        """Second chance for one block."""
        self.main[block] = freq

    def insert_to_ghost(self, block: int) -> None:
        """Remember an evicted id."""
        if block in self.ghost:
            del self.ghost[block]
        elif len(self.ghost) >= self.ghost_cap:
            self.ghost.popitem(last=False)
        self.ghost[block] = 0

    def final_size(self) -> int:
        """Blocks resident."""
        return len(self.small) + len(self.main)


class PlainPaperS3Fifo:
    """S3-FIFO by algorithm 1 of the SOSP 2023 paper, over lists of (id, counter) pairs."""

    def __init__(
        self, capacity: int, block_size: int, small_ratio: float = 0.1, max_freq: int = 3
    ) -> None:
        self.capacity = capacity
        self.block_size = block_size
        self.max_freq = max_freq
        self.small_target = round(capacity * small_ratio)
        self.small: list[list[int]] = []
        self.main: list[list[int]] = []
        self.ghost: list[int] = []

    def serve(self, blocks: Sequence[int], tokens: int) -> int:
        """Serve one request; return its hit tokens."""
        resident = {entry[0] for entry in self.small + self.main}
        k = 0
        while k < len(blocks) and blocks[k] in resident:
            k += 1
        for block in blocks:
            self.read(block)
        return min(k * self.block_size, tokens)

    def read(self, block: int) -> None:
        """READ of the paper."""
        for entry in self.small + self.main:
            if entry[0] == block:
                entry[1] = min(entry[1] + 1, self.max_freq)
                return
        while len(self.small) + len(self.main) == self.capacity:
            if len(self.small) >= self.small_target:
                self.evict_small()
            else:
                self.evict_main()
        if block in self.ghost:
            self.ghost.remove(block)
            self.main.append([block, 0])
        else:
            self.small.append([block, 0])

    def evict_small(self) -> None:
        """EVICTS of the paper."""
        evicted = False
        while not evicted and self.small:
            block, freq = self.small.pop(0)
            if freq > 1:
                if len(self.main) >= self.capacity - self.small_target:
                    self.evict_main()
                self.main.append([block, 0])
            else:
                if len(self.ghost) == self.capacity - self.small_target:
                    self.ghost.pop(0)
                self.ghost.append(block)
                evicted = True

    def evict_main(self) -> None:
        """EVICTM of the paper."""
        evicted = False
        while not evicted and self.main:
            block, freq = self.main.pop(0)
            if freq > 0:
                self.main.append([block, freq - 1])
            else:
                evicted = True

    def final_size(self) -> int:
        """Blocks resident."""
        return len(self.small) + len(self.main)


class _PoolBlock:
    """A physical block: what it holds, or None."""

    def __init__(self) -> None:
        self.holds: int | None = None


class PlainBlockPool:
    """vLLM's pool of physical blocks with its free queue, as a list of objects."""

    def __init__(self, capacity: int, block_size: int, partial_blocks: str = "keep") -> None:
        self.free = [_PoolBlock() for _ in range(capacity)]
        # By name, the physical blocks that hold it, the first one first.
        self.cached: dict[int, list[_PoolBlock]] = {}
        self.block_size = block_size
        self.drop = partial_blocks == "drop"

    def serve(self, blocks: Sequence[int], tokens: int) -> int:
        """Serve one request from arrival to finish; return its hit tokens."""
        named = len(blocks)
        if self.drop:
            named = min(named, tokens // self.block_size)
        table: list[_PoolBlock] = []
        for block in blocks[: self.findable(named, tokens)]:
            if not self.cached.get(block):
                break
            table.append(self.cached[block][0])
        hits = len(table)
        for physical in table:
            self.free.remove(physical)
        # A prompt has at most one partial block, which gets a physical block but no name.
        needed: list[int | None] = [*blocks[hits:named]]
        if named < len(blocks):
            needed.append(None)
        for name in needed:
            physical = self.free.pop(0)
            if physical.holds is not None:
                self.cached[physical.holds].remove(physical)
            physical.holds = name
            if name is not None:
                self.cached.setdefault(name, []).append(physical)
            table.append(physical)
        for physical in reversed(table):
            if physical.holds is None:
                self.free.insert(0, physical)
            else:
                self.free.append(physical)
        return min(hits * self.block_size, tokens)

    def findable(self, named: int, tokens: int) -> int:
        """Blocks that a prompt may hit: the server computes at least its last token."""
        return min(named, (tokens - 1) // self.block_size) if self.drop else named

    def final_size(self) -> int:
        """Blocks that hold a prefix block, copies included."""
        return sum(map(len, self.cached.values()))


class PlainFlat:
    """LRU or FIFO over independent blocks: a list, oldest first."""

    def __init__(self, capacity: int, block_size: int, *, refresh: bool) -> None:
        self.capacity = capacity
        self.block_size = block_size
        self.refresh = refresh
        self.order: list[int] = []
        self.misses = 0

    def serve(self, blocks: Sequence[int], tokens: int) -> int:
        """Serve one request; return its hit tokens."""
        k = 0
        while k < len(blocks) and blocks[k] in self.order:
            k += 1
        for block in blocks:
            if block in self.order:
                if self.refresh:
                    self.order.remove(block)
                    self.order.append(block)
                continue
            self.misses += 1
            if len(self.order) == self.capacity:
                self.order.pop(0)
            self.order.append(block)
        return min(k * self.block_size, tokens)

    def final_size(self) -> int:
        """Blocks resident."""
        return len(self.order)


class PlainBelady:
    """Belady's MIN over independent blocks: look up when each held block comes next, every time."""

    def __init__(self, requests: Sequence[Sequence[int]], capacity: int, block_size: int) -> None:
        self.references = [block for blocks in requests for block in blocks]
        self.capacity = capacity
        self.block_size = block_size
        self.held: list[int] = []
        self.clock = 0
        self.misses = 0

    def comes_next(self, block: int) -> float:
        """Place of the next reference from now on, infinity for none."""
        rest = self.references[self.clock :]
        return rest.index(block) if block in rest else float("inf")

    def serve(self, blocks: Sequence[int], tokens: int) -> int:
        """Serve one request; return its hit tokens."""
        k = 0
        while k < len(blocks) and blocks[k] in self.held:
            k += 1
        for block in blocks:
            if block not in self.held:
                self.misses += 1
                if len(self.held) == self.capacity:
                    self.held.remove(max(self.held, key=self.comes_next))
                self.held.append(block)
            self.clock += 1
        return min(k * self.block_size, tokens)

    def final_size(self) -> int:
        """Blocks resident."""
        return len(self.held)


class PlainBypass:
    """MIN that need not keep what was requested: after a request, the blocks that come soonest."""

    def __init__(self, requests: Sequence[Sequence[int]], capacity: int, block_size: int) -> None:
        self.requests = requests
        self.capacity = capacity
        self.block_size = block_size
        self.held: list[int] = []
        self.served = 0

    def serve(self, blocks: Sequence[int], tokens: int) -> int:
        """Serve one request; return its hit tokens."""
        k = 0
        while k < len(blocks) and blocks[k] in self.held:
            k += 1
        self.served += 1
        candidates = set(self.held) | set(blocks)
        to_come = [block for later in self.requests[self.served :] for block in later]
        in_order = [block for block in dict.fromkeys(to_come) if block in candidates]
        self.held = in_order[: self.capacity]
        return min(k * self.block_size, tokens)

    def final_size(self) -> int:
        """Blocks resident."""
        return len(self.held)


def belady_misses_by_lp(references: Sequence[int], capacity: int) -> int:
    """Fewest misses on independent unit blocks, from the interval linear program.

    While another block is referenced, that one takes a place of its own, so the blocks kept across
    the moment are at most ``capacity - 1``.

    Raises
    ------
    RuntimeError
        When the solver does not report an optimum.
    """
    last: dict[int, int] = {}
    kept: list[range] = []
    for t, block in enumerate(references):
        if block in last:
            kept.append(range(last[block] + 1, t))
        last[block] = t
    return len(references) - _most_kept(kept, len(references), capacity - 1)


def bypass_misses_by_lp(requests: Sequence[Sequence[int]], capacity: int) -> int:
    """As `belady_misses_by_lp` where only what is kept from one request to the next takes a place.

    No block may occur twice in a request.
    """
    last: dict[int, int] = {}
    kept: list[range] = []
    for r, blocks in enumerate(requests):
        for block in blocks:
            if block in last:
                kept.append(range(last[block], r))
            last[block] = r
    return sum(map(len, requests)) - _most_kept(kept, len(requests), capacity)


def _most_kept(spans: Sequence[range], moments: int, room: int) -> int:
    """The most of the spans of which at most ``room`` hold the same moment.

    One variable a span: the share of the block kept. The matrix has consecutive ones, so its
    vertices are whole and the value is a count.
    """
    import pulp

    if not spans:
        return 0
    problem = pulp.LpProblem("kept", pulp.LpMaximize)
    shares = [problem.add_variable(f"x{i}", lowBound=0, upBound=1) for i in range(len(spans))]
    problem += pulp.lpSum(shares)
    for t in range(moments):
        across = [share for share, span in zip(shares, spans, strict=True) if t in span]
        if len(across) > room:
            problem += pulp.lpSum(across) <= room
    result = problem.solve(pulp.HiGHS(msg=False, threads=1))
    if int(getattr(result, "status", result)) != 1:
        raise RuntimeError("the linear program was not solved to optimality")
    kept: float = sum(share.varValue for share in shares)
    return round(kept)
