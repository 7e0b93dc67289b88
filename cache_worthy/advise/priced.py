"""The model that the amounts are priced for, and whether it is the log's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cache_worthy.sim.cost import DEFAULT_MODEL, Model


@dataclass(frozen=True, slots=True)
class Priced:
    """What the amounts are for, where that is not plainly the default model in 16 bits.

    Attributes
    ----------
    model : str
    kinds : str
        Its kinds of layers.
    kv_bits, indexer_bits : int
        Of an element of the KV cache and, where there is a sparse indexer, of its keys.
    weights_bytes : int
        At their precision, on one rank.
    log_model : str or None
        The model that most requests of the log name, where it is another one.
    mismatch : str or None
        What that means, in a sentence.
    """

    model: str
    kinds: str
    kv_bits: int
    indexer_bits: int | None
    weights_bytes: int
    log_model: str | None
    mismatch: str | None


def priced(model: Model, named: Mapping[str, int]) -> Priced | None:
    """The model beside those that the log names, with their requests; None if nothing is to be said."""
    from cache_worthy.sim.models.memory import weights_bytes

    others = sorted(named, key=lambda name: -named[name])[:1]
    sentence = _mismatch(model, others[0]) if others else None
    if sentence is None and model == DEFAULT_MODEL:
        return None
    return Priced(
        model=model.name,
        kinds=model.geometry.kind,
        kv_bits=model.kv_bits,
        indexer_bits=model.index_bits if model.geometry.indexed(1 << 20) else None,
        weights_bytes=weights_bytes(model),
        log_model=others[0] if sentence else None,
        mismatch=sentence,
    )


def _mismatch(model: Model, logged: str) -> str | None:
    """What a reader must know where the log names another model; None where it is the same.

    Examples
    --------
    >>> _mismatch(DEFAULT_MODEL, "Qwen/Qwen3-32B-FP8")
    'Priced as Llama-3.1-8B, but the log is of qwen3-32b: run again with --model qwen3-32b.'
    >>> _mismatch(DEFAULT_MODEL, "meta-llama/Llama-3.1-8B-Instruct") is None
    True
    """
    from cache_worthy.sim.models.catalogue import key, match_name

    known, mine = match_name(logged), match_name(model.name)
    if key(logged) == key(model.name) or (known is not None and known == mine):
        return None
    if known is not None:
        return f"Priced as {model.name}, but the log is of {known}: run again with --model {known}."
    if model != DEFAULT_MODEL:  # the user said what it is
        return None
    return (
        f"Amounts are as if it were {model.name}: the log is of {logged}, whose size is not known "
        "(--model takes its config.json). Amounts in tokens and shares of tokens hold for any model."
    )
