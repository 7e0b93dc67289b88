"""The study's model and workload: a few system prompts, each followed by many short, unique user turns."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from cache_worthy.sim.cost import Model
from cache_worthy.sim.errors import InvariantError
from cache_worthy.sim.serving.server import EngineRequest

#: The model of the study: about 2.2 million weights without the embeddings, so that one core
#: prefills 272 tokens in some tens of milliseconds and can serve 20 requests a second.
STUDY_MODEL = Model(
    "study", layers=4, d_model=256, heads=8, kv_heads=2, head_dim=32, d_ff=512, dtype_bytes=4,
    vocabulary=512,
)  # fmt: skip

ANSWER_TOKENS = 24

#: User turns of the study: 498 tokens over 32 requests.
TURN_TOKENS, TURN_REQUESTS = 498, 32


def turn_lengths(requests: int, rng: np.random.Generator) -> list[int]:
    """Tokens of each user turn, 8 to 23, 498 in total for 32 requests.

    The total is spread evenly; then neighbours trade up to 7 tokens.

    Examples
    --------
    >>> lengths = turn_lengths(32, np.random.default_rng(0))
    >>> sum(lengths), min(lengths) >= 8, max(lengths) <= 23
    (498, True, True)
    """
    upto = [TURN_TOKENS * i // TURN_REQUESTS for i in range(requests + 1)]
    lengths = [b - a for a, b in pairwise(upto)]
    for i in range(0, requests - 1, 2):
        shift = int(rng.integers(-7, 8))
        lengths[i] += shift
        lengths[i + 1] -= shift
    return lengths


def chat_workload(
    prefix_tokens: int,
    *,
    vocabulary: int,
    requests: int = TURN_REQUESTS,
    tenants: int = 3,
    rate: float = 20.0,
    answer_tokens: int = ANSWER_TOKENS,
    seed: int = 0,
) -> list[EngineRequest]:
    """Requests of several tenants in turn, evenly spaced in time.

    Parameters
    ----------
    prefix_tokens : int
        Tokens of each tenant's system prompt.
    vocabulary : int
        Token ids are drawn uniformly below it.
    requests, tenants : int
        Request ``i`` is tenant ``i % tenants``'s.
    rate : float
        Requests per second.
    answer_tokens : int
        Tokens to generate for each.
    seed : int
        The user turns depend on the seed alone.

    Examples
    --------
    >>> a, b, _, d = chat_workload(64, vocabulary=512, requests=4)
    >>> a.prompt[:64] == b.prompt[:64], a.prompt[:64] == d.prompt[:64], b.arrival
    (False, True, 0.05)
    """
    rng = np.random.default_rng([seed, 0])
    lengths = turn_lengths(requests, rng)
    turns = [tuple(rng.integers(0, vocabulary, n).tolist()) for n in lengths]
    if len({t[:8] for t in turns}) < requests:
        raise InvariantError("two user turns begin alike; use another seed or a larger vocabulary")
    systems = [
        tuple(np.random.default_rng([seed, 1, t]).integers(0, vocabulary, prefix_tokens).tolist())
        for t in range(min(tenants, requests))
    ]
    return [
        EngineRequest(systems[i % tenants] + turns[i], answer_tokens, i / rate)
        for i in range(requests)
    ]
