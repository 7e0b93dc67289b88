"""What the simulator's ``vllm_lru`` says about requests the engine has served one at a time.

The engine computes and the simulator counts; both must skip the same tokens. Generated blocks stand
on both sides: a request is its prompt and answer, without the answer's last token, whose keys and
values are never computed.
"""

from __future__ import annotations

from collections.abc import Sequence

from cache_worthy.sim.blocks import BlockTrace, replay_blocks
from cache_worthy.sim.engine.pool import block_keys
from cache_worthy.sim.engine.server import EngineRequest, Served


def block_trace(
    requests: Sequence[EngineRequest], served: Sequence[Served], block_size: int
) -> BlockTrace:
    """The served requests as a block log: keys of full blocks, then the partial one if any."""
    paths: list[list[bytes | tuple[int, str]]] = []
    lengths = []
    for number, (request, result) in enumerate(zip(requests, served, strict=True)):
        stored = [*request.prompt, *result.tokens[:-1]]
        path: list[bytes | tuple[int, str]] = [*block_keys(stored, block_size)]
        if len(stored) % block_size:
            path.append((number, "partial"))
        paths.append(path)
        lengths.append(len(stored))
    return BlockTrace.intern(paths, lengths, block_size=block_size)


def predicted_skips(
    requests: Sequence[EngineRequest], served: Sequence[Served], block_size: int, pool_blocks: int
) -> list[int]:
    """Prompt tokens that ``vllm_lru`` finds cached for each request, in order.

    The simulator's hit may reach into the answer and may cover the whole prompt; the engine looks
    up the prompt's full blocks and always computes the last token, so its part of the hit is cut
    there.

    Notes
    -----
    ``requests`` stand in the order of their arrival. Exact for requests served one at a time, with one exception: when a request's answer completes
    a block that is cached already (the same prompt and answer came before), the engine needs a
    block for it until it is complete and the simulator does not, so that under pressure the engine
    may evict one block more.
    """
    trace = block_trace(requests, served, block_size)
    result = replay_blocks(trace, "vllm_lru", pool_blocks, partial_blocks="drop")
    return [
        min(hit, len(r.prompt) // block_size * block_size, len(r.prompt) - 1)
        for hit, r in zip(result.hit_tokens, requests, strict=True)
    ]
