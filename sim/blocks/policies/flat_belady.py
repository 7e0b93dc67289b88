"""Belady's MIN over independent blocks: evict the block whose next reference is farthest.

The fewest misses any policy can have on the flattened reference string when blocks are
independent and cost the same (L. A. Belady, IBM Systems Journal 5(2), 1966). It reads the
future, ignores that a block is useless without those before it, and does not pin the path, so it
is a yardstick for the flat policies only: it bounds neither FLOPs nor prefix hit tokens.

Evidence: equals the value of the interval linear program on independent unit blocks, solved
separately, on random logs; published miss count on the conversation trace.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush

from cache_worthy.sim.blocks.policies.base import PolicySpec, check_capacity
from cache_worthy.sim.blocks.trace import BlockTrace
from cache_worthy.sim.errors import InvariantError


class FlatBelady:
    """See the module. O(log capacity) amortised a reference; reads the trace once in advance."""

    __slots__ = ("capacity", "clock", "heap", "held", "misses", "next_use", "total", "until")

    def __init__(self, trace: BlockTrace, capacity: int) -> None:
        check_capacity(capacity)
        self.capacity = capacity
        flat = [b for path in trace.blocks for b in path]
        self.total = len(flat)
        # next_use[t]: when the block referenced at t is referenced again; total for never.
        self.next_use = [0] * self.total
        soonest = [self.total] * trace.distinct
        for t in range(self.total - 1, -1, -1):
            self.next_use[t] = soonest[flat[t]]
            soonest[flat[t]] = t
        # until[b]: the next reference of a resident block, -1 for an absent one.
        self.until = [-1] * trace.distinct
        # (-next use, block); an entry is stale once its block has been referenced again.
        self.heap: list[tuple[int, int]] = []
        self.held = 0
        self.clock = 0
        self.misses = 0

    def serve(self, blocks: Sequence[int], tokens: int) -> int:
        """Access every block in order; the first miss ends the prefix (hits evict nothing)."""
        until, heap, next_use = self.until, self.heap, self.next_use
        k = -1
        t = self.clock
        for i, b in enumerate(blocks):
            if until[b] < 0:
                if k < 0:
                    k = i
                self.misses += 1
                if self.held < self.capacity:
                    self.held += 1
                else:
                    while True:
                        farthest, v = heappop(heap)
                        if until[v] == -farthest:
                            break
                    until[v] = -1
            upcoming = next_use[t]
            until[b] = upcoming
            heappush(heap, (-upcoming, b))
            t += 1
        self.clock = t
        return len(blocks) if k < 0 else k

    def resident(self) -> int:
        """Blocks held."""
        return self.held

    def check(self) -> None:
        """Recount what is held and look for every held block in the heap."""
        held = {b for b, t in enumerate(self.until) if t >= 0}
        if not len(held) == self.held <= self.capacity:
            raise InvariantError(f"{len(held)} blocks held, {self.held} counted")
        if not held <= {b for t, b in self.heap if self.until[b] == -t}:
            raise InvariantError("a held block has no entry in the heap")


SPEC = PolicySpec(
    name="flat_belady",
    summary="Belady's MIN over independent blocks: the flat optimum, it reads the future",
    source="Belady, IBM Systems Journal 5(2), 1966",
    engine="generic",
    pins_path=False,
    parameters=(),
    make=FlatBelady,
)
