"""Bytes of KV cache as the memory flags of a server."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from cache_worthy.sim.cost import MODELS, BlockSize, Model
from cache_worthy.sim.models.memory import weights_bytes as precise_bytes
from cache_worthy.sim.models.precision import WeightPrecision

Engine = Literal["generic", "sglang", "vllm"]
ENGINES: tuple[Engine, ...] = ("generic", "sglang", "vllm")

GPU_SHARE = 0.9
"""Share of the GPU for weights and KV cache when asking what fits: near the defaults of both
servers (vLLM 0.92, SGLang about 0.88, which it computes)."""

VLLM_BLOCK_TOKENS = 16
"""vLLM's default block size; hybrid models may force a larger one."""

DEFAULT_FRACTION: Mapping[str, float] = {"vllm": 0.92, "sglang": 0.88}
"""Share of the GPU that each server takes by default; SGLang computes its own."""

_CONTEXT_TOKENS: Mapping[str, int] = dict.fromkeys(MODELS, 131_072)
"""``max_position_embeddings`` of the two plain models, whose constants do not have it."""


def context_tokens(model: Model) -> int | None:
    """The longest context of a model; None where neither its file nor its geometry says."""
    return model.geometry.context or (
        _CONTEXT_TOKENS[model.name] if MODELS.get(model.name) == model else None
    )


@dataclass(frozen=True, slots=True)
class Memory:
    """The KV bytes that the verdict is about, as flags of the server."""

    recommended_bytes: int
    """Of question 3."""
    asked_bytes: int | None
    """The user's own capacity."""
    kv_bytes: int
    """What the flags are for: the user's capacity, else the recommendation, or what fits on the GPU
    if that is less."""
    kv_tokens: int
    weights_bytes: int
    """At their precision."""
    floor_bytes: int
    """Of question 2."""
    gpu_bytes: int | None
    """As given by the user."""
    room_bytes: int | None
    """What 90 percent of the GPU leaves for KV after the weights (may be negative)."""
    fraction: float | None
    """(weights + ``kv_bytes``) / GPU memory, rounded up to two decimals; None without a GPU size,
    or if it does not fit."""
    fits: bool | None
    """Whether ``floor_bytes`` fit there."""
    holds: bool | None
    """Whether ``kv_bytes`` fit there."""
    default_fraction: float
    """What the server takes by default, approximately."""
    default_holds: bool | None
    """Whether that is enough, so that there is nothing to set."""
    max_model_len: int | None
    """What vLLM needs to start with ``kv_tokens``; None if it needs nothing, or cannot start."""
    flags: tuple[str, ...]
    """What to type: alternatives. If the default is enough, only what it needs to start."""
    minimum: tuple[str, ...]
    """If the default is enough: the least values of the flags."""
    left_out: tuple[str, ...]
    """What the translation does not know."""


def weights_bytes(model: Model) -> int:
    """At their precision; without embeddings where the model file has no vocabulary."""
    if model.weights != WeightPrecision():
        return precise_bytes(model)
    return 2 * (model.parameters_total if model.vocabulary else model.parameters)


def gpu_room(model: Model, gpu_gib: float) -> int:
    """Bytes for KV cache in `GPU_SHARE` of the memory after the weights; may be negative."""
    return int(GPU_SHARE * gpu_gib * 2**30) - weights_bytes(model)


