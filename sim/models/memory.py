"""Bytes of weights and of KV cache on the ranks of one server, and what a prefix cache keeps.

With tensor parallelism weights and heads are divided over the ranks. What cannot be divided is copied
to each: a latent vector, an indexer's keys, a router, norms, and KV heads where there are fewer of
them than ranks. Sources: the parallel layers of vLLM (v1 engine) and SGLang.

The replays of this project keep and evict blocks of tokens, which is right where every layer keeps
every token. Engines treat other models by rules of their own: vLLM's hybrid cache manager counts a hit
only where each kind of layer holds what it needs; SGLang keeps separate pools for windows and states.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from functools import lru_cache

from cache_worthy.sim.errors import InputError
from cache_worthy.sim.models.layers import Attention, Compressed, Mixer
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
    """Bytes of KV cache of a sequence of ``tokens`` tokens, on ``tp`` ranks together.

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
    >>> kv_copies(Model("m", 1, 8, heads=8, kv_heads=4, head_dim=1, d_ff=1), tp=8)
    Fraction(2, 1)
    """
    check_ranks(model, tp)
    return Fraction(kv_bytes_of(model, 1024, tp), kv_bytes_of(model, 1024))


def state_bytes(model: Model) -> int:
    """Bytes of recurrent state per sequence, 0 without recurrent layers."""
    return whole_bytes(model.geometry.state_bits)


def _kept_by(mixer: Mixer) -> str:
    """What a layer keeps of a prefix, in words."""
    if isinstance(mixer, Compressed):
        summaries = f" and one summary of every {mixer.ratio}" if mixer.ratio else ""
        return f"the newest {mixer.window}{summaries}"
    if isinstance(mixer, Attention):
        if not mixer.stores:
            return "none of their own (they read an earlier layer's)"
        return "every token" if mixer.reach is None else f"the newest {mixer.reach}"
    if mixer.keeps == "state":
        return "a state that exists only where the engine saved one"
    return "every token"


def kept(model: Model) -> str:
    """What a prefix cache keeps, layer by layer, in one sentence.

    Examples
    --------
    >>> from cache_worthy.sim.models.loading import load_model
    >>> kept(load_model("qwen3-32b"))
    'all 64 layers keep every token'
    >>> kept(load_model("gemma-3-27b"))
    '10 of 62 layers keep every token, 52 the newest 1024'
    """
    counts: Counter[str] = Counter()
    for group in model.geometry.groups:
        if group.mixer:
            counts[_kept_by(group.mixer)] += group.count
    first, *rest = sorted(counts, key=lambda what: what != "every token")
    total = counts.total()
    if not rest:
        return f"all {total} layers keep {first}"
    return ", ".join(
        [f"{counts[first]} of {total} layers keep {first}", *(f"{counts[w]} {w}" for w in rest)]
    )


def require_full_cache(model: Model) -> None:
    """Refuse a model whose prefix cache does not keep every token of every layer.

    Raises
    ------
    InputError
        Says what is kept, and what can be answered instead.
    """
    if model.prefix_cache == "full":
        return
    raise InputError(
        f"--model {model.name}: its prefix cache works by other rules than full attention "
        f"({kept(model)}), which the replays do not model; `cache-worthy models` has its bytes and "
        "cost, and with a model of full attention the shares in tokens can be read"
    )
