"""A model's ``config.json`` as Hugging Face has it: the reader of each ``model_type``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from cache_worthy.sim.errors import InputError
from cache_worthy.sim.models.fields import Fields, shown
from cache_worthy.sim.models.geometry import Geometry
from cache_worthy.sim.models.hybrid import (
    read_gated_delta,
    read_gemma4,
    read_inkling,
    read_llama4,
    read_mimo,
    read_minimax_m3,
    read_nemotron_h,
)
from cache_worthy.sim.models.latent import read_deepseek_v4, read_kimi_linear, read_latent
from cache_worthy.sim.models.plain import TRAITS, read_plain

READERS: Mapping[str, Callable[[Fields], Geometry]] = {
    "deepseek_v2": read_latent,
    "deepseek_v3": read_latent,
    "deepseek_v32": read_latent,
    "deepseek_v4": read_deepseek_v4,
    "gemma4_text": read_gemma4,
    "glm4_moe_lite": read_latent,
    "glm_moe_dsa": read_latent,
    "inkling_text": read_inkling,
    "kimi_k2": read_latent,
    "kimi_linear": read_kimi_linear,
    "llama4_text": read_llama4,
    "mimo_v2": read_mimo,
    "minimax_m3": read_minimax_m3,
    "nemotron_h": read_nemotron_h,
    "qwen3_5_moe_text": read_gated_delta,
    "qwen3_5_text": read_gated_delta,
    "qwen3_next": read_gated_delta,
}
"""Readers of model types that are no row of `TRAITS`."""

SAME: Mapping[str, str] = {
    "gemma3": "gemma3_text",
    "gemma4": "gemma4_text",
    "inkling_mm_model": "inkling_text",
    "inkling_model": "inkling_text",
    "kimi_k25": "kimi_k2",
    "kimi_k3": "kimi_linear",
    "llama4": "llama4_text",
    "minimax_m3_vl": "minimax_m3",
    "mistral3": "mistral",
    "qwen2_5_vl": "qwen2",
    "qwen2_5_vl_text": "qwen2",
    "qwen2_vl": "qwen2",
    "qwen2_vl_text": "qwen2",
    "qwen3_5": "qwen3_5_text",
    "qwen3_5_moe": "qwen3_5_moe_text",
    "qwen3_vl": "qwen3",
    "qwen3_vl_moe": "qwen3_moe",
    "qwen3_vl_moe_text": "qwen3_moe",
    "qwen3_vl_text": "qwen3",
}
"""Model types whose text model is another's."""

KNOWN = tuple(sorted({*TRAITS, *READERS, *SAME}))


def text_fields(config: Mapping[str, Any]) -> tuple[str, Fields]:
    """The model type and the fields of the text model; those of a nested one come first."""
    outer = Fields(config)
    kind = outer.text("model_type")
    inner = outer.inner("text_config")
    if inner is None:
        return _type(kind), outer
    nested = config["text_config"]
    own = inner.text("model_type")
    merged = {**config, **{k: v for k, v in nested.items() if v is not None}}
    try:
        return _type(own or kind), Fields(merged)
    except InputError:
        return _type(kind), Fields(merged)


def _type(kind: str | None) -> str:
    if kind is None:
        raise InputError(f"model_type: missing; expected one of {', '.join(KNOWN)}")
    if kind not in KNOWN:
        raise InputError(f"model_type: {shown(kind)} is not known; known: {', '.join(KNOWN)}")
    return SAME.get(kind, kind)


def read_config(config: Mapping[str, Any]) -> Geometry:
    """The geometry that a configuration describes.

    Raises
    ------
    InputError
        For a model type or a kind of layer that is not understood, and for a bad value; the message
        starts with the field.
    """
    kind, fields = text_fields(config)
    if kind in TRAITS:
        return read_plain(fields, TRAITS[kind])
    return READERS[kind](fields)