def measure_memory(
    engine: Engine,
    size: BlockSize,
    *,
    recommended: int,
    floor: int,
    asked: int | None,
    longest: int,
    gpu_gib: float | None,
) -> Memory:
    """Bytes as flags; ``longest`` is in tokens, of the longest request with its output.

    The fraction counts weights and KV only: this is SGLang's static fraction, and a lower bound of
    vLLM's, which also covers activations.
    """
    model = size.model
    target = recommended if asked is None else asked
    gpu = room = fraction = fits = holds = default_holds = None
    full = False  # where it is all that the GPU has
    if gpu_gib is not None:
        gpu, room = int(gpu_gib * 2**30), gpu_room(model, gpu_gib)
        fits = room >= floor
        if fits and asked is None:
            target = min(recommended, room)
        holds = fits and target <= room
        if holds:
            fraction = math.ceil(100 * (weights_bytes(model) + target) / gpu) / 100
            default_holds = fraction <= DEFAULT_FRACTION[engine]
            full = room == target < recommended
    length = sentence = None
    if engine == "vllm" and holds is not False:
        length, sentence = _model_length(model, _tokens(target, size), longest)
    share = DEFAULT_FRACTION[engine] if full and engine == "vllm" else fraction
    blocks = None if full or holds is False else -(-_tokens(target, size) // VLLM_BLOCK_TOKENS)
    exact = _typed(engine, share, blocks=blocks, length=length)
    start: tuple[str, ...] = ()
    keep = bool(default_holds) and not full
    if keep and room is not None and engine == "vllm":
        # The default leaves a little more than this room, and may still be too short.
        start = _length_flag(_model_length(model, _tokens(room, size), longest)[0])
    return Memory(
        recommended_bytes=recommended,
        asked_bytes=asked,
        kv_bytes=target,
        kv_tokens=_tokens(target, size),
        weights_bytes=weights_bytes(model),
        floor_bytes=floor,
        gpu_bytes=gpu,
        room_bytes=room,
        fraction=fraction,
        fits=fits,
        holds=holds,
        default_fraction=DEFAULT_FRACTION[engine],
        default_holds=default_holds,
        max_model_len=length,
        flags=start if keep else exact,
        minimum=exact if keep else (),
        left_out=_left_out(engine, model, "the recommendation" if asked is None else "this size")
        + (() if sentence is None else (sentence,)),
    )


def _tokens(bytes_: int, size: BlockSize) -> int:
    return bytes_ * size.block_tokens // size.block


def _length_flag(length: int | None) -> tuple[str, ...]:
    return () if length is None else (f"--max-model-len {length}",)


def _typed(
    engine: Engine, fraction: float | None, *, blocks: int | None, length: int | None
) -> tuple[str, ...]:
    """What to type for a fraction of the GPU or a number of blocks, where they are known."""
    if engine == "sglang":
        return () if fraction is None else (f"--mem-fraction-static {fraction:.2f}",)
    found = []
    if fraction is not None:
        found.append(f"--gpu-memory-utilization {fraction:.2f}")
    if blocks is not None:
        found.append(f"--num-gpu-blocks-override {blocks + 1}")  # block 0 is the server's own
    return tuple(" ".join((flag, *_length_flag(length))) for flag in found)


def _left_out(engine: Engine, model: Model, whose: str) -> tuple[str, ...]:
    """What the translation does not know."""
    return (
        (
            "weights are taken as two bytes per parameter"
            if model.weights == WeightPrecision()
            else "weights are taken at their precision, with their scales"
        )
        + ("" if model.vocabulary else ", without embeddings (the model file has no vocabulary)"),
        "activations, CUDA graphs and the framework itself need room beyond this"
        + (", inside the same fraction" if engine == "vllm" else ""),
        (
            f"{whose} serves one request at a time: requests in service together, and what they "
            "generate, take their tokens from the same pool, so add them"
        ),
    )


def _model_length(model: Model, tokens: int, longest: int) -> tuple[int | None, str | None]:
    """``--max-model-len`` for a cache of so many tokens, if the model's context is longer.

    Also a sentence on what that means for the user.
    """
    refusal = "vLLM does not start when the KV cache is smaller than one request of the full length"
    context, length = context_tokens(model), tokens // VLLM_BLOCK_TOKENS * VLLM_BLOCK_TOKENS
    if context is not None and tokens >= context:
        return None, None
    if length < longest:
        return None, (
            f"{refusal}, and the deepest request of this log has {longest} tokens with its output, "
            f"more than {tokens}: give it more"
        )
    if context is None:
        return None, (
            f"{refusal}: if the model's context is over {length} tokens (the model file does not "
            f"say), add --max-model-len {length}"
        )
    return length, (
        f"{refusal}, {context} tokens for this model; --max-model-len refuses longer requests, and "
        f"this log needs {longest}"
    )
