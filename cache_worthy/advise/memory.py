"""Bytes of KV cache as the memory flags of a serving engine."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from cache_worthy.sim.cost import MODELS, BlockSize, Model

Engine = Literal["generic", "sglang", "vllm"]
ENGINES: tuple[Engine, ...] = ("generic", "sglang", "vllm")

GPU_SHARE = 0.9
"""Of the GPU for weights and KV cache, when asking what fits: near both engines' defaults (vLLM
0.92, SGLang chosen by the server near 0.88)."""

VLLM_BLOCK_TOKENS = 16
"""vLLM's default block size; hybrid models may force a larger one."""

DEFAULT_FRACTION: Mapping[str, float] = {"vllm": 0.92, "sglang": 0.88}
"""Of the GPU that each engine takes unless told otherwise; SGLang's server computes its own."""

CONTEXT_TOKENS: Mapping[Model, int] = {
    MODELS[name]: 131_072 for name in ("Llama-3.1-8B", "Llama-3.1-70B")
}
"""``max_position_embeddings`` of the shipped models; a model file does not say."""


@dataclass(frozen=True, slots=True)
class Memory:
    """The KV bytes that the verdict is about, as flags of the engine.

    Attributes
    ----------
    recommended_bytes : int
        Of question 3.
    asked_bytes : int or None
        The user's own capacity.
    kv_bytes, kv_tokens : int
        What the flags are for: the user's capacity; without one the recommendation, or what the
        GPU has room for if that is less.
    weights_bytes : int
        Two bytes a parameter.
    floor_bytes : int
        Of question 2.
    gpu_bytes : int or None
        As given by the user.
    room_bytes : int or None
        What 90 percent of the GPU leaves for KV after the weights (may be negative).
    fraction : float or None
        (weights + ``kv_bytes``) / GPU memory, rounded up to two decimals; None without a GPU size
        or room for it.
    fits : bool or None
        Whether that room holds ``floor_bytes``.
    holds : bool or None
        Whether it holds ``kv_bytes``.
    default_fraction : float
        What the engine takes by itself, near enough.
    default_holds : bool or None
        Whether that is enough, so that there is nothing to set.
    max_model_len : int or None
        What vLLM must be told so that it starts on ``kv_tokens`` alone; None where nothing need
        be said, or nothing can.
    flags : tuple of str
        What to type; alternatives of each other. Where the default holds it, only what the
        default needs to start.
    minimum : tuple of str
        Where the default holds it: the least that the flags may be set to.
    left_out : tuple of str
        What the translation does not know.
    """

    recommended_bytes: int
    asked_bytes: int | None
    kv_bytes: int
    kv_tokens: int
    weights_bytes: int
    floor_bytes: int
    gpu_bytes: int | None
    room_bytes: int | None
    fraction: float | None
    fits: bool | None
    holds: bool | None
    default_fraction: float
    default_holds: bool | None
    max_model_len: int | None
    flags: tuple[str, ...]
    minimum: tuple[str, ...]
    left_out: tuple[str, ...]


def weights_bytes(model: Model) -> int:
    """Two bytes a parameter; without embeddings where the model file has no vocabulary."""
    return 2 * (model.parameters_total if model.vocabulary else model.parameters)


def gpu_room(model: Model, gpu_gib: float) -> int:
    """Bytes for KV that `GPU_SHARE` of the memory leaves after the weights; may be negative."""
    return int(GPU_SHARE * gpu_gib * 2**30) - weights_bytes(model)


def _memory(
    engine: Engine,
    model: Model,
    size: BlockSize,
    block_tokens: int,
    asked: int | None,
    recommended: int,
    floor: int,
    longest: int,
    gpu_gib: float | None,
) -> Memory:
    """Bytes as flags.

    The fraction counts weights and KV only: exactly what SGLang's static fraction means, a lower
    bound of vLLM's, which must also cover activations.
    """
    weights, default = weights_bytes(model), DEFAULT_FRACTION[engine]
    gpu = room = fraction = fits = holds = default_holds = None
    target = recommended if asked is None else asked
    if gpu_gib is not None:
        gpu = int(gpu_gib * 2**30)
        room = gpu_room(model, gpu_gib)
        fits = room >= floor
        if fits and asked is None:
            target = min(recommended, room)
        holds = fits and target <= room
        if holds:
            fraction = math.ceil(100 * (weights + target) / gpu) / 100
            default_holds = fraction <= default
    tokens = target * block_tokens // size.block
    full = holds and target == room and target < recommended  # all that the GPU has
    keep = bool(default_holds) and not full
    flags: list[str] = []
    minimum: list[str] = []
    length, sentence = None, None
    if engine == "vllm" and holds is not False:
        length, sentence = _model_length(model, tokens, longest)
        tail = "" if length is None else f" --max-model-len {length}"
        if full:
            flags.append(f"--gpu-memory-utilization {default:.2f}{tail}")
        else:
            exact = minimum if keep else flags
            if fraction is not None:
                exact.append(f"--gpu-memory-utilization {fraction:.2f}{tail}")
            blocks = -(-tokens // VLLM_BLOCK_TOKENS) + 1  # block 0 is the server's own
            exact.append(f"--num-gpu-blocks-override {blocks}{tail}")
            if keep and room is not None:
                # The default leaves a little more than this room, and may still be too short.
                most, _ = _model_length(model, room * block_tokens // size.block, longest)
                flags += [] if most is None else [f"--max-model-len {most}"]
    elif fraction is not None:
        (minimum if keep else flags).append(f"--mem-fraction-static {fraction:.2f}")
    left_out = [
        "weights are taken as two bytes a parameter"
        + ("" if model.vocabulary else ", without embeddings (the model file has no vocabulary)"),
        "activations, CUDA graphs and the framework itself need room beyond this"
        + (", inside the same fraction" if engine == "vllm" else ""),
        (
            f"{'the recommendation' if asked is None else 'this size'} serves one request at a "
            "time: requests in service together, and what they generate, take their tokens from "
            "the same pool, so add them"
        ),
    ]
    if sentence is not None:
        left_out.append(sentence)
    return Memory(
        recommended_bytes=recommended,
        asked_bytes=asked,
        kv_bytes=target,
        kv_tokens=tokens,
        weights_bytes=weights,
        floor_bytes=floor,
        gpu_bytes=gpu,
        room_bytes=room,
        fraction=fraction,
        fits=fits,
        holds=holds,
        default_fraction=default,
        default_holds=default_holds,
        max_model_len=length,
        flags=tuple(flags),
        minimum=tuple(minimum),
        left_out=tuple(left_out),
    )


def _model_length(model: Model, tokens: int, longest: int) -> tuple[int | None, str | None]:
    """``--max-model-len`` where the cache is smaller than the model's context, and what to know.

    Parameters
    ----------
    model : Model
    tokens : int
        That the cache holds.
    longest : int
        Of the deepest request, prompt and output.
    """
    refusal = "vLLM does not start when the KV cache is smaller than one request of the full length"
    context, length = CONTEXT_TOKENS.get(model), tokens // VLLM_BLOCK_TOKENS * VLLM_BLOCK_TOKENS
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
