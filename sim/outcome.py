"""What a replay did and what it cost: the one result of every kind of cache.

Counts are of one whole log, cold from the first request to the last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Outcome:
    """A log served by one cache.

    Attributes
    ----------
    capacity : int
        In the cache's own unit: of the size function for a radix tree (bytes by default), blocks for
        block policies, tokens for SGLang's.
    block_references, distinct_blocks : int
        Of the log, as the cache tells blocks apart.
    hit_blocks : int
        Blocks of the requests' prefixes found resident, summed.
    block_misses : int
        References whose block was absent when its turn came: ``block_references - hit_blocks`` where
        a cached block always comes with its prefix.
    total_cost, compulsory_cost : int
        Recomputed, and each distinct block once (exact FLOPs by default).
    evictions : int
        Evicted nodes; blocks in a block cache.
    evicted_size, resident_size : int
        In the unit of the capacity.
    matched : sequence of int
        Blocks of the prefix found resident, by request; empty where requests are not told apart.
    hit_tokens, prompt_tokens : sequence of int
        Prompt tokens found resident and prompt length, by request; empty without prompt lengths.
    evicted_once : int or None
        Evicted nodes whose only use was their insertion; None where not counted.
    """

    capacity: int
    block_references: int
    distinct_blocks: int
    hit_blocks: int
    block_misses: int
    total_cost: int
    compulsory_cost: int
    evictions: int
    evicted_size: int
    resident_size: int
    matched: Sequence[int] = field(repr=False)
    hit_tokens: Sequence[int] = field(default=(), repr=False)
    prompt_tokens: Sequence[int] = field(default=(), repr=False)
    evicted_once: int | None = None

    @property
    def cost_ratio(self) -> float | None:
        """Total over compulsory cost; None when nothing has a cost."""
        return self.total_cost / self.compulsory_cost if self.compulsory_cost else None

    @property
    def block_hit_rate(self) -> float | None:
        """Matched over referenced blocks; None without blocks."""
        return self.hit_blocks / self.block_references if self.block_references else None

    @property
    def total_hit_tokens(self) -> int:
        """Prompt tokens found resident."""
        return sum(self.hit_tokens)

    @property
    def total_prompt_tokens(self) -> int:
        """Prompt tokens."""
        return sum(self.prompt_tokens)

    @property
    def token_hit_rate(self) -> float | None:
        """Hit tokens over prompt tokens; None without tokens."""
        prompt = self.total_prompt_tokens
        return self.total_hit_tokens / prompt if prompt else None

    @property
    def request_hit_rate(self) -> float | None:
        """Mean share of the prompt found resident, over the requests with a prompt."""
        pairs = zip(self.hit_tokens, self.prompt_tokens, strict=True)
        shares = [hit / prompt for hit, prompt in pairs if prompt]
        return sum(shares) / len(shares) if shares else None


def tokens_of(matched: Sequence[int], lengths: Sequence[int], block_tokens: int) -> tuple[int, ...]:
    """Prompt tokens in the matched blocks of each request, the last block cut to the prompt.

    Examples
    --------
    >>> tokens_of([2, 1, 0], [600, 600, 600], 512)
    (600, 512, 0)
    """
    return tuple(min(k * block_tokens, n) for k, n in zip(matched, lengths, strict=True))
