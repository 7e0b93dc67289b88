"""What a prefix cache keeps of a model, in words, and which models replays are right for.

The replays of this project keep and evict blocks of tokens; a prefix can be continued wherever its
blocks are held. That is so where every layer keeps every token. Engines treat other models by rules
of their own: vLLM's hybrid cache manager counts a hit only where each kind of layer holds what it
needs, and cuts blocks so large that a recurrent state fills one; SGLang keeps separate pools for
windows and for states.
"""

from __future__ import annotations

from cache_worthy.sim.errors import InputError
from cache_worthy.sim.models.layers import Attention, Compressed, Mixer
from cache_worthy.sim.models.model import Model


def _newest(mixer: Mixer) -> int | None:
    if isinstance(mixer, Compressed):
        return mixer.window
    return mixer.reach if isinstance(mixer, Attention) else None


def kept(model: Model) -> str:
    """What is kept of a prefix, layer by layer, in one sentence.

    Examples
    --------
    >>> from cache_worthy.sim.models.loading import load_model
    >>> kept(load_model("qwen3-32b"))
    'all 64 layers keep every token'
    >>> kept(load_model("gemma-3-27b"))
    '10 of 62 layers keep every token, 52 the newest 1024'
    """
    counts: dict[str, int] = {}
    for group in model.geometry.groups:
        if group.mixer is None:
            continue
        newest = _newest(group.mixer)
        if isinstance(group.mixer, Attention) and not group.mixer.stores:
            what = "none of their own (they read an earlier layer's)"
        elif newest is not None:
            ratio = getattr(group.mixer, "ratio", 0)
            what = f"the newest {newest}" + (f" and one summary of every {ratio}" if ratio else "")
        elif group.mixer.keeps == "state" and not isinstance(group.mixer, Attention):
            what = "a state that exists only where the engine saved one"
        else:
            what = "every token"
        counts[what] = counts.get(what, 0) + group.count
    total = sum(counts.values())
    if len(counts) == 1:
        ((what, count),) = counts.items()
        return f"all {count} layers keep {what}"
    order = sorted(counts, key=lambda what: what != "every token")
    first, *rest = order
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
