"""Replay a log through SGLang's cache, one request at a time."""

from __future__ import annotations

from cache_worthy.sim.errors import CapacityError, InputError, InvariantError
from cache_worthy.sim.outcome import Outcome
from cache_worthy.sim.sglang.log import PagedLog
from cache_worthy.sim.sglang.strategies import STRATEGIES
from cache_worthy.sim.sglang.tree import RadixCache
from cache_worthy.sim.sglang.versions import CURRENT, Server


def replay_sglang(
    log: PagedLog, policy: str, capacity: int, *, server: Server = CURRENT, **parameters: int
) -> Outcome:
    """Replay a log through one strategy.

    Parameters
    ----------
    log : PagedLog
    policy : str
        A name of `STRATEGIES`.
    capacity : int
        Tokens, at least ``log.floor``.
    server : Server
        How often a request counts, and how much an eviction is asked for.
    **parameters
        The strategy's own.

    Raises
    ------
    InputError
        For an unknown policy or parameter, or (CapacityError) when the largest request does not fit.
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
    whole = server.evict_whole_request
    cache = RadixCache(
        log.weights, capacity, score, counting=server.counting, evict_whole_request=whole
    )
    matched, hits = _serve_all(log, cache, policy)
    costs = log.cost_fn.cumulative(log.forest.depth)
    return Outcome(
        capacity=capacity,
        block_references=log.forest.references,
        distinct_blocks=log.distinct,
        hit_blocks=sum(matched),
        block_misses=log.forest.references - sum(matched),
        total_cost=log.forest.recomputed(costs, matched),
        compulsory_cost=log.forest.compulsory(costs),
        evictions=cache.evictions,
        evicted_size=cache.evicted_tokens,
        resident_size=cache.used,
        matched=tuple(matched),
        hit_tokens=tuple(hits),
        prompt_tokens=tuple(r.tokens for r in log.requests),
    )


def _serve_all(log: PagedLog, cache: RadixCache, policy: str) -> tuple[list[int], list[int]]:
    """Blocks matched and tokens found cached by request."""
    matched: list[int] = []
    hits: list[int] = []
    for r in log.requests:
        k, hit = cache.serve(r.prompt, r.prompt_room, r.generated, r.total_room, r.priority)
        if not 0 <= k <= len(r.prompt) or not 0 <= hit <= r.prompt_room:
            raise InvariantError(
                f"{policy}: {hit} tokens, {k} blocks hit of {r.prompt_room}, {len(r.prompt)}"
            )
        if cache.used > cache.capacity:
            raise InvariantError(f"{policy}: {cache.used} tokens held of {cache.capacity}")
        matched.append(k)
        hits.append(min(hit, r.tokens))
    cache.check()
    return matched, hits
