"""A tiny model, an engine on a clock that ticks, and conversations, for the tests of serving."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache

import numpy as np

from cache_worthy.sim.cost import Model
from cache_worthy.sim.serving.server import Engine, EngineRequest
from cache_worthy.sim.serving.transformer import Transformer

TINY = Model("tiny", layers=2, d_model=32, heads=4, kv_heads=2, head_dim=8, d_ff=48, vocabulary=512)
BLOCK = 4


class Ticks:
    """A clock that advances a millisecond each time it is read: runs interleave, repeatably."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 0.001
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@cache
def tiny(dtype: type = np.float64) -> Transformer:
    return Transformer(TINY, dtype=dtype)


def engine(
    pool_blocks: int,
    cache_on: bool,
    *,
    model: Transformer | None = None,
    block_size: int = BLOCK,
    max_running: int | None = None,
) -> Engine:
    clock = Ticks()
    return Engine(
        model or tiny(),
        pool_blocks,
        prefix_cache=cache_on,
        block_size=block_size,
        max_running=max_running,
        record_events=True,
        clock=clock,
        sleep=clock.sleep,
    )


def conversations(seed: int, count: int, *, answers: bool = True) -> list[EngineRequest]:
    """Prompts that share systems and histories, at random lengths and close arrivals.

    Later turns repeat the history with made-up answers; ``follow_up`` makes ones with real answers.
    """
    rng = random.Random(seed)
    systems = [[rng.randrange(512) for _ in range(rng.randrange(13))] for _ in range(3)]
    histories: list[list[int]] = []
    requests = []
    for i in range(count):
        base = rng.choice(histories) if histories and rng.random() < 0.4 else rng.choice(systems)
        prompt = [*base, *(rng.randrange(512) for _ in range(rng.randrange(3, 9)))]
        histories.append(prompt)
        if not answers and rng.random() < 0.3:
            prompt = rng.choice(histories)  # the same prompt again
        out = rng.randrange(1, 11) if answers else 1
        requests.append(EngineRequest(tuple(prompt), out, i * 0.004))
    return requests


def least_pool(requests: Sequence[EngineRequest]) -> int:
    return max(-(-r.stored_tokens // BLOCK) for r in requests)
