"""S3-FIFO as its authors published it: queues are drained only when the cache is full.

Source: Yang, Zhang, Qiu, Yue, Rashmi, "FIFO queues are all you need for cache eviction",
SOSP 2023, algorithm 1, over prefix blocks. The neighbour of ``s3fifo``, which differs in five
rules:

====================  ==============================  ===============================
rule                  ``s3fifo``                      ``s3fifo_paper``
====================  ==============================  ===============================
when to evict         its queue is full               the whole cache is full
from which queue      the full one                    small when at or over its share
promotion needs       one access in small             two (the counter exceeds 1)
counter on promotion  kept                            reset
evicted from main     remembered in the ghost         forgotten
====================  ==============================  ===============================

The path of a request is not pinned.

Evidence: an independent list-based transcription on random logs; the miss count of libCacheSim's
S3-FIFO (by an author of the paper) on the conversation trace.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Sequence

from cache_worthy.sim.blocks.policies.base import PolicySpec
from cache_worthy.sim.blocks.policies.s3fifo import queue_sizes
from cache_worthy.sim.blocks.trace import BlockTrace
from cache_worthy.sim.errors import InputError, InvariantError

_ABSENT, _GHOST, _SMALL, _MAIN = 0, 1, 2, 3


class S3FifoPaper:
    """See the module. Amortised constant time a reference for a fixed ``max_freq``.

    Parameters
    ----------
    trace : BlockTrace
        Sizes the arrays.
    capacity : int
        Blocks, small and main together.
    small_ratio : float
        Share of the small queue.
    max_freq : int
        The counters saturate here; at least 2, or nothing is ever promoted.

    Raises
    ------
    InputError
        For a parameter out of range.
    """

    __slots__ = (
        "capacity",
        "freq",
        "ghost",
        "ghost_cap",
        "main",
        "main_cap",
        "max_freq",
        "misses",
        "small",
        "small_cap",
        "where",
    )

    def __init__(
        self, trace: BlockTrace, capacity: int, *, small_ratio: float = 0.1, max_freq: int = 3
    ) -> None:
        self.small_cap, self.main_cap = queue_sizes(capacity, small_ratio)
        if not 2 <= max_freq <= 255:
            raise InputError(f"max_freq must be from 2 to 255, not {max_freq}")
        self.capacity = capacity
        self.ghost_cap = self.main_cap
        self.max_freq = max_freq
        self.where = bytearray(trace.distinct)
        self.freq = bytearray(trace.distinct)
        self.small: deque[int] = deque()
        self.main: deque[int] = deque()
        # Ids in order of entry. Not a plain dict: finding its first key passes over every key
        # deleted before, which made this policy three times slower.
        self.ghost: OrderedDict[int, None] = OrderedDict()
        self.misses = 0

    def serve(self, blocks: Sequence[int], tokens: int) -> int:
        """Access every block in order; the first miss ends the prefix (hits evict nothing)."""
        where, freq = self.where, self.freq
        k = -1
        for i, b in enumerate(blocks):
            if where[b] >= _SMALL:
                if freq[b] < self.max_freq:
                    freq[b] += 1
                continue
            if k < 0:
                k = i
            self.misses += 1
            while len(self.small) + len(self.main) >= self.capacity:
                if len(self.small) >= self.small_cap:
                    self._evict_small()
                else:
                    self._evict_main()
            freq[b] = 0
            # Asked after the evictions, which may have pushed this very id out of the ghost.
            if where[b] == _GHOST:
                del self.ghost[b]
                where[b] = _MAIN
                self.main.append(b)
            else:
                where[b] = _SMALL
                self.small.append(b)
        return len(blocks) if k < 0 else k

    def _evict_small(self) -> None:
        """Promote from the head of small until one block is evicted or small is empty."""
        while self.small:
            v = self.small.popleft()
            if self.freq[v] > 1:
                if len(self.main) >= self.main_cap:
                    self._evict_main()
                self.freq[v] = 0
                self.where[v] = _MAIN
                self.main.append(v)
            else:
                self._remember(v)
                return

    def _evict_main(self) -> None:
        """Give second chances until one block of main is evicted."""
        while self.main:
            v = self.main.popleft()
            if self.freq[v]:
                self.freq[v] -= 1
                self.main.append(v)
            else:
                self.where[v] = _ABSENT
                return

    def _remember(self, v: int) -> None:
        if len(self.ghost) >= self.ghost_cap:
            oldest, _ = self.ghost.popitem(last=False)
            self.where[oldest] = _ABSENT
        self.where[v] = _GHOST
        self.ghost[v] = None

    def resident(self) -> int:
        """Small and main together."""
        return len(self.small) + len(self.main)

    def check(self) -> None:
        """Recount the three queues."""
        for queue, mark in ((self.small, _SMALL), (self.main, _MAIN), (self.ghost, _GHOST)):
            if len(queue) != self.where.count(mark) or any(self.where[b] != mark for b in queue):
                raise InvariantError("a queue and the marks of its blocks disagree")
        if self.resident() > self.capacity or len(self.ghost) > self.ghost_cap:
            raise InvariantError("a queue is longer than its capacity")


SPEC = PolicySpec(
    name="s3fifo_paper",
    summary="S3-FIFO as published: drained only when the cache is full, two accesses to promote",
    source="Yang et al., SOSP 2023, algorithm 1",
    engine="generic",
    pins_path=False,
    parameters=("small_ratio", "max_freq"),
    make=S3FifoPaper,
)
