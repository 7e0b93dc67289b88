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
    """The KV bytes that the verdict is about, as flags of the engine."""

    recommended_bytes: int
    """Of question 3."""
    asked_bytes: int | None
    """The user's own capacity."""
    kv_bytes: int
    """What the flags are for: the user's capacity; without one the recommendation, or what the GPU
    has room for if that is less."""
    kv_tokens: int
    weights_bytes: int
    """Two bytes a parameter."""
    floor_bytes: int
    """Of question 2."""
    gpu_bytes: int | None
    """As given by the user."""
    room_bytes: int | None
    """What 90 percent of the GPU leaves for KV after the weights (may be negative)."""
    fraction: float | None
    """(weights + ``kv_bytes``) / GPU memory, rounded up to two decimals; None without a GPU size or
    room for it."""
    fits: bool | None
    """Whether that room holds ``floor_bytes``."""
    holds: bool | None
    """Whether it holds ``kv_bytes``."""
    default_fraction: float
    """What the engine takes by itself, near enough."""
    default_holds: bool | None
    """Whether that is enough, so that there is nothing to set."""
    max_model_len: int | None
    """What vLLM must be told so that it starts on ``kv_tokens`` alone; None where nothing need be
    said, or nothing can."""
    flags: tuple[str, ...]
    """What to type; alternatives of each other. Where the default holds it, only what the default
    needs to start."""
    minimum: tuple[str, ...]
    """Where the default holds it: the least that the flags may be set to."""
    left_out: tuple[str, ...]
    """What the translation does not know."""


def weights_bytes(model: Model) -> int:
    """Two bytes a parameter; without embeddings where the model file has no vocabulary."""
    return 2 * (model.parameters_total if model.vocabulary else model.parameters)


def gpu_room(model: Model, gpu_gib: float) -> int:
    """Bytes for KV that `GPU_SHARE` of the memory leaves after the weights; may be negative."""
    return int(GPU_SHARE * gpu_gib * 2**30) - weights_bytes(model)


@dataclass(frozen=True, slots=True)
class Demand:
    """What is asked of the memory, in bytes of KV cache."""

    asked: int | None
    """The user's own capacity."""
    recommended: int
    """Of questions 3 and 2."""
    floor: int
    """Of questions 3 and 2."""
    longest: int
    """Tokens of the deepest request, prompt and output."""


@dataclass(frozen=True, slots=True)
class _Fit:
    """What the GPU holds: fields of :class:`Memory`; ``full`` where it is all that the GPU has."""

    target: int
    gpu: int | None = None
    room: int | None = None
    fraction: float | None = None
    fits: bool | None = None
    holds: bool | None = None
    default_holds: bool | None = None
    full: bool = False

    @property
    def keeps_default(self) -> bool:
        """Whether there is nothing to set."""
        return bool(self.default_holds) and not self.full


@dataclass(frozen=True, slots=True)
class _Flags:
    """What to type, the least of it, and what to know of the length: fields of :class:`Memory`."""

    flags: tuple[str, ...] = ()
    minimum: tuple[str, ...] = ()
    max_model_len: int | None = None
    sentence: str | None = None


def measure_memory(
    engine: Engine, size: BlockSize, demand: Demand, *, gpu_gib: float | None
) -> Memory:
    """Bytes as flags.

    The fraction counts weights and KV only: exactly what SGLang's static fraction means, a lower
    bound of vLLM's, which must also cover activations.
    """
    fit = _fit(engine, size.model, demand, gpu_gib=gpu_gib)
    found = _vllm(size, demand, fit) if engine == "vllm" else _sglang(fit)
    return Memory(
        recommended_bytes=demand.recommended,
        asked_bytes=demand.asked,
        kv_bytes=fit.target,
        kv_tokens=_tokens(fit.target, size),
        weights_bytes=weights_bytes(size.model),
        floor_bytes=demand.floor,
        gpu_bytes=fit.gpu,
        room_bytes=fit.room,
        fraction=fit.fraction,
        fits=fit.fits,
        holds=fit.holds,
        default_fraction=DEFAULT_FRACTION[engine],
        default_holds=fit.default_holds,
        max_model_len=found.max_model_len,
        flags=found.flags,
        minimum=found.minimum,
        left_out=_left_out(engine, size.model, demand, sentence=found.sentence),
    )


def _tokens(bytes_: int, size: BlockSize) -> int:
    return bytes_ * size.block_tokens // size.block


def _fit(engine: Engine, model: Model, demand: Demand, *, gpu_gib: float | None) -> _Fit:
    """Whether the GPU holds it; without a GPU the demand alone."""
    target = demand.recommended if demand.asked is None else demand.asked
    if gpu_gib is None:
        return _Fit(target)
    gpu, room = int(gpu_gib * 2**30), gpu_room(model, gpu_gib)
    fits = room >= demand.floor
    if fits and demand.asked is None:
        target = min(demand.recommended, room)
    if not fits or target > room:
        return _Fit(target, gpu=gpu, room=room, fits=fits, holds=False)
    fraction = math.ceil(100 * (weights_bytes(model) + target) / gpu) / 100
    return _Fit(
        target=target,
        gpu=gpu,
        room=room,
        fraction=fraction,
        fits=True,
        holds=True,
        default_holds=fraction <= DEFAULT_FRACTION[engine],
        full=room == target < demand.recommended,
    )


def _sglang(fit: _Fit) -> _Flags:
    if fit.fraction is None:
        return _Flags()
    flag = (f"--mem-fraction-static {fit.fraction:.2f}",)
    return _Flags(minimum=flag) if fit.keeps_default else _Flags(flags=flag)


def _vllm(size: BlockSize, demand: Demand, fit: _Fit) -> _Flags:
    if fit.holds is False:
        return _Flags()
    length, sentence = _model_length(size.model, _tokens(fit.target, size), demand.longest)
    tail = "" if length is None else f" --max-model-len {length}"
    if fit.full:
        flags = (f"--gpu-memory-utilization {DEFAULT_FRACTION['vllm']:.2f}{tail}",)
        return _Flags(flags=flags, max_model_len=length, sentence=sentence)
    exact = []
    if fit.fraction is not None:
        exact.append(f"--gpu-memory-utilization {fit.fraction:.2f}{tail}")
    blocks = -(-_tokens(fit.target, size) // VLLM_BLOCK_TOKENS) + 1  # block 0 is the server's own
    exact.append(f"--num-gpu-blocks-override {blocks}{tail}")
    if not fit.keeps_default or fit.room is None:
        return _Flags(flags=tuple(exact), max_model_len=length, sentence=sentence)
    # The default leaves a little more than this room, and may still be too short.
    most, _ = _model_length(size.model, _tokens(fit.room, size), demand.longest)
    start = () if most is None else (f"--max-model-len {most}",)
    return _Flags(flags=start, minimum=tuple(exact), max_model_len=length, sentence=sentence)


def _left_out(
    engine: Engine, model: Model, demand: Demand, *, sentence: str | None
) -> tuple[str, ...]:
    """What the translation does not know."""
    whose = "the recommendation" if demand.asked is None else "this size"
    left_out = [
        "weights are taken as two bytes a parameter"
        + ("" if model.vocabulary else ", without embeddings (the model file has no vocabulary)"),
        "activations, CUDA graphs and the framework itself need room beyond this"
        + (", inside the same fraction" if engine == "vllm" else ""),
        (
            f"{whose} serves one request at a time: requests in service together, and what they "
            "generate, take their tokens from the same pool, so add them"
        ),
    ]
    return (*left_out, *([] if sentence is None else [sentence]))


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
