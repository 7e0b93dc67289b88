"""Least recently used over independent blocks, accessed one by one in the order of the prompt.

The textbook policy on the flattened reference string, blind to prefixes: it evicts the head of a
prompt before its tail, which a prefix cache must avoid (compare ``vllm_lru``).
"""

from __future__ import annotations

from collections.abc import Sequence

from cache_worthy.sim.blocks.log import BlockLog
from cache_worthy.sim.blocks.policies.base import PolicySpec, check_capacity
from cache_worthy.sim.errors import InvariantError


class FlatLru:
    """See the module. Amortised constant time per reference."""

    def __init__(self, log: BlockLog, capacity: int) -> None:
        check_capacity(capacity)
        self.capacity = capacity
        # A log of accesses with a moving head; an entry counts while slot names it.
        self.log: list[int] = []
        self.slot = [-1] * log.distinct
        self.head = 0
        self.held = 0
        self.misses = 0

    def serve(self, blocks: Sequence[int], tokens: int) -> int:
        """Access every block in order; the first miss ends the prefix (hits evict nothing)."""
        log, slot, head, held, capacity = self.log, self.slot, self.head, self.held, self.capacity
        misses = 0
        k = -1
        for i, b in enumerate(blocks):
            if slot[b] < 0:
                if k < 0:
                    k = i
                misses += 1
                if held < capacity:
                    held += 1
                else:
                    while slot[v := log[head]] != head:
                        head += 1
                    slot[v] = -1
                    head += 1
            slot[b] = len(log)
            log.append(b)
        self.head, self.held = head, held
        self.misses += misses
        return len(blocks) if k < 0 else k

    def resident(self) -> int:
        """Blocks held."""
        return self.held

    def check(self) -> None:
        """Recount the queue."""
        live = sum(self.slot[b] == i for i, b in enumerate(self.log) if i >= self.head)
        if not live == sum(s >= 0 for s in self.slot) == self.held <= self.capacity:
            raise InvariantError(f"{live} blocks queued, {self.held} counted")


SPEC = PolicySpec(
    name="flat_lru",
    summary="LRU over independent blocks, accessed in prompt order",
    source="Mattson et al., IBM Systems Journal 9(2), 1970",
    make=FlatLru,
)
