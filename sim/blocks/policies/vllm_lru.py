"""The free-block queue of vLLM's block pool (v1 engine), one request in service at a time.

A request takes its cached prefix out of the queue and the blocks it still needs from its head (whose
contents are lost); when it finishes, all its blocks return to the back of the queue, tail first. So
the queue is in least-recently-used order by request, and within one request a block is reused before
the blocks it depends on. The path of the request in service is pinned: its blocks are not queued.

Source: vLLM's documentation of automatic prefix caching and its block pool (v1).

Left out: requests in service at the same time, generated tokens (a block log has no ids for
them), preemption, the null block, and the rule that at least one prompt token is always computed
(so a prompt of whole blocks, all cached, has its last block recomputed).

Evidence: published hit rates by block and by token on two traces at three sizes and a miss count,
and an independent list-based transcription on random logs.
"""

from __future__ import annotations

from collections.abc import Sequence

from cache_worthy.sim.blocks.log import BlockLog
from cache_worthy.sim.blocks.policies.base import PolicySpec, check_capacity, largest_request
from cache_worthy.sim.errors import CapacityError, InputError, InvariantError


class VllmLru:
    """See the module. Amortised constant time per reference.

    Parameters
    ----------
    log : BlockLog
        Sizes the arrays; its ids must fix their prefix, as the server's hashes do.
    capacity : int
        Blocks of the pool, at least the longest request's.
    partial_blocks : {"keep", "drop"}
        A last block that is not full is, with ``"drop"``, never found again: it takes a block of
        the pool while the request runs, which returns to the *front* of the queue, as in the
        server. With ``"keep"`` it is a block like the others.

    Raises
    ------
    InputError
        When a request cannot fit, ids do not fix their prefix, or a parameter is out of range.
    """

    def __init__(self, log: BlockLog, capacity: int, *, partial_blocks: str = "keep") -> None:
        check_capacity(capacity)
        if partial_blocks not in ("keep", "drop"):
            raise InputError(f"partial_blocks must be keep or drop, not {partial_blocks!r}")
        if not log.fixes_prefix:
            raise InputError("a block id stands behind two prefixes; intern the log by path")
        floor = largest_request(log)
        if capacity < floor:
            raise CapacityError(f"capacity {capacity} is below the longest request, {floor} blocks")
        self.capacity = capacity
        self.block_size = log.block_size
        self.drop = partial_blocks == "drop"
        # The queue is a log of block ids with a moving head; an entry counts while slot names it.
        # A request writes the entries of its return before it evicts, where the head cannot reach
        # them: that is the pin.
        self.log: list[int] = []
        self.slot = [-1] * log.distinct
        self.head = 0
        # Blocks that hold a prefix. The others, at first the whole pool and later partial blocks
        # given back, are in front of them in the queue.
        self.held = 0
        self.misses = 0

    def serve(self, blocks: Sequence[int], tokens: int) -> int:
        """Take the cached prefix, evict for the rest, give everything back tail first."""
        scratch = 0
        if self.drop:
            full = tokens // self.block_size
            if len(blocks) > full:
                scratch = 1
                blocks = blocks[:full]
        slot, log = self.slot, self.log
        k = 0
        for b in blocks:
            if slot[b] < 0:
                break
            k += 1
        missing = len(blocks) - k
        self.misses += missing
        place = len(log) + len(blocks)
        for b in blocks:
            place -= 1
            slot[b] = place
        log += blocks[::-1]
        held = self.held + missing
        over = held + scratch - self.capacity
        if over > 0:
            held -= over
            head = self.head
            while over:
                b = log[head]
                if slot[b] == head:
                    slot[b] = -1
                    over -= 1
                head += 1
            self.head = head
        self.held = held
        return k

    def resident(self) -> int:
        """Blocks that hold a prefix block."""
        return self.held

    def check(self) -> None:
        """Recount the queue."""
        live = [b for i, b in enumerate(self.log) if i >= self.head and self.slot[b] == i]
        cached = sum(s >= 0 for s in self.slot)
        if not len(live) == cached == self.held <= self.capacity:
            raise InvariantError(f"{len(live)} queued, {cached} cached, {self.held} counted")


SPEC = PolicySpec(
    name="vllm_lru",
    summary="vLLM's free-block queue: LRU by request, the tail of a prompt before its head",
    source="vLLM v1 block pool (vllm-project/vllm, v1/core/block_pool.py)",
    engine="vllm",
    pins_path=True,
    parameters=("partial_blocks",),
    make=VllmLru,
)
