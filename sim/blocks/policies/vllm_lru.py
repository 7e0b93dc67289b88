"""The free-block queue of vLLM's block pool (v1 engine), one request in service at a time.

A request takes its cached prefix out of the queue and the blocks it still needs from its head (whose
contents are lost); when it finishes, all its blocks return to the back of the queue, tail first. So
the queue is in least-recently-used order by request, and within one request a block is reused before
the blocks it depends on. The path of the request in service is pinned: its blocks are not queued.

Source: vLLM's documentation of automatic prefix caching and its block pool (v1).

The server always computes at least the last token of a prompt. So a prompt of whole blocks, all
cached, has its last block computed into another block of the pool; both copies then hold the same
prefix, and of several the one that came first is found.

Left out: requests in service at the same time, generated tokens (a block log has no ids for
them), preemption, and the null block.

Evidence: published hit rates by block and by token on two traces at three sizes and a miss count,
published hit tokens of two bug reports, and an independent list-based transcription on random logs.
"""

from __future__ import annotations

from collections.abc import Sequence

from cache_worthy.sim.blocks.log import BlockLog
from cache_worthy.sim.blocks.policies.base import PolicySpec, check_capacity, largest_request
from cache_worthy.sim.errors import CapacityError, InputError, InvariantError


class VllmLru:
    """See the module. Amortised constant time per reference.

    ``last_token`` is off in a subclass for a server that keeps no second copy of a block.

    Parameters
    ----------
    log : BlockLog
        Sizes the arrays; its ids must fix their prefix, as the server's hashes do.
    capacity : int
        Blocks of the pool, at least the longest request's.
    partial_blocks : {"keep", "drop"}
        A last block that is not full is, with ``"drop"``, never found again: it takes a block of
        the pool while the request runs, which returns to the *front* of the queue, as in the
        server; and the last token is computed. With ``"keep"`` it is a block like the others, and
        a prompt may hit whole.

    Raises
    ------
    InputError
        When a request cannot fit, ids do not fix their prefix, or a parameter is out of range.
    """

    last_token = True

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
        # Places in the log of further copies of a block, in the order in which they came.
        self.copies: dict[int, list[int]] = {}
        self.head = 0
        # Blocks that hold a prefix. The others, at first the whole pool and later partial blocks
        # given back, are in front of them in the queue.
        self.held = 0
        self.misses = 0

    def serve(self, blocks: Sequence[int], tokens: int) -> int:
        """Take the cached prefix, evict for the rest, give everything back tail first."""
        scratch = 0
        most = len(blocks)
        if self.drop:
            full = tokens // self.block_size
            if len(blocks) > full:
                scratch = 1
                blocks = blocks[:full]
            if self.last_token:
                most = (tokens - 1) // self.block_size
        slot, log = self.slot, self.log
        k = 0
        for b in blocks:
            if slot[b] < 0 or k == most:
                break
            k += 1
        missing = len(blocks) - k
        self.misses += missing
        place = len(log) + len(blocks)
        for n, b in enumerate(blocks):
            place -= 1
            if n < k or slot[b] < 0:
                slot[b] = place
            else:
                self.copies.setdefault(b, []).append(place)
        log += blocks[::-1]
        held = self.held + missing
        over = held + scratch - self.capacity
        if over > 0:
            held -= over
            head = self.head
            while over:
                b = log[head]
                copies = self.copies.get(b)
                if slot[b] == head:
                    slot[b] = copies.pop(0) if copies else -1
                    over -= 1
                elif copies and head in copies:
                    copies.remove(head)
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
        places = [(s, b) for b, s in enumerate(self.slot) if s >= 0]
        places += [(i, b) for b, copies in self.copies.items() for i in copies]
        live = {i for i, b in places if i >= self.head and self.log[i] == b}
        if not len(live) == len(places) == self.held <= self.capacity:
            raise InvariantError(f"{len(live)} queued, {len(places)} cached, {self.held} counted")


SPEC = PolicySpec(
    name="vllm_lru",
    summary="vLLM's free-block queue: LRU by request, the tail of a prompt before its head",
    source="vLLM v1 block pool (vllm-project/vllm, v1/core/block_pool.py)",
    engine="vllm",
    pins_path=True,
    parameters=("partial_blocks",),
    make=VllmLru,
)
