"""S3-FIFO over prefix blocks, drained whenever the small queue is full.

Source of the algorithm: Yang, Zhang, Qiu, Yue, Rashmi, "FIFO queues are all you need for cache
eviction", SOSP 2023, in the block-level reading of the project's reference document: three FIFO
queues, small ``S`` of ``round(capacity * small_ratio)`` blocks (banker's rounding), main ``M`` of
the rest, ghost ``G`` of ids only, as long as ``M``.

It departs from the paper (``s3fifo_paper``) as follows: ``S`` is drained when *it* is full, not when
the cache is, so ``S + M`` can stay under the capacity; one access in ``S`` is enough for promotion; a
promoted block keeps its counter; what ``M`` evicts enters ``G`` too. The path of a request is not
pinned: its first blocks may be evicted before its last are admitted.

Evidence: published figures on the conversation trace, an independent list-based transcription on
random logs, and one mutation test for each mistake the reference document warns of.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from cache_worthy.sim.blocks.log import BlockLog
from cache_worthy.sim.blocks.policies.base import PolicySpec, check_capacity
from cache_worthy.sim.errors import InputError, InvariantError

ABSENT, GHOST, SMALL, MAIN = 0, 1, 2, 3
"""Where a block is; it is resident from ``SMALL`` on."""


def queue_sizes(capacity: int, small_ratio: float) -> tuple[int, int]:
    """Blocks of the small and of the main queue.

    Raises
    ------
    InputError
        When a queue would be left without a block.

    Examples
    --------
    >>> queue_sizes(4096, 0.1)  # truncation would give 409
    (410, 3686)
    >>> queue_sizes(25, 0.1)  # 2.5 goes to the even neighbour
    (2, 23)
    """
    check_capacity(capacity)
    if not 0.0 < small_ratio < 1.0:
        raise InputError(f"small_ratio must lie strictly between 0 and 1, not {small_ratio}")
    small = round(capacity * small_ratio)
    main = capacity - small
    if small < 1 or main < 1:
        raise InputError(
            f"capacity {capacity} with small_ratio {small_ratio} leaves a queue without a block "
            f"(small {small}, main {main}); raise one of them"
        )
    return small, main


class S3Fifo:
    """See the module. Amortised constant time per reference for a fixed ``max_freq``.

    Parameters
    ----------
    log : BlockLog
        Sizes the arrays.
    capacity : int
        Blocks, small and main together.
    small_ratio : float
        Share of the small queue.
    max_freq : int
        The counters saturate here, ``least_max_freq`` to 255.
    ghost_hit_freq : int
        Counter of a block readmitted from the ghost (0 is the canonical choice).

    Raises
    ------
    InputError
        For a parameter out of range.
    """

    least_max_freq = 1

    def __init__(
        self,
        log: BlockLog,
        capacity: int,
        *,
        small_ratio: float = 0.1,
        max_freq: int = 3,
        ghost_hit_freq: int = 0,
    ) -> None:
        self.small_cap, self.main_cap = queue_sizes(capacity, small_ratio)
        if not self.least_max_freq <= max_freq <= 255:
            raise InputError(f"max_freq must be from {self.least_max_freq} to 255, not {max_freq}")
        if not 0 <= ghost_hit_freq <= max_freq:
            raise InputError(f"ghost_hit_freq must be from 0 to {max_freq}, not {ghost_hit_freq}")
        self.max_freq = max_freq
        self.ghost_hit_freq = ghost_hit_freq
        self.where = bytearray(log.distinct)
        self.freq = bytearray(log.distinct)
        self.small: deque[int] = deque()
        self.main: deque[int] = deque()
        # The ghost is a log of block ids with a moving head; an entry is live while its block is
        # a ghost and ghost_slot names this very entry, so leaving from the middle costs nothing.
        self.ghost_log: list[int] = []
        self.ghost_head = 0
        self.ghost_slot = [-1] * log.distinct
        self.ghost_live = 0
        self.misses = 0

    def hits(self, blocks: Sequence[int]) -> int:
        """Blocks of the prefix that are resident, each counted as accessed.

        A hit evicts nothing, so the prefix found on arrival is that of an access in order.
        """
        where, freq, max_freq = self.where, self.freq, self.max_freq
        for k, b in enumerate(blocks):
            if where[b] < SMALL:
                return k
            f = freq[b]
            if f < max_freq:
                freq[b] = f + 1
        return len(blocks)

    def remember(self, evicted: int) -> None:
        """Put a block in the ghost, which forgets its oldest when it is full."""
        log, slot, where = self.ghost_log, self.ghost_slot, self.where
        if self.ghost_live < self.main_cap:
            self.ghost_live += 1
        else:
            head = self.ghost_head
            while slot[oldest := log[head]] != head or where[oldest] != GHOST:
                head += 1
            self.ghost_head = head + 1
            where[oldest] = ABSENT
        # Marked only now: the mark would revive an old entry of the same block.
        where[evicted] = GHOST
        slot[evicted] = len(log)
        log.append(evicted)

    def second_chance(self) -> int:
        """Take the first block of main whose counter is 0; the others lose one and queue again."""
        main, freq = self.main, self.freq
        while f := freq[v := main.popleft()]:
            freq[v] = f - 1
            main.append(v)
        return v

    def serve(self, blocks: Sequence[int], tokens: int) -> int:
        """Scan the prefix, then access every block of the request in order."""
        k = self.hits(blocks)
        where, freq, max_freq = self.where, self.freq, self.max_freq
        small, main, remember = self.small, self.main, self.remember
        small_cap, main_cap = self.small_cap, self.main_cap
        in_small, in_main, misses = len(small), len(main), 0
        for b in blocks[k:]:
            w = where[b]
            if w >= SMALL:
                f = freq[b]
                if f < max_freq:
                    freq[b] = f + 1
                continue
            misses += 1
            if w == GHOST:
                self.ghost_live -= 1
                freq[b] = self.ghost_hit_freq
                entering = b
            else:
                where[b] = SMALL
                small.append(b)
                freq[b] = 0
                if in_small < small_cap:
                    in_small += 1
                    continue
                # One block leaves the full small queue: every pop makes room for exactly one.
                entering = small.popleft()
                if not freq[entering]:
                    remember(entering)
                    continue
            where[entering] = MAIN
            if in_main < main_cap:
                in_main += 1
            else:
                remember(self.second_chance())
            main.append(entering)
        self.misses += misses
        return k

    def resident(self) -> int:
        """Small and main together; ghosts hold no data."""
        return len(self.small) + len(self.main)

    def check(self) -> None:
        """Recount the three queues."""
        where = self.where
        for queue, mark in ((self.small, SMALL), (self.main, MAIN)):
            if len(queue) != where.count(mark) or any(where[b] != mark for b in queue):
                raise InvariantError("a queue and the marks of its blocks disagree")
        if not where.count(GHOST) == self.ghost_live <= self.main_cap:
            raise InvariantError(f"{where.count(GHOST)} ghosts, {self.ghost_live} counted")
        if any(self.freq[b] > self.max_freq for b in (*self.small, *self.main)):
            raise InvariantError("a counter exceeds max_freq")
        self.check_lengths()

    def check_lengths(self) -> None:
        """Raise InvariantError where a queue is too long."""
        if len(self.small) > self.small_cap or len(self.main) > self.main_cap:
            raise InvariantError("a queue is longer than its capacity")


SPEC = PolicySpec(
    name="s3fifo",
    summary="three FIFO queues over prefix blocks, the small one drained when it is full",
    source="Yang et al., SOSP 2023, in the wording of a block-replay reference",
    parameters=("small_ratio", "max_freq", "ghost_hit_freq"),
    make=S3Fifo,
)
