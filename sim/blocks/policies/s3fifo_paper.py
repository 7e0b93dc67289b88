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

from collections import deque
from collections.abc import Sequence

from cache_worthy.sim.blocks.log import BlockLog
from cache_worthy.sim.blocks.policies.base import PolicySpec
from cache_worthy.sim.blocks.policies.s3fifo import queue_sizes
from cache_worthy.sim.errors import InputError, InvariantError

_ABSENT, _GHOST, _SMALL, _MAIN = 0, 1, 2, 3


class S3FifoPaper:
    """See the module. Amortised constant time a reference for a fixed ``max_freq``.

    Parameters
    ----------
    log : BlockLog
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
        "ghost_cap",
        "ghost_head",
        "ghost_live",
        "ghost_log",
        "ghost_slot",
        "main",
        "main_cap",
        "max_freq",
        "misses",
        "small",
        "small_cap",
        "where",
    )

    def __init__(
        self, log: BlockLog, capacity: int, *, small_ratio: float = 0.1, max_freq: int = 3
    ) -> None:
        self.small_cap, self.main_cap = queue_sizes(capacity, small_ratio)
        if not 2 <= max_freq <= 255:
            raise InputError(f"max_freq must be from 2 to 255, not {max_freq}")
        self.capacity = capacity
        self.ghost_cap = self.main_cap
        self.max_freq = max_freq
        self.where = bytearray(log.distinct)
        self.freq = bytearray(log.distinct)
        self.small: deque[int] = deque()
        self.main: deque[int] = deque()
        # A log of block ids with a moving head, as in s3fifo.
        self.ghost_log: list[int] = []
        self.ghost_head = 0
        self.ghost_slot = [-1] * log.distinct
        self.ghost_live = 0
        self.misses = 0

    def serve(self, blocks: Sequence[int], tokens: int) -> int:
        """Access every block in order; the first miss ends the prefix (hits evict nothing)."""
        where, freq, max_freq = self.where, self.freq, self.max_freq
        k = 0
        for b in blocks:
            if where[b] < _SMALL:
                break
            k += 1
            if freq[b] < max_freq:
                freq[b] += 1
        else:
            return k
        small, main, capacity = self.small, self.main, self.capacity
        small_cap, main_cap, ghost_cap = self.small_cap, self.main_cap, self.ghost_cap
        log, slot, head, live = self.ghost_log, self.ghost_slot, self.ghost_head, self.ghost_live
        in_small, in_main = len(small), len(main)
        misses = self.misses
        for b in blocks[k:]:
            if where[b] >= _SMALL:
                if freq[b] < max_freq:
                    freq[b] += 1
                continue
            misses += 1
            while in_small + in_main >= capacity:
                if in_small < small_cap:
                    self._evict_main()
                    in_main -= 1
                    continue
                # Promote from the head of small until one block is evicted or small is empty.
                while in_small:
                    v = small.popleft()
                    in_small -= 1
                    if freq[v] <= 1:
                        if live < ghost_cap:
                            live += 1
                        else:
                            while slot[g := log[head]] != head or where[g] != _GHOST:
                                head += 1
                            head += 1
                            where[g] = _ABSENT
                        where[v] = _GHOST
                        slot[v] = len(log)
                        log.append(v)
                        break
                    if in_main < main_cap:
                        in_main += 1
                    else:
                        self._evict_main()
                    freq[v] = 0
                    where[v] = _MAIN
                    main.append(v)
            freq[b] = 0
            # Asked after the evictions, which may have pushed this very id out of the ghost.
            if where[b] == _GHOST:
                live -= 1
                in_main += 1
                where[b] = _MAIN
                main.append(b)
            else:
                in_small += 1
                where[b] = _SMALL
                small.append(b)
        self.misses = misses
        self.ghost_head, self.ghost_live = head, live
        return k

    def _evict_main(self) -> None:
        """Give second chances until one block of main is evicted."""
        main, freq = self.main, self.freq
        while f := freq[v := main.popleft()]:
            freq[v] = f - 1
            main.append(v)
        self.where[v] = _ABSENT

    def resident(self) -> int:
        """Small and main together."""
        return len(self.small) + len(self.main)

    def check(self) -> None:
        """Recount the three queues."""
        for queue, mark in ((self.small, _SMALL), (self.main, _MAIN)):
            if len(queue) != self.where.count(mark) or any(self.where[b] != mark for b in queue):
                raise InvariantError("a queue and the marks of its blocks disagree")
        if not self.where.count(_GHOST) == self.ghost_live <= self.ghost_cap:
            raise InvariantError(f"{self.where.count(_GHOST)} ghosts, {self.ghost_live} counted")
        if self.resident() > self.capacity:
            raise InvariantError("the queues are longer than the capacity")


SPEC = PolicySpec(
    name="s3fifo_paper",
    summary="S3-FIFO as published: drained only when the cache is full, two accesses to promote",
    source="Yang et al., SOSP 2023, algorithm 1",
    engine="generic",
    pins_path=False,
    parameters=("small_ratio", "max_freq"),
    make=S3FifoPaper,
)
