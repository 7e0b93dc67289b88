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

from collections.abc import Sequence

from cache_worthy.sim.blocks.log import BlockLog
from cache_worthy.sim.blocks.policies.base import PolicySpec
from cache_worthy.sim.blocks.policies.s3fifo import ABSENT, GHOST, MAIN, SMALL, S3Fifo
from cache_worthy.sim.errors import InvariantError


class S3FifoPaper(S3Fifo):
    """See the module; parameters as for `S3Fifo`, without ``ghost_hit_freq``."""

    least_max_freq = 2  # with 1, nothing would ever be promoted

    def __init__(
        self, log: BlockLog, capacity: int, *, small_ratio: float = 0.1, max_freq: int = 3
    ) -> None:
        super().__init__(log, capacity, small_ratio=small_ratio, max_freq=max_freq)
        self.capacity = capacity

    def serve(self, blocks: Sequence[int], tokens: int) -> int:
        """Access every block in order; the first miss ends the prefix (hits evict nothing)."""
        k = self.hits(blocks)
        where, freq, max_freq = self.where, self.freq, self.max_freq
        small, main, capacity = self.small, self.main, self.capacity
        small_cap, held, misses = self.small_cap, len(small) + len(main), 0
        for b in blocks[k:]:
            if where[b] >= SMALL:
                if freq[b] < max_freq:
                    freq[b] += 1
                continue
            misses += 1
            while held >= capacity:
                if len(small) < small_cap:
                    where[self.second_chance()] = ABSENT
                    held -= 1
                else:
                    held -= self.drain_small()
            held += 1
            freq[b] = 0
            # Asked after the evictions, which may have pushed this very id out of the ghost.
            if where[b] == GHOST:
                self.ghost_live -= 1
                where[b] = MAIN
                main.append(b)
            else:
                where[b] = SMALL
                small.append(b)
        self.misses += misses
        return k

    def drain_small(self) -> int:
        """Promote from the head of small until one block is evicted or small is empty.

        Returns the blocks evicted, from small or from a full main.
        """
        small, main, freq = self.small, self.main, self.freq
        evicted = 0
        while small:
            v = small.popleft()
            if freq[v] <= 1:
                self.remember(v)
                return evicted + 1
            if len(main) >= self.main_cap:
                self.where[self.second_chance()] = ABSENT
                evicted += 1
            freq[v] = 0
            self.where[v] = MAIN
            main.append(v)
        return evicted

    def check_lengths(self) -> None:
        if self.resident() > self.capacity:
            raise InvariantError("the queues are longer than the capacity")


SPEC = PolicySpec(
    name="s3fifo_paper",
    summary="S3-FIFO as published: drained only when the cache is full, two accesses to promote",
    source="Yang et al., SOSP 2023, algorithm 1",
    parameters=("small_ratio", "max_freq"),
    make=S3FifoPaper,
)
