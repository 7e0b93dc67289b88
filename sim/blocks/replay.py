"""The one loop that every block policy runs in."""

from __future__ import annotations

from collections.abc import Sequence

from cache_worthy.sim.blocks.log import BlockLog
from cache_worthy.sim.blocks.policies import POLICIES
from cache_worthy.sim.blocks.policies.base import BlockPolicy
from cache_worthy.sim.errors import InvariantError
from cache_worthy.sim.outcome import Outcome, tokens_of


def replay_blocks(log: BlockLog, policy: str, capacity: int, **parameters: object) -> Outcome:
    """Replay a log through one block policy.

    Parameters
    ----------
    log : BlockLog
    policy : str
        A name of `POLICIES`.
    capacity : int
        Blocks.
    **parameters
        The policy's own, see its file.

    Raises
    ------
    KeyError
        For an unknown policy.
    InputError
        For a parameter out of range or a capacity the policy cannot work with.
    TypeError
        For a parameter the policy does not have.
    InvariantError
        When a rule that must always hold is broken.

    Examples
    --------
    >>> log = BlockLog.intern([[7, 8], [7, 8], [9], [7, 8]], [600, 600, 512, 700], block_size=512)
    >>> replay_blocks(log, "vllm_lru", 2).hit_tokens  # the tail, 8, made room for 9
    (0, 600, 0, 512)
    """
    spec = POLICIES[policy]
    unknown = sorted(set(parameters) - set(spec.parameters))
    if unknown:
        raise TypeError(f"policy {policy} has no parameter {', '.join(unknown)}")
    return run(log, spec.make(log, capacity, **parameters), policy, capacity)


def run(log: BlockLog, cache: BlockPolicy, policy: str, capacity: int) -> Outcome:
    """Drive one empty cache over the log, with the identities that must hold at every request."""
    matched: list[int] = []
    serve, resident = cache.serve, cache.resident
    for path, length, fresh in zip(log.blocks, log.lengths, log.fresh, strict=True):
        k = serve(path, length)
        if not 0 <= k <= len(path):
            raise InvariantError(f"{policy}: {k} blocks of {len(path)} hit")
        if k and fresh:
            raise InvariantError(f"{policy}: a hit on a first block never seen before")
        if resident() > capacity:
            raise InvariantError(f"{policy}: {resident()} blocks resident of {capacity}")
        matched.append(k)
    cache.check()
    return outcome_of(log, matched, capacity, cache.misses, resident())


def ideal(log: BlockLog) -> Outcome:
    """The hits of a cache that never evicts: all the reuse in the log. Linear in the references.

    Examples
    --------
    >>> ideal(BlockLog.intern([[7, 8], [7, 9]], [1024, 1024])).block_hit_rate
    0.25
    """
    seen = bytearray(log.distinct)
    matched: list[int] = []
    misses = 0
    for path in log.blocks:
        k = 0
        for b in path:
            if not seen[b]:
                break
            k += 1
        for b in path:
            misses += not seen[b]
            seen[b] = 1
        matched.append(k)
    return outcome_of(log, matched, log.distinct, misses, log.distinct)


def outcome_of(
    log: BlockLog, matched: Sequence[int], capacity: int, misses: int, resident: int
) -> Outcome:
    """What a block cache did: every miss loads a block, which stays or was evicted."""
    costs = log.cost_fn.cumulative(log.forest.depth)
    evicted = misses - resident
    return Outcome(
        capacity=capacity,
        block_references=log.references,
        distinct_blocks=log.distinct,
        hit_blocks=sum(matched),
        block_misses=misses,
        total_cost=log.forest.recomputed(costs, matched),
        compulsory_cost=log.forest.compulsory(costs),
        evictions=evicted,
        evicted_size=evicted,
        resident_size=resident,
        matched=tuple(matched),
        hit_tokens=tokens_of(matched, log.lengths, log.block_size),
        prompt_tokens=tuple(log.lengths),
    )
