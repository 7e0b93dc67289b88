"""Belady's MIN over independent blocks: evict the block whose next reference is farthest.

The fewest misses any policy can have on the flattened reference string when blocks are
independent and cost the same (L. A. Belady, IBM Systems Journal 5(2), 1966). It reads the
future, ignores that a block is useless without those before it, and does not pin the path, so it
is a yardstick for the flat policies only and bounds neither FLOPs nor prefix hit tokens.

Evidence: equals the value of the interval linear program on independent unit blocks, solved
separately, on random logs; published miss count on the conversation trace; the misses of
libCacheSim's Belady in the same run (``scripts/bench/blocks.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush

from cache_worthy.sim.blocks.log import BlockLog
from cache_worthy.sim.blocks.policies.base import PolicySpec, check_capacity
from cache_worthy.sim.errors import InvariantError


class FlatBelady:
    """See the module. O(log capacity) per reference; reads the trace once in advance."""

    def __init__(self, log: BlockLog, capacity: int) -> None:
        check_capacity(capacity)
        self.capacity = capacity
        self.next_use = log.next_uses()
        # A held block is known by the position t of its next reference: hits[t] is 1 while it is
        # held for that, and the heap has -t. The least of the heap is never stale: a block
        # referenced since then has an earlier position.
        self.hits = bytearray(len(self.next_use))
        self.heap: list[int] = []
        # Held blocks that are never referenced again, evicted first in any order.
        self.unused = 0
        self.held = 0
        self.clock = 0
        self.misses = 0

    def serve(self, blocks: Sequence[int], tokens: int) -> int:
        """Access every block in order; the first miss ends the prefix (hits evict nothing)."""
        hits, heap, next_use = self.hits, self.heap, self.next_use
        never = len(next_use)
        k = -1
        start = self.clock
        self.clock = end = start + len(blocks)
        for t in range(start, end):
            if not hits[t]:
                if k < 0:
                    k = t - start
                self.misses += 1
                if self.held < self.capacity:
                    self.held += 1
                elif self.unused:
                    self.unused -= 1
                else:
                    hits[-heappop(heap)] = 0
            upcoming = next_use[t]
            if upcoming == never:
                self.unused += 1
            else:
                hits[upcoming] = 1
                heappush(heap, -upcoming)
        return len(blocks) if k < 0 else k

    def resident(self) -> int:
        """Blocks held."""
        return self.held

    def check(self) -> None:
        """Recount what is held and look for every held block in the heap."""
        used = [t for t in range(self.clock, len(self.hits)) if self.hits[t]]
        if not len(used) + self.unused == self.held <= self.capacity:
            raise InvariantError(f"{len(used)} + {self.unused} blocks held, {self.held} counted")
        if used != sorted(-t for t in self.heap if -t >= self.clock):
            raise InvariantError("the heap does not have the held blocks")


SPEC = PolicySpec(
    name="flat_belady",
    summary="Belady's MIN over independent blocks: the flat optimum, it reads the future",
    source="Belady, IBM Systems Journal 5(2), 1966",
    make=FlatBelady,
)
