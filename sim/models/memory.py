"""Bytes of weights and of KV cache on the ranks of one server.

With tensor parallelism weights and heads are divided over the ranks. What cannot be divided is whole
on each: a latent vector, an indexer's keys, a router, norms, and KV heads where there are fewer of
them than ranks. Sources: the parallel layers of vLLM (v1 engine) and SGLang.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from cache_worthy.sim.errors import InputError
from cache_worthy.sim.models.model import Model

FAR = 1 << 24
"""Tokens beyond every window, and a multiple of every ratio of summaries in use."""


def whole_bytes(bits: int | Fraction) -> int:
    """Bits as bytes, rounded up.

    Examples
    --------
    >>> whole_bytes(12)
    2
    """
    return -int(-bits // 8)


def check_ranks(model: Model, ranks: int) -> None:
    """Refuse a number of tensor-parallel ranks that no server starts with.

    Raises
    ------
    InputError
        For a number that does not divide the attention heads.
    """
    if type(ranks) is not int or ranks < 1 or model.heads % ranks:
        raise InputError(
            f"--tp {ranks}: expected a divisor of the {model.heads} attention heads of {model.name}"
        )


def weights_bytes(model: Model, tp: int = 1) -> int:
    """Bytes of the weights on ``tp`` ranks together, copies included.

    Without a vocabulary the embedding and the head are missing.
    """
    check_ranks(model, tp)
    return whole_bytes(model.weights.bits(model.geometry.parts(tp)))


@lru_cache(maxsize=1024)
def kv_bytes_of(model: Model, tokens: int, tp: int = 1) -> int:
    """Bytes of KV cache that a sequence of ``tokens`` tokens has, on ``tp`` ranks together.

    Keys and values (or latent vectors) and an indexer's keys; recurrent states come on top
    (`state_bytes`).
    """
    geometry = model.geometry
    bits = geometry.cached(tokens, tp) * model.kv_bits
    return whole_bytes(bits + geometry.indexed(tokens, tp) * model.index_bits)


def kv_bytes_per_token(model: Model, tp: int = 1) -> int | None:
    """Bytes of KV cache per token on ``tp`` ranks together, None where they depend on the context.

    A recurrent layer has none; windows and summaries make it depend on the context.
    """
    check_ranks(model, tp)
    geometry = model.geometry
    if geometry.cached(FAR) != FAR * geometry.cached(1):
        return None
    return kv_bytes_of(model, 1, tp)


def kv_bytes_past_windows(model: Model, tp: int = 1) -> Fraction:
    """Bytes that one more token adds to a long context, on average: windows add nothing."""
    check_ranks(model, tp)
    return Fraction(kv_bytes_of(model, 2 * FAR, tp) - kv_bytes_of(model, FAR, tp), FAR)


def kv_copies(model: Model, tp: int = 1) -> Fraction:
    """How often the KV cache of a token is stored on ``tp`` ranks together.

    Examples
    --------
    >>> from cache_worthy.sim.models.model import Model
    >>> kv_copies(Model("m", 1, 8, heads=8, kv_heads=4, head_dim=1, d_ff=1), tp=8)
    Fraction(2, 1)
    """
    check_ranks(model, tp)
    return Fraction(kv_bytes_of(model, 1024, tp), kv_bytes_of(model, 1024))


def state_bytes(model: Model) -> int:
    """Bytes of recurrent state per sequence, 0 without recurrent layers."""
    return whole_bytes(model.geometry.state_bits)
