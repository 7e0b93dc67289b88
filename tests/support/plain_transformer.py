"""A dense transcription of the model: no pages, no batch, no cache, one position after the other."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from cache_worthy.sim.cost import Model
from cache_worthy.sim.serving.pool import Floats
from cache_worthy.sim.serving.transformer import Weights


def norm(x: Floats, gain: Floats) -> Floats:
    result: Floats = x / math.sqrt(float(np.mean(x**2)) + 1e-6) * gain
    return result


def turn(x: Floats, position: int) -> Floats:
    """Rotary positions by complex multiplication."""
    half = len(x) // 2
    angle = np.array([position / 10_000 ** (2 * i / len(x)) for i in range(half)])
    z = (x[:half] + 1j * x[half:]) * np.exp(1j * angle)
    return np.concatenate([z.real, z.imag])


def logits_of(model: Model, weights: Weights, tokens: Sequence[int]) -> Floats:
    """Logits after every token, shape (tokens, vocabulary)."""
    hd, group = model.head_dim, model.heads // model.kv_heads
    xs = [weights.embedding[t].copy() for t in tokens]
    for w in weights.layers:
        queries, keys, values = [], [], []
        for position, x in enumerate(xs):
            row = norm(x, w.attention_norm) @ w.qkv
            parts = [row[i * hd : (i + 1) * hd] for i in range(model.heads + 2 * model.kv_heads)]
            queries.append([turn(p, position) for p in parts[: model.heads]])
            keys.append([turn(p, position) for p in parts[model.heads : -model.kv_heads]])
            values.append(parts[-model.kv_heads :])
        for position in range(len(xs)):
            heads = []
            for h in range(model.heads):
                q, g = queries[position][h], h // group
                scores = [float(q @ keys[p][g]) / math.sqrt(hd) for p in range(position + 1)]
                top = max(scores)
                weight = [math.exp(s - top) for s in scores]
                heads.append(
                    sum(
                        (a * values[p][g] for p, a in enumerate(weight)),
                        start=np.zeros(hd),
                    )
                    / sum(weight)
                )
            x = xs[position] + np.concatenate(heads) @ w.out
            both = norm(x, w.feed_norm) @ w.gate_up
            gate, up = both[: model.d_ff], both[model.d_ff :]
            xs[position] = x + (gate / (1 + np.exp(-gate)) * up) @ w.down
    return np.stack([norm(x, weights.norm) @ weights.head for x in xs])


def greedy(model: Model, weights: Weights, prompt: Sequence[int], count: int) -> tuple[int, ...]:
    """The answer, everything computed anew for every token."""
    tokens = list(prompt)
    for _ in range(count):
        tokens.append(int(logits_of(model, weights, tokens)[-1].argmax()))
    return tuple(tokens[len(prompt) :])
