"""The one loop that every block policy runs in."""

from __future__ import annotations

from dataclasses import dataclass

from cache_worthy.sim.blocks.policies import POLICIES
from cache_worthy.sim.blocks.policies.base import BlockPolicy
from cache_worthy.sim.blocks.trace import BlockTrace
from cache_worthy.sim.errors import InvariantError


@dataclass(frozen=True, slots=True)
class RequestHit:
    """What one request found cached, in tokens."""

    hit_tokens: int
    prompt_tokens: int


@dataclass(frozen=True, slots=True)
class BlockReplay:
    """Result of a replay, cold from the first request to the last.

    Parameters
    ----------
    policy : str
        Name in the registry.
    capacity_blocks : int
        Size of the cache.
    total_hit_tokens, total_prompt_tokens : int
        Sums over the requests; their quotient is the hit rate by token.
    hit_blocks, block_references : int
        Sums of prefix hit lengths and of request lengths, in blocks; their quotient is the hit
        rate by block. When a policy drops partial blocks, these are no references.
    block_misses : int
        References that found their block absent when it was their turn. Equals
        ``block_references - hit_blocks`` where cached blocks always come with their prefix.
    final_cache_blocks : int
        Blocks resident after the last request.
    matched : tuple of int
        Prefix hit length of each request, in blocks, in file order.
    hit_tokens, prompt_tokens : tuple of int
        Hit and prompt tokens of each request.
    """

    policy: str
    capacity_blocks: int
    total_hit_tokens: int
    total_prompt_tokens: int
    hit_blocks: int
    block_references: int
    block_misses: int
    final_cache_blocks: int
    matched: tuple[int, ...]
    hit_tokens: tuple[int, ...]
    prompt_tokens: tuple[int, ...]

    @property
    def per_request(self) -> list[RequestHit]:
        """Hit and prompt tokens of each request, in file order."""
        return list(map(RequestHit, self.hit_tokens, self.prompt_tokens))

    @property
    def token_hit_rate(self) -> float:
        """Hit tokens over prompt tokens, 0 for an empty log."""
        return self.total_hit_tokens / self.total_prompt_tokens if self.total_prompt_tokens else 0.0

    @property
    def block_hit_rate(self) -> float:
        """Hit blocks over block references, 0 for an empty log."""
        return self.hit_blocks / self.block_references if self.block_references else 0.0

    @property
    def request_hit_rate(self) -> float:
        """Mean over the requests with a prompt of the share of its tokens found cached."""
        pairs = zip(self.hit_tokens, self.prompt_tokens, strict=True)
        shares = [hit / prompt for hit, prompt in pairs if prompt]
        return sum(shares) / len(shares) if shares else 0.0


def replay_blocks(
    trace: BlockTrace, policy: str, capacity: int, **parameters: object
) -> BlockReplay:
    """Replay a log through one block policy.

    Parameters
    ----------
    trace : BlockTrace
        The log.
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

    Notes
    -----
    A prefix of ``k`` cached blocks is worth ``min(k * block_size, length)`` tokens: the last block
    of a prompt may be partial.

    Examples
    --------
    >>> trace = BlockTrace.intern([[7, 8], [7, 8], [9], [7, 8]], [600, 600, 512, 700], block_size=512)
    >>> replay_blocks(trace, "vllm_lru", 2).per_request[1]
    RequestHit(hit_tokens=600, prompt_tokens=600)
    >>> replay_blocks(trace, "vllm_lru", 2).total_hit_tokens  # the tail, 8, made room for 9
    1112
    """
    spec = POLICIES[policy]
    unknown = sorted(set(parameters) - set(spec.parameters))
    if unknown:
        raise TypeError(f"policy {policy} has no parameter {', '.join(unknown)}")
    return run(trace, spec.make(trace, capacity, **parameters), policy, capacity)


def run(trace: BlockTrace, cache: BlockPolicy, policy: str, capacity: int) -> BlockReplay:
    """Drive one empty cache over the log, with the identities that must hold at every request."""
    size = trace.block_size
    hits: list[int] = []
    matched: list[int] = []
    total_hit = total_prompt = hit_blocks = references = 0
    serve, resident = cache.serve, cache.resident
    for path, length, fresh in zip(trace.blocks, trace.lengths, trace.fresh, strict=True):
        k = serve(path, length)
        if not 0 <= k <= len(path):
            raise InvariantError(f"{policy}: {k} blocks of {len(path)} hit")
        if k and fresh:
            raise InvariantError(f"{policy}: a hit on a first block never seen before")
        if resident() > capacity:
            raise InvariantError(f"{policy}: {resident()} blocks resident of {capacity}")
        hit = min(k * size, length)
        hits.append(hit)
        total_hit += hit
        total_prompt += length
        matched.append(k)
        hit_blocks += k
        references += len(path)
    if sum(hits) != total_hit or sum(trace.lengths) != total_prompt:
        raise InvariantError(f"{policy}: the requests do not add up to the totals")
    cache.check()
    return BlockReplay(
        policy=policy,
        capacity_blocks=capacity,
        total_hit_tokens=total_hit,
        total_prompt_tokens=total_prompt,
        hit_blocks=hit_blocks,
        block_references=references,
        block_misses=cache.misses,
        final_cache_blocks=resident(),
        matched=tuple(matched),
        hit_tokens=tuple(hits),
        prompt_tokens=tuple(trace.lengths),
    )


def ideal(trace: BlockTrace) -> BlockReplay:
    """The hits of a cache that never evicts, cold: what reuse the log holds.

    Notes
    -----
    Linear in the references.

    Examples
    --------
    >>> ideal(BlockTrace.intern([[7, 8], [7, 9]], [1024, 1024])).block_hit_rate
    0.25
    """
    seen = bytearray(trace.distinct)
    hits: list[int] = []
    matched: list[int] = []
    hit_blocks = misses = 0
    for path, length in zip(trace.blocks, trace.lengths, strict=True):
        k = 0
        for b in path:
            if not seen[b]:
                break
            k += 1
        for b in path:
            misses += not seen[b]
            seen[b] = 1
        hit_blocks += k
        matched.append(k)
        hits.append(min(k * trace.block_size, length))
    return BlockReplay(
        policy="ideal",
        capacity_blocks=trace.distinct,
        total_hit_tokens=sum(hits),
        total_prompt_tokens=sum(trace.lengths),
        hit_blocks=hit_blocks,
        block_references=trace.references,
        block_misses=misses,
        final_cache_blocks=trace.distinct,
        matched=tuple(matched),
        hit_tokens=tuple(hits),
        prompt_tokens=tuple(trace.lengths),
    )
