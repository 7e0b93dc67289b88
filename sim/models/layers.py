"""Kinds of layers, one formula each: what is cached, what a prompt costs, how many weights.

A mixer combines tokens with each other: attention in its kinds, or a recurrent layer
(`cache_worthy.sim.models.recurrent`). Every mixer answers

``parts(d_model, ranks)``
    its weights, on ``ranks`` tensor-parallel ranks together: what is not divided counts once each;
``cached(tokens, ranks)`` and ``indexed(tokens, ranks)``
    elements of the KV cache, and of an indexer's keys, that a sequence of ``tokens`` tokens has;
``state_bits``
    bits of recurrent state per sequence, whatever its length;
``per_token``, ``per_pair``, ``rest(tokens)``
    prefill FLOPs beyond the weights: ``per_token n + per_pair n^2 + rest(n)``, where ``rest`` is
    what windows, chunks and summaries cost;
``keeps``
    what a prefix cache holds of it: ``"full"`` every token, ``"window"`` the newest ones,
    ``"state"`` a recurrent state that exists only where one was saved.

Pairs of tokens are counted twice, with the diagonal at one half: a prompt of ``n`` tokens has ``n^2``
twice-counted pairs, so that every count is an integer and the pairs of a range are a difference.

Sources: grouped-query attention, Ainslie et al. 2023; multi-head latent attention with its indexer,
DeepSeek-AI 2024 and 2025 (V2, V3.2); compressed attention, DeepSeek-AI 2026 (V4). Tensor shapes are
those of the published checkpoints.

Evidence: rank 1, KV bytes, parameter counts and checkpoint sizes as published (tests/sim/models).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Keeps = Literal["full", "window", "state"]

FLOPS_PER_WEIGHT = 2
"""A weight costs one multiplication and one addition per token."""


@dataclass(frozen=True, slots=True)
class Part:
    """Weights of one purpose.

    Attributes
    ----------
    name : str
        `cache_worthy.sim.models.precision` finds their precision by it.
    elements : int
        On all ranks together.
    active : int
        Those that one token uses.
    multiplied : bool
        Whether a token costs `FLOPS_PER_WEIGHT` for each active one; not for norms and biases.
    """

    name: str
    elements: int
    active: int
    multiplied: bool = True

    @classmethod
    def dense(cls, name: str, elements: int) -> Part:
        """Weights that every token is multiplied with."""
        return cls(name, elements, elements)

    @classmethod
    def small(cls, elements: int, active: int | None = None) -> Part:
        """Norms, biases and other vectors."""
        used = elements if active is None else active
        return cls("norms", elements, used, multiplied=False)


def windowed_pairs(tokens: int, window: int) -> int:
    """Twice the pairs of queries with the ``window`` newest tokens.

    Examples
    --------
    >>> windowed_pairs(4, 8), windowed_pairs(8, 8), windowed_pairs(9, 8)
    (16, 64, 80)
    """
    if tokens <= window:
        return tokens * tokens
    return window * (2 * tokens - window)


def chunked_pairs(tokens: int, chunk: int) -> int:
    """Twice the pairs of queries with the tokens of their own chunk.

    Examples
    --------
    >>> chunked_pairs(8, 8), chunked_pairs(12, 8)
    (64, 80)
    """
    whole, rest = divmod(tokens, chunk)
    return whole * chunk * chunk + rest * rest


def summary_pairs(tokens: int, ratio: int, most: int | None) -> int:
    """Twice the pairs of queries with summaries, one of every ``ratio`` tokens, ``most`` at most.

    The query at position ``t`` (from 1) meets the ``t // ratio`` summaries complete by then.

    Examples
    --------
    >>> summary_pairs(10, 4, None) == 2 * sum(t // 4 for t in range(1, 11))
    True
    >>> summary_pairs(40, 4, 3) == 2 * sum(min(t // 4, 3) for t in range(1, 41))
    True
    """
    whole, rest = divmod(tokens, ratio)
    if most is None or whole < most:
        # 0, 1, ..., whole - 1 for `ratio` queries each, less the query at position 0, then the rest.
        return ratio * whole * (whole - 1) + 2 * whole * (rest + 1)
    return ratio * most * (most - 1) + 2 * most * (tokens - most * ratio + 1)


class Mixer:
    """A kind of layer; the text of the module explains the members."""

    __slots__ = ()

    @property
    def kind(self) -> str:
        raise NotImplementedError

    @property
    def keeps(self) -> Keeps:
        return "full"

    @property
    def state_bits(self) -> int:
        return 0

    @property
    def per_token(self) -> int:
        return 0

    @property
    def per_pair(self) -> int:
        return 0

    def rest(self, tokens: int) -> int:
        return 0

    def cached(self, tokens: int, ranks: int = 1) -> int:
        return 0

    def indexed(self, tokens: int, ranks: int = 1) -> int:
        return 0

    def parts(self, d_model: int, ranks: int = 1) -> Iterator[Part]:
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Indexer:
    """Chooses the tokens that a sparse attention layer uses, by small keys of its own.

    Attributes
    ----------
    heads, dim : int
        Of its queries; its keys are one vector of ``dim`` per token, whole on every rank.
    most : int
        Tokens (or summaries) that a query uses.
    """

    heads: int
    dim: int
    most: int

    @property
    def per_pair(self) -> int:
        """FLOPs per twice-counted pair: one dot product per head, over half a pair."""
        return self.heads * self.dim


@dataclass(frozen=True, slots=True)
class Attention(Mixer):
    """Keys and values per head, shared by groups of query heads.

    Attributes
    ----------
    heads, kv_heads, key_dim, value_dim : int
    reach : int or None
        Newest tokens that a query sees, or the length of a chunk; None for all.
    chunked : bool
        Whether ``reach`` is a chunk, of which queries see the tokens of their own.
    stores : bool
        False where the layer reads the keys and values of an earlier one and projects none.
    one_projection : bool
        Whether values come from the projection of the keys; both are cached.
    gated : bool
        Whether the output is gated, by a projection as wide as the queries.
    relative : int
        Width per head of a projection for relative positions.
    small : int
        Norms, biases and other vectors.
    convolution : int
        Elements of 16 bits that short convolutions remember per sequence.
    index : Indexer or None
    """

    heads: int
    kv_heads: int
    key_dim: int
    value_dim: int
    reach: int | None = None
    chunked: bool = False
    stores: bool = True
    one_projection: bool = False
    gated: bool = False
    relative: int = 0
    small: int = 0
    convolution: int = 0
    index: Indexer | None = None

    @property
    def kind(self) -> str:
        if self.chunked:
            return "chunked attention"
        if self.reach is not None:
            return "sliding window"
        return "gqa with indexer" if self.index else "gqa"

    @property
    def keeps(self) -> Keeps:
        if self.convolution:
            return "state"
        return "full" if self.reach is None else "window"

    @property
    def state_bits(self) -> int:
        return 16 * self.convolution

    @property
    def _scores(self) -> int:
        return self.heads * (self.key_dim + self.value_dim)

    @property
    def per_pair(self) -> int:
        if self.index:
            return self.index.per_pair
        return self._scores if self.reach is None else 0

    def rest(self, tokens: int) -> int:
        if self.index:
            return self._scores * windowed_pairs(tokens, self.index.most)
        if self.reach is None:
            return 0
        pairs = chunked_pairs if self.chunked else windowed_pairs
        return self._scores * pairs(tokens, self.reach)

    def _kv_heads(self, ranks: int) -> int:
        """Heads stored on all ranks together, at least one on each."""
        return max(self.kv_heads, ranks)

    def cached(self, tokens: int, ranks: int = 1) -> int:
        if not self.stores:
            return 0
        held = tokens if self.reach is None else min(tokens, self.reach)
        return held * self._kv_heads(ranks) * (self.key_dim + self.value_dim)

    def indexed(self, tokens: int, ranks: int = 1) -> int:
        return tokens * self.index.dim * ranks if self.index else 0

    def parts(self, d_model: int, ranks: int = 1) -> Iterator[Part]:
        queries = self.heads * (self.key_dim * (1 + self.gated) + self.relative)
        output = self.heads * self.value_dim
        yield Part.dense("attention", d_model * (queries + output))
        if self.stores:
            width = self.key_dim + (0 if self.one_projection else self.value_dim)
            yield Part.dense("attention", d_model * self._kv_heads(ranks) * width)
        if self.index:
            width = (self.index.heads + 1) * self.index.dim
            yield Part.dense("indexer", d_model * width * ranks)
            yield Part.small(2 * self.index.dim * ranks)
        yield Part.small(self.small * ranks)


@dataclass(frozen=True, slots=True)
class Latent(Mixer):
    """Multi-head latent attention: one compressed vector per token, which all heads expand.

    Its cost is that of the expanded form, as in the papers; kernels that keep the vectors compressed
    spend more on long prompts.

    Attributes
    ----------
    heads : int
    kv_rank, rope : int
        Elements cached per token, whole on every rank: the compressed vector and the rotary key.
    nope, value_dim : int
        Of a head's key without the rotary part, and of its value.
    q_rank : int or None
        Of the compressed queries.
    gated : bool
        Whether the output is gated, by a projection as wide as the output of the heads.
    index : Indexer or None
        Where this layer has one of its own.
    most : int or None
        Tokens that an indexer, of this layer or an earlier one, leaves a query; None for all.
    """

    heads: int
    kv_rank: int
    rope: int
    nope: int
    value_dim: int
    q_rank: int | None = None
    gated: bool = False
    index: Indexer | None = None
    most: int | None = None

    @property
    def kind(self) -> str:
        return "mla" if self.most is None else "mla with indexer"

    @property
    def _scores(self) -> int:
        return self.heads * (self.nope + self.rope + self.value_dim)

    @property
    def per_pair(self) -> int:
        if self.most is None:
            return self._scores
        return self.index.per_pair if self.index else 0

    def rest(self, tokens: int) -> int:
        return 0 if self.most is None else self._scores * windowed_pairs(tokens, self.most)

    def cached(self, tokens: int, ranks: int = 1) -> int:
        return tokens * (self.kv_rank + self.rope) * ranks

    def indexed(self, tokens: int, ranks: int = 1) -> int:
        return tokens * self.index.dim * ranks if self.index else 0

    def parts(self, d_model: int, ranks: int = 1) -> Iterator[Part]:
        queries = self.heads * (self.nope + self.rope)
        output = self.heads * self.value_dim
        compress = self.kv_rank + self.rope + (self.q_rank or 0)
        yield Part.dense("attention", d_model * compress * ranks)
        yield Part.dense("attention", (self.q_rank or d_model) * queries)
        yield Part.dense("attention", self.kv_rank * self.heads * (self.nope + self.value_dim))
        yield Part.dense("attention", d_model * output * (1 + self.gated))
        yield Part.small((self.kv_rank + (self.q_rank or 0)) * ranks)
        if self.index:
            rank = self.q_rank or d_model
            keys = d_model * (self.index.dim + self.index.heads)
            yield Part.dense("indexer", (rank * self.index.heads * self.index.dim + keys) * ranks)
            yield Part.small(2 * self.index.dim * ranks)


@dataclass(frozen=True, slots=True)
class Compressed(Mixer):
    """Attention of DeepSeek V4: the newest tokens, and summaries of every ``ratio`` tokens.

    A token's key is also its value, one vector for all heads, whole on every rank.

    Attributes
    ----------
    heads, head_dim : int
    q_rank, o_rank, o_groups : int
        Of the compressed queries and of the compressed output, divided into groups.
    window : int
        Newest tokens kept as they are.
    ratio : int
        Tokens per summary, 0 for none.
    index : Indexer or None
        Chooses among the summaries; None where a query sees all of them.
    """

    heads: int
    head_dim: int
    q_rank: int
    o_rank: int
    o_groups: int
    window: int
    ratio: int = 0
    index: Indexer | None = None

    @property
    def kind(self) -> str:
        return "compressed attention" if self.ratio else "sliding window"

    @property
    def keeps(self) -> Keeps:
        return "window"

    def rest(self, tokens: int) -> int:
        scores = 2 * self.heads * self.head_dim
        pairs = windowed_pairs(tokens, self.window)
        if self.ratio:
            pairs += summary_pairs(tokens, self.ratio, self.index.most if self.index else None)
        chosen = 0
        if self.index:
            chosen = self.index.per_pair * summary_pairs(tokens, self.ratio, None)
        return scores * pairs + chosen

    def cached(self, tokens: int, ranks: int = 1) -> int:
        summaries = tokens // self.ratio if self.ratio else 0
        return (min(tokens, self.window) + summaries) * self.head_dim * ranks

    def indexed(self, tokens: int, ranks: int = 1) -> int:
        return tokens // self.ratio * self.index.dim * ranks if self.index else 0

    def parts(self, d_model: int, ranks: int = 1) -> Iterator[Part]:
        inner = self.heads * self.head_dim
        whole = d_model * (self.q_rank + self.head_dim)
        small = self.q_rank + self.head_dim + self.heads
        if self.ratio:
            # Where an indexer chooses among them, summaries overlap: two vectors per token.
            width = self.head_dim * (2 if self.index else 1)
            whole += 2 * d_model * width
            small += self.ratio * width + self.head_dim
        yield Part.dense("attention", whole * ranks)
        yield Part.dense("attention", inner * (self.q_rank + self.o_rank))
        yield Part.dense("attention", d_model * self.o_groups * self.o_rank)
        yield Part.small(small * ranks)
        if self.index:
            dim, heads = self.index.dim, self.index.heads
            keys = d_model * (4 * dim + heads)
            yield Part.dense("indexer", (self.q_rank * heads * dim + keys) * ranks)
            yield Part.small((2 * self.ratio * dim + dim) * ranks)
