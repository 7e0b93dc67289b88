"""First in, first out over independent blocks, accessed one by one in the order of the prompt."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from cache_worthy.sim.blocks.log import BlockLog
from cache_worthy.sim.blocks.policies.base import PolicySpec, check_capacity
from cache_worthy.sim.errors import InvariantError


class FlatFifo:
    """See the module. Constant time per reference."""

    def __init__(self, log: BlockLog, capacity: int) -> None:
        check_capacity(capacity)
        self.capacity = capacity
        self.queue: deque[int] = deque()
        self.held = bytearray(log.distinct)
        self.misses = 0

    def serve(self, blocks: Sequence[int], tokens: int) -> int:
        """Access every block in order; the first miss ends the prefix (hits evict nothing)."""
        held, queue, capacity = self.held, self.queue, self.capacity
        k = -1
        for i, b in enumerate(blocks):
            if not held[b]:
                if k < 0:
                    k = i
                self.misses += 1
                if len(queue) == capacity:
                    held[queue.popleft()] = 0
                held[b] = 1
                queue.append(b)
        return len(blocks) if k < 0 else k

    def resident(self) -> int:
        """Blocks held."""
        return len(self.queue)

    def check(self) -> None:
        """Recount the queue."""
        if not len(set(self.queue)) == len(self.queue) == sum(self.held) <= self.capacity:
            raise InvariantError(f"{len(self.queue)} blocks queued, {sum(self.held)} marked")


SPEC = PolicySpec(
    name="flat_fifo",
    summary="FIFO over independent blocks, accessed in prompt order",
    source="textbook",
    make=FlatFifo,
)
