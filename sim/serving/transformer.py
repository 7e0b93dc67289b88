"""A decoder-only transformer over a paged KV pool, in numpy.

The architecture is the one the cost model counts (`cache_worthy.sim.cost.Model`), that of Llama:
RMS norm before each part, rotary positions (Su et al. 2021), grouped-query attention (Ainslie et al.
2023), a gated feed-forward block, untied embeddings. Weights are random from a seed: the answers
mean nothing, but they depend on every token of the prompt, as a test of a prefix cache needs. Query
and key weights are drawn wide enough for attention to be selective.

Evidence: equality with a plain dense transcription in float64; parameter counts equal the cost
model's; rotary scores depend on distance alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cache_worthy.sim.cost import Model
from cache_worthy.sim.serving.pool import BlockPool, Floats

#: Prompt tokens computed at a time, so that scores need ``heads * CHUNK * context`` numbers.
CHUNK = 512

ROTARY_BASE = 10_000.0
NORM_EPSILON = 1e-6

Attend = Callable[[int, Floats, Floats, Floats], Floats]


@dataclass(frozen=True, slots=True)
class LayerWeights:
    """Weights of one layer; matrices map rows of activations, ``x @ w``."""

    attention_norm: Floats
    """Shape (d_model,)."""
    qkv: Floats
    """Shape (d_model, (heads + 2 kv_heads) * head_dim). Queries, keys, values side by side."""
    out: Floats
    """Shape (heads * head_dim, d_model)."""
    feed_norm: Floats
    """Shape (d_model,)."""
    gate_up: Floats
    """Shape (d_model, 2 d_ff)."""
    down: Floats
    """Shape (d_ff, d_model)."""


@dataclass(frozen=True, slots=True)
class Weights:
    """All weights."""

    embedding: Floats
    """Shape (vocabulary, d_model)."""
    layers: tuple[LayerWeights, ...]
    norm: Floats
    """Shape (d_model,)."""
    head: Floats
    """Shape (d_model, vocabulary)."""

    @property
    def count(self) -> int:
        """Numbers in all weights."""
        arrays: list[Floats] = [self.embedding, self.norm, self.head]
        arrays += [getattr(w, f.name) for w in self.layers for f in fields(w)]
        return sum(a.size for a in arrays)


def random_weights(model: Model, seed: int, dtype: type[np.floating[Any]] = np.float32) -> Weights:
    """Seeded weights, drawn in float64 and rounded, so that both precisions have the same model.

    Raises
    ------
    ValueError
        If the model names no vocabulary, or its heads have an odd size (rotation pairs them).
    """
    if model.vocabulary < 2 or model.head_dim % 2:
        raise ValueError("need a vocabulary of at least 2 and an even head_dim")
    rng = np.random.default_rng(seed)
    d, hd = model.d_model, model.head_dim

    def draw(rows: int, columns: int, gain: float = 1.0) -> Floats:
        drawn: Floats = rng.standard_normal((rows, columns)) * (gain / rows**0.5)
        return drawn

    def layer() -> LayerWeights:
        # Scores get a standard deviation near 2.25; the values' gain makes up for averaging.
        queries = draw(d, model.heads * hd, 1.5)
        keys = draw(d, model.kv_heads * hd, 1.5)
        values = draw(d, model.kv_heads * hd, 2.0)
        return LayerWeights(
            attention_norm=np.ones(d, dtype),
            qkv=np.hstack([queries, keys, values]).astype(dtype),
            out=draw(model.heads * hd, d).astype(dtype),
            feed_norm=np.ones(d, dtype),
            gate_up=draw(d, 2 * model.d_ff).astype(dtype),
            down=draw(model.d_ff, d).astype(dtype),
        )

    return Weights(
        embedding=rng.standard_normal((model.vocabulary, d)).astype(dtype),
        layers=tuple(layer() for _ in range(model.layers)),
        norm=np.ones(d, dtype),
        head=draw(d, model.vocabulary).astype(dtype),
    )


class Transformer:
    """The model over a pool.

    Parameters
    ----------
    model : Model
        Sizes; ``vocabulary`` must be given.
    seed : int
        Of the weights.
    dtype : numpy dtype
        float32 as served, or float64 where rounding must be out of the question.
    """

    def __init__(
        self, model: Model, seed: int = 0, dtype: type[np.floating[Any]] = np.float32
    ) -> None:
        self.model = model
        self.dtype = dtype
        self.weights = random_weights(model, seed, dtype)

    def prefill(
        self, tokens: Sequence[int], start: int, stored: int, table: Sequence[int], pool: BlockPool
    ) -> Floats:
        """Compute the tokens of a prompt from ``start`` on and return the last one's logits.

        Parameters
        ----------
        tokens : sequence of int
            The whole prompt.
        start : int
            Position of the first token to compute, below ``len(tokens)``.
        stored : int
            Tokens whose keys and values are in the pool already, ``start <= stored``; greater than
            ``start`` only when the last token of a wholly cached prompt is computed again.
        table : sequence of int
            Blocks of the sequence, from its first token on.
        pool : BlockPool

        Returns
        -------
        ndarray, shape (vocabulary,)

        Notes
        -----
        ``2 N (n - start)`` FLOPs in projections, and attention over the rectangle of computed and
        earlier tokens, chunk by chunk.
        """
        blocks = np.asarray(table, np.int64)
        all_tokens = np.asarray(tokens, np.int64)
        hidden: Floats = np.empty(0)
        for first in range(start, len(tokens), CHUNK):
            positions = np.arange(first, min(first + CHUNK, len(tokens)))
            hidden = self._prefill_chunk(all_tokens[positions], positions, stored, blocks, pool)
        last: Floats = self._logits(hidden[-1:])[0]
        return last

    def _prefill_chunk(
        self,
        tokens: NDArray[np.int64],
        positions: NDArray[np.int64],
        stored: int,
        table: NDArray[np.int64],
        pool: BlockPool,
    ) -> Floats:
        size, count, context = pool.block_size, len(positions), int(positions[-1]) + 1
        new = positions >= stored
        target, offset = table[positions[new] // size], positions[new] % size
        read = table[: -(-context // size)]
        later = np.arange(context) > positions[:, None]
        kv, hd = self.model.kv_heads, self.model.head_dim
        group = self.model.heads // kv

        def attend(layer: int, q: Floats, k: Floats, v: Floats) -> Floats:
            if len(target):
                pool.write(layer, target, offset, k[new], v[new])
            keys = pool.keys[layer, read].reshape(-1, kv, hd)[:context]
            values = pool.values[layer, read].reshape(-1, kv, hd)[:context]
            # The query heads of a group share their keys, so they form one tall matrix.
            tall = q.reshape(count, kv, group, hd).transpose(1, 2, 0, 3).reshape(kv, -1, hd)
            scores = (tall @ keys.transpose(1, 2, 0)).reshape(kv, group, count, context)
            np.copyto(scores, -np.inf, where=later)
            mixed: Floats = _softmax(scores).reshape(kv, -1, context) @ values.transpose(1, 0, 2)
            return mixed.reshape(kv, group, count, hd).transpose(2, 0, 1, 3).reshape(count, -1)

        return self._layers(tokens, positions, attend)

    def decode(
        self,
        tokens: Sequence[int],
        positions: Sequence[int],
        tables: list[list[int]],
        pool: BlockPool,
    ) -> Floats:
        """One token of every running sequence.

        Parameters
        ----------
        tokens, positions : sequence of int, length S
            The last token of each sequence and its position.
        tables : list of S lists of int
            Blocks of each sequence.
        pool : BlockPool

        Returns
        -------
        ndarray, shape (S, vocabulary)
        """
        size, count = pool.block_size, len(tokens)
        at = np.asarray(positions, np.int64)
        width = int(np.max(at)) // size + 1
        # Shorter sequences are padded with block 0, whose scores are masked.
        padded = np.zeros((count, width), np.int64)
        for row, table in enumerate(tables):
            padded[row, : min(width, len(table))] = table[:width]
        target, offset = padded[np.arange(count), at // size], at % size
        outside = (np.arange(width * size) > at[:, None])[:, None, None, :]
        kv, hd = self.model.kv_heads, self.model.head_dim

        def attend(layer: int, q: Floats, k: Floats, v: Floats) -> Floats:
            pool.write(layer, target, offset, k, v)
            keys = pool.keys[layer, padded].reshape(count, -1, kv, hd)
            values = pool.values[layer, padded].reshape(count, -1, kv, hd)
            scores = q.reshape(count, kv, -1, hd) @ keys.transpose(0, 2, 3, 1)
            np.copyto(scores, -np.inf, where=outside)
            mixed: Floats = _softmax(scores) @ values.transpose(0, 2, 1, 3)
            return mixed.reshape(count, -1)

        return self._logits(self._layers(np.asarray(tokens, np.int64), at, attend))

    def _layers(
        self, tokens: NDArray[np.int64], positions: NDArray[np.int64], attend: Attend
    ) -> Floats:
        """Hidden states of tokens at their positions; ``attend`` stores and mixes."""
        model = self.model
        count, heads, kv, hd = len(tokens), model.heads, model.kv_heads, model.head_dim
        cos, sin = _rotation(positions, hd, self.dtype)
        scale = self.dtype(hd**-0.5)
        x = self.weights.embedding[tokens]
        for number, w in enumerate(self.weights.layers):
            rows = (_rms_norm(x) * w.attention_norm) @ w.qkv
            split = rows.reshape(count, heads + 2 * kv, hd)
            rotated = _rotate(split[:, : heads + kv], cos, sin)
            mixed = attend(
                number, rotated[:, :heads] * scale, rotated[:, heads:], split[:, heads + kv :]
            )
            x = x + mixed @ w.out
            both = (_rms_norm(x) * w.feed_norm) @ w.gate_up
            x = x + (_silu(both[:, : model.d_ff]) * both[:, model.d_ff :]) @ w.down
        return x

    def _logits(self, hidden: Floats) -> Floats:
        logits: Floats = (_rms_norm(hidden) * self.weights.norm) @ self.weights.head
        return logits


def _rms_norm(x: Floats) -> Floats:
    power = np.einsum("ij,ij->i", x, x)[:, None] / x.shape[1]
    normed: Floats = x / np.sqrt(power + x.dtype.type(NORM_EPSILON))
    return normed


def _silu(x: Floats) -> Floats:
    result: Floats = x / (1 + np.exp(-x))
    return result


def _softmax(scores: Floats) -> Floats:
    """Over the last axis, in place."""
    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=-1, keepdims=True)
    return scores


def _rotation(
    positions: NDArray[np.int64], head_dim: int, dtype: type[np.floating[Any]]
) -> tuple[Floats, Floats]:
    """Cosines and sines, shape (tokens, 1, head_dim / 2); computed in float64."""
    frequency = ROTARY_BASE ** (-np.arange(0, head_dim, 2) / head_dim)
    angle = (positions[:, None] * frequency)[:, None, :]
    return np.cos(angle).astype(dtype), np.sin(angle).astype(dtype)


def _rotate(x: Floats, cos: Floats, sin: Floats) -> Floats:
    """Rotate the pairs ``(x[i], x[i + head_dim / 2])`` of every head."""
    half = x.shape[-1] // 2
    a, b = x[..., :half], x[..., half:]
    return np.concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1)
