"""Bits of an element of the KV cache, of an indexer's keys, and of each kind of weight.

What quantisation adds per group of weights (scales, zero points) counts with the weights. Scales of a
quantised KV cache do not: engines keep one per tensor.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from cache_worthy.sim.errors import InputError
from cache_worthy.sim.models.fields import Fields, shown
from cache_worthy.sim.models.layers import Part

BITS: Mapping[str, int] = {
    "fp32": 32,
    "bf16": 16,
    "fp16": 16,
    "fp8": 8,
    "int8": 8,
    "fp4": 4,
    "int4": 4,
}
"""Bits of an element, by the names of ``--kv-dtype`` and ``--weight-dtype``."""

SPELLINGS: Mapping[str, str] = {
    "float32": "fp32",
    "bfloat16": "bf16",
    "float16": "fp16",
    "half": "fp16",
    "fp8_e4m3": "fp8",
    "fp8_e5m2": "fp8",
    "nvfp4": "fp4",
    "mxfp4": "fp4",
    "bf16_fp16": "bf16",
    "fp8_int8": "fp8",
    "fp4_int4": "fp4",
}
"""Other spellings, such as those of servers."""


def dtype_bits(option: str, name: str) -> int:
    """Bits of an element, by name.

    Raises
    ------
    InputError
        For an unknown name.

    Examples
    --------
    >>> dtype_bits("--kv-dtype", "fp8_e4m3")
    8
    """
    known = SPELLINGS.get(name.lower(), name.lower())
    if known not in BITS:
        raise InputError(f"{option} {name}: expected one of {', '.join(BITS)}")
    return BITS[known]


MATRICES = ("attention", "indexer", "dense", "experts", "shared")
"""Parts that quantisation covers; embeddings, head, router, norms and recurrences stay as they are."""


@dataclass(frozen=True, slots=True)
class WeightPrecision:
    """Bits of a weight: of the ``quantised`` parts, with their scales, and of all ``others``."""

    quantised: tuple[tuple[str, Fraction], ...] = ()
    others: int = 16

    def bits(self, parts: Iterable[Part]) -> Fraction:
        """Bits of these weights together."""
        known = dict(self.quantised)
        return sum(
            (part.elements * known.get(part.name, Fraction(self.others)) for part in parts),
            Fraction(0),
        )


def covering(bits: Fraction, parts: Iterable[str] = MATRICES) -> WeightPrecision:
    """The same bits for these parts, 16 for the rest."""
    return WeightPrecision(tuple((name, bits) for name in parts))


def weight_dtype(name: str) -> WeightPrecision:
    """What ``--weight-dtype`` means: all matrices in it, without scales.

    Raises
    ------
    InputError
        For an unknown name.
    """
    bits = dtype_bits("--weight-dtype", name)
    if bits >= 16:
        return WeightPrecision(others=bits)
    return covering(Fraction(bits))


def _grouped(fields: Fields, bits: int, scale_bits: int) -> Fraction:
    """Bits of a weight with a scale of ``scale_bits`` per group."""
    group = fields.raw("group_size")
    if group in (None, -1, 0):
        return Fraction(bits)
    return bits + Fraction(scale_bits, fields.integer("group_size"))


def _blocked(fields: Fields) -> Fraction:
    """Eight bits, with a 32-bit scale per block where there are blocks."""
    block = fields.raw("weight_block_size")
    if block is None:
        return Fraction(8)
    if not isinstance(block, list) or not block or not all(type(b) is int and b > 0 for b in block):
        raise InputError(f"weight_block_size: expected a list of integers, got {shown(block)}")
    return 8 + Fraction(32, math.prod(block))


def _left_out(fields: Fields, *names: str) -> tuple[str, ...]:
    """The parts that a list of modules leaves as they are."""
    listed: list[object] = []
    for name in names:
        value = fields.raw(name)
        if value is not None and not isinstance(value, list):
            raise InputError(f"{name}: expected a list, got {shown(value)}")
        listed += value or []
    text = " ".join(str(entry) for entry in listed)
    marks = {
        # Whole layers only: where output projections alone are left out (MiMo-V2) that is 1%.
        "attention": ("self_attn.*", "self_attn ", "linear_attn"),
        "shared": ("shared_expert",),
        "dense": (r"mlp\.(gate|up|gate_up|down)_proj", "mlp.gate_proj", "mlp.down_proj"),
        "indexer": ("indexer",),
    }
    return tuple(p for p, found in marks.items() if any(m in f"{text} " for m in found))


def _compressed_tensors(fields: Fields) -> WeightPrecision:
    groups = fields.inner("config_groups")
    first = groups.inner("group_0") if groups else None
    weights = first.inner("weights") if first else None
    if weights is None:
        raise InputError("quantization_config: config_groups.group_0.weights: missing")
    bits = weights.integer("num_bits")
    scale = 8 if weights.text("type") == "float" and bits == 4 else 16
    kept = _left_out(fields, "ignore")
    return covering(_grouped(weights, bits, scale), [p for p in MATRICES if p not in kept])


def _modelopt(fields: Fields) -> WeightPrecision:
    algorithm = (fields.text("quant_algo") or "").upper()
    kept = _left_out(fields, "ignore", "exclude_modules")
    parts = [p for p in MATRICES if p not in kept]
    if algorithm == "FP8":
        return covering(Fraction(8), parts)
    if algorithm == "NVFP4":
        return covering(4 + Fraction(8, 16), parts)
    raise InputError(f"quantization_config: quant_algo: expected FP8 or NVFP4, got {algorithm!r}")


def read_quantisation(config: Fields) -> WeightPrecision:
    """The precision of the weights that a ``config.json`` describes.

    Raises
    ------
    InputError
        For a method that is not understood.
    """
    fields = config.inner("quantization_config")
    if fields is None:
        return WeightPrecision()
    method = fields.text("quant_method")
    if method == "mxfp4":  # gpt-oss: experts only, a scale of 8 bits per 32 weights
        return covering(4 + Fraction(8, 32), ["experts"])
    if method in ("fp8", "fbgemm_fp8", "finegrained_fp8"):
        kept = _left_out(fields, "modules_to_not_convert", "ignored_layers")
        bits = _blocked(fields)
        found = covering(bits, [p for p in MATRICES if p not in kept])
        if config.text("expert_dtype") == "fp4":
            experts = ("experts", 4 + Fraction(8, 32))
            found = WeightPrecision((*(p for p in found.quantised if p[0] != "experts"), experts))
        return found
    if method == "mxfp8":
        return covering(8 + Fraction(8, 32))
    if method in ("gptq", "awq", "auto-round"):
        width = fields.integer("bits")
        return covering(_grouped(fields, width, 16 + width))
    if method == "bitsandbytes":
        # Blocks of 64 weights with a 32-bit scale each.
        return covering(4 + Fraction(32, 64) if fields.flag("load_in_4bit") else Fraction(8))
    if method == "compressed-tensors":
        return _compressed_tensors(fields)
    if method == "modelopt":
        return _modelopt(fields)
    raise InputError(
        f"quantization_config: quant_method {shown(method)} is not known; known: auto-round, awq, "
        "bitsandbytes, compressed-tensors, fbgemm_fp8, finegrained_fp8, fp8, gptq, modelopt, mxfp4, "
        "mxfp8; --weight-dtype says it instead"
    )
