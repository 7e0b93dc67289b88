"""What vLLM offers: one policy, which caches full blocks only."""

from __future__ import annotations

from collections.abc import Sequence

from cache_worthy.advise.context import Context
from cache_worthy.advise.memory import VLLM_BLOCK_TOKENS, Memory
from cache_worthy.advise.offer import EngineAdvice, EngineOption, Offer
from cache_worthy.advise.workload import share
from cache_worthy.logs.log import Log
from cache_worthy.sim.outcome import Outcome

TAILS_MATTER = 1.1
"""From ten percent more recompute for partial last blocks, the report says so."""

PINS = (
    "vLLM cannot hold a prefix: there is nothing to set, and the prefixes above stay only while they "
    "are used. What helps is memory, or sending the requests that share a prefix close to one another."
)


def offers(context: Context) -> list[Offer]:
    """Its policy, with the partial last block of a prompt dropped and kept."""
    from cache_worthy.sim.blocks import BlockLog, replay_blocks

    tokens = context.log.block_tokens
    log = BlockLog(context.forest, context.lengths, tokens, by_path=True)

    def offer(label: str, partial: str, note: str) -> Offer:
        def replay(blocks: int) -> Outcome:
            return replay_blocks(log, "vllm_lru", blocks, partial_blocks=partial)

        return Offer(label=label, flag=None, note=note, replay=replay)

    full = f"full blocks of {tokens} tokens only, as the server counts."
    return [
        offer("lru", "drop", f"{full}{_smaller_blocks(context.log)}".removesuffix(".")),
        offer("lru + tails", "keep", "as if a partial last block could be found again"),
    ]


def choose(
    context: Context,
    offers: Sequence[Offer],
    *,
    options: tuple[EngineOption, ...],
    at: int,
    memory: Memory,
) -> EngineAdvice:
    """There is nothing to choose; the verdict tells what caching full blocks only costs."""
    # A request that finds its whole prompt makes one further copy of its last block.
    everything = context.forest.distinct + context.forest.requests
    dropped, kept = (
        context.forest.recomputed(context.costs, offer.replay(everything).matched)
        for offer in offers
    )
    tails = share(dropped, kept)
    verdict = (
        "vLLM offers no choice of GPU eviction policy: there is no flag to set. What you can change "
        "is memory (below) and the order in which requests arrive."
    )
    if tails is not None and tails > TAILS_MATTER:
        verdict += (
            f" Prompts end inside a block of {context.log.block_tokens} tokens, and vLLM caches full "
            f"blocks only: even with room for everything that costs {tails:.1f}x the recompute."
            + _smaller_blocks(context.log)
        )
    return EngineAdvice(
        engine="vllm",
        server="vLLM, v1 engine",
        options=options,
        at=at,
        best=options[0].label,
        saving_cost=0,
        saving_fraction=0.0,
        verdict=verdict,
        type_this=None,
        memory=memory,
        pins=PINS,
        tail_cost_ratio=tails,
    )


def _smaller_blocks(log: Log) -> str:
    """What to do about blocks that are larger than the server's."""
    if log.block_tokens <= VLLM_BLOCK_TOKENS:
        return ""
    size = f" The server's are likely {VLLM_BLOCK_TOKENS} tokens:"
    if log.tokenizer is not None or log.chars_per_block is not None:
        return f"{size} rerun with --block-size {VLLM_BLOCK_TOKENS}."
    return f"{size} a log of block ids cannot be cut smaller."
