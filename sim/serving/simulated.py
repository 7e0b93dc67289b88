"""What the simulator's ``vllm_lru`` predicts for requests that the engine served one at a time.

The engine computes and the simulator counts; both must skip the same tokens. A request is its prompt
and answer, without the answer's last token, whose keys and values are never computed.
"""

from __future__ import annotations

from collections.abc import Sequence

from cache_worthy.sim.blocks import BlockLog
from cache_worthy.sim.blocks.policies.vllm_lru import VllmLru
from cache_worthy.sim.blocks.replay import run
from cache_worthy.sim.serving.pool import block_keys
from cache_worthy.sim.serving.server import EngineRequest, Served


def block_log(
    requests: Sequence[EngineRequest], served: Sequence[Served], block_size: int
) -> BlockLog:
    """The served requests as a block log: keys of full blocks, then the partial one if any."""
    paths: list[list[str]] = []
    lengths = []
    for number, (request, result) in enumerate(zip(requests, served, strict=True)):
        stored = [*request.prompt, *result.tokens[:-1]]
        path = [key.hex() for key in block_keys(stored, block_size)]
        if len(stored) % block_size:
            path.append(f"partial {number}")
        paths.append(path)
        lengths.append(len(stored))
    return BlockLog.intern(paths, lengths, block_size=block_size)


class GeneratingLru(VllmLru):
    """``vllm_lru`` when a request does not know its answer before it has generated it.

    ``vllm_lru`` looks the whole request up at once. A request that generates can look up only the
    full blocks of its prompt, and holds blocks of its own for the rest. When such a block turns out
    to be cached already (the same prompt and answer came before), its copy returns empty to the
    front of the queue and the cached one counts as used. Until then the cached one is not pinned and
    may be evicted, as may one more block of others. The two policies are the same where no answer
    repeats, and where nothing is evicted.

    Parameters
    ----------
    log : BlockLog
        Requests with their answers, see :func:`block_log`.
    capacity : int
        Blocks of the pool.
    prompt_blocks : sequence of int
        Full blocks of each request's prompt, in the order they will be served.
    """

    def __init__(self, log: BlockLog, capacity: int, prompt_blocks: Sequence[int]) -> None:
        super().__init__(log, capacity, partial_blocks="drop")
        self._prompt_blocks = prompt_blocks
        self._served = 0

    def serve(self, blocks: Sequence[int], tokens: int) -> int:
        """Take the prompt's cached prefix, evict for all the rest, give everything back."""
        looked_up = self._prompt_blocks[self._served]
        self._served += 1
        full = blocks[: tokens // self.block_size]
        k = 0
        while k < min(looked_up, len(full)) and self.slot[full[k]] >= 0:
            k += 1
        self._give_back(full[:k])  # at the back of the queue already: the pin
        self._evict(len(blocks) - k - (self.capacity - self.held))
        missing = sum(self.slot[b] < 0 for b in full)
        self.misses += missing
        self.held += missing
        self._give_back(full)
        return k

    def _give_back(self, blocks: Sequence[int]) -> None:
        for b in reversed(blocks):
            self.slot[b] = len(self.log)
            self.log.append(b)

    def _evict(self, count: int) -> None:
        while count > 0:
            b = self.log[self.head]
            if self.slot[b] == self.head:
                self.slot[b] = -1
                self.held -= 1
                count -= 1
            self.head += 1


def predicted_skips(
    requests: Sequence[EngineRequest], served: Sequence[Served], block_size: int, pool_blocks: int
) -> list[int]:
    """Prompt tokens found cached for each request, in order, as :class:`GeneratingLru` predicts.

    Exact for requests, in order of arrival, served one at a time. The engine always computes the last
    token of a prompt, so a hit on all of it is cut there. Of the engine's run, only the tokens of the
    answers are used.

    Raises
    ------
    CapacityError
        If a request does not fit in the pool.
    """
    log = block_log(requests, served, block_size)
    cache = GeneratingLru(log, pool_blocks, [len(r.prompt) // block_size for r in requests])
    result = run(log, cache, "vllm_lru", pool_blocks)
    return [min(hit, len(r.prompt) - 1) for hit, r in zip(result.hit_tokens, requests, strict=True)]
