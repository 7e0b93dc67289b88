"""Replay a log through SGLang's cache, one request at a time."""

from __future__ import annotations

from dataclasses import dataclass

from cache_worthy.sim.errors import CapacityError, InputError, InvariantError
from cache_worthy.sim.sglang.log import PagedLog
from cache_worthy.sim.sglang.strategies import STRATEGIES
from cache_worthy.sim.sglang.tree import RadixCache
from cache_worthy.sim.sglang.versions import CURRENT, Server


@dataclass(frozen=True, slots=True)
class SglangReplay:
    """Result of a replay, cold from the first request to the last.

    Parameters
    ----------
    policy : str
    capacity_tokens : int
    total_hit_tokens, total_prompt_tokens : int
        Sums over the requests.
    hit_blocks, block_references : int
        Of prompts, in blocks of the log.
    evictions, evicted_tokens : int
        Nodes evicted, and their tokens.
    final_tokens : int
        Tokens held by the tree after the last request.
    matched, hit_tokens, prompt_tokens : tuple of int
        Request by request: blocks matched, tokens found cached, prompt length.
    """

    policy: str
    capacity_tokens: int
    total_hit_tokens: int
    total_prompt_tokens: int
    hit_blocks: int
    block_references: int
    evictions: int
    evicted_tokens: int
    final_tokens: int
    matched: tuple[int, ...]
    hit_tokens: tuple[int, ...]
    prompt_tokens: tuple[int, ...]


def replay_sglang(
    log: PagedLog,
    policy: str,
    capacity: int,
    *,
    server: Server = CURRENT,
    **parameters: int,
) -> SglangReplay:
    """Replay a log through one strategy.

    Parameters
    ----------
    log : PagedLog
    policy : str
        A name of `STRATEGIES`.
    capacity : int
        Tokens, at least ``log.floor``.
    server : Server
        Whose books are kept: how often a request counts, how much an eviction is asked for.
    **parameters
        The strategy's own.

    Raises
    ------
    InputError
        For an unknown policy or parameter.
    CapacityError
        When the largest request does not fit.
    InvariantError
        When the bookkeeping is wrong.
    """
    if policy not in STRATEGIES:
        raise InputError(f"policy {policy}: unknown; expected one of {', '.join(STRATEGIES)}")
    score = STRATEGIES[policy].scorer(**parameters)
    if capacity < log.floor:
        raise CapacityError(
            f"capacity {capacity} tokens is below the largest request, {log.floor} tokens"
        )
    cache = RadixCache(
        log.weights,
        capacity,
        score,
        counting=server.counting,
        evict_whole_request=server.evict_whole_request,
    )
    matched: list[int] = []
    hits: list[int] = []
    for prompt, room, answer, total, priority, tokens in zip(
        log.prompts,
        log.prompt_room,
        log.generated,
        log.total_room,
        log.priorities,
        log.prompt_tokens,
        strict=True,
    ):
        k, hit = cache.serve(prompt, room, answer, total, priority)
        if not 0 <= k <= len(prompt) or not 0 <= hit <= room:
            raise InvariantError(f"{policy}: {hit} tokens, {k} blocks hit of {room}, {len(prompt)}")
        if cache.used > capacity:
            raise InvariantError(f"{policy}: {cache.used} tokens held of {capacity}")
        matched.append(k)
        hits.append(min(hit, tokens))
    cache.check()
    return SglangReplay(
        policy=policy,
        capacity_tokens=capacity,
        total_hit_tokens=sum(hits),
        total_prompt_tokens=sum(log.prompt_tokens),
        hit_blocks=sum(matched),
        block_references=sum(log.prompt_blocks),
        evictions=cache.evictions,
        evicted_tokens=cache.evicted_tokens,
        final_tokens=cache.used,
        matched=tuple(matched),
        hit_tokens=tuple(hits),
        prompt_tokens=tuple(log.prompt_tokens),
    )
