"""The shipped models.

``shipped.json`` holds the fields of each model's published configuration, with its address; the
readers of `cache_worthy.sim.models.config` make models of them, as of any other configuration.

A name, as people, logs and servers write it, is compared by its letters and digits, after the
publisher before the last slash and suffixes that do not change the architecture (``-Instruct``,
``-it``, a four-digit release, a quantisation) are taken off. What is left has to be a shipped name or
an alias exactly: a dated name of an API (``gpt-4o-2024-08-06``) is neither.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from cache_worthy.sim.models.config import read_config, text_fields
from cache_worthy.sim.models.geometry import Geometry
from cache_worthy.sim.models.layers import Attention, Compressed, Latent
from cache_worthy.sim.models.model import MODELS, Model
from cache_worthy.sim.models.precision import WeightPrecision, dtype_bits, read_quantisation

SUFFIX = re.compile(
    r"[-_:@ .](?P<last>instruct|chat|it|base|hf|pt|thinking|versatile|instant|maas|free|latest|turbo|"
    r"tee|text|quantized|unsloth|bnb|v\d+:0|v0[.]\d|\d{4}|"
    r"(?P<bits>bf16|fp16|fp8|fp8[-_]dynamic|fp4|nvfp4|mxfp4|int8|int4|awq|gptq|gptq[-_]int4|w8a8|w4a16|"
    r"[48]bit|gguf|q\d(_[0-9a-z]+)*))$"
)
WEIGHTS = {
    "fp8": "fp8",
    "fp8dynamic": "fp8",
    "w8a8": "int8",
    "int8": "int8",
    "8bit": "int8",
    "fp4": "fp4",
    "nvfp4": "fp4",
    "mxfp4": "fp4",
    "int4": "int4",
    "awq": "int4",
    "gptq": "int4",
    "gptqint4": "int4",
    "w4a16": "int4",
    "4bit": "int4",
}
"""Precision of the weights that a suffix names; those of llama.cpp change nothing."""

PUBLISHERS = [
    "meta",
    "mistralai",
    "mistral",
    "deepseek",
    "qwen",
    "google",
    "cohere",
    "us",
    "openai",
]


def key(name: str) -> str:
    """What of a name is compared.

    Examples
    --------
    >>> key("Llama-3.1-8B") == key("llama-v3p1-8b") == key("llama3.1:8b")
    True
    """
    text = re.sub(r"(?<=[-v])(\d+)p(?=\d)", r"\1.", name.lower())
    text = re.sub(r"(?<![a-z0-9])v(?=\d[.])", "", text)
    return re.sub(r"[^a-z0-9]", "", text)


def candidates(name: str) -> list[tuple[str, str | None]]:
    """Keys to look up, the most exact first, each with the weights' precision that the name gives."""
    text = name.strip().lower().rsplit("/", 1)[-1]
    found: list[tuple[str, str | None]] = []
    weights: str | None = None
    while True:
        found.append((key(text), weights))
        for publisher in PUBLISHERS:
            if text.startswith((f"{publisher}-", f"{publisher}.")):
                found.append((key(text[len(publisher) + 1 :]), weights))
        cut = SUFFIX.search(text)
        if cut is None:
            return found
        if weights is None and cut["bits"]:
            weights = WEIGHTS.get(key(cut["bits"]))
        text = text[: cut.start()]


@dataclass(frozen=True, slots=True)
class Shipped:
    """A model of ``shipped.json``.

    Attributes
    ----------
    name, label : str
        In lower case, and as its publisher writes it.
    source : str
        Address of its configuration.
    config : mapping
    aliases : sequence of str
    counts_embedding : bool
        Whether its publisher counts the input embedding among the active parameters.
    indexer_dtype : str or None
        Precision of an indexer's keys where it does not follow that of the KV cache.
    """

    name: str
    label: str
    source: str
    config: Mapping[str, Any]
    aliases: Sequence[str] = ()
    counts_embedding: bool = False
    indexer_dtype: str | None = None


@lru_cache(maxsize=1)
def catalogue() -> Mapping[str, Shipped]:
    """All shipped models by name."""
    text = Path(__file__).with_name("shipped.json").read_text(encoding="utf-8")
    entries = (Shipped(**entry) for entry in json.loads(text))
    return {entry.name: entry for entry in entries}


@lru_cache(maxsize=1)
def _keys() -> Mapping[str, str]:
    return {
        key(spelling): name
        for name, entry in catalogue().items()
        for spelling in (name, entry.label, *entry.aliases)
    }


def matched(name: str) -> tuple[str, str | None] | None:
    """The shipped model that a name means, and the precision of weights that it names."""
    for found, weights in candidates(name):
        if found in _keys():
            return _keys()[found], weights
    return None


def match_name(name: str) -> str | None:
    """The shipped model that a log or a server means by a name, None for none of them.

    Examples
    --------
    >>> match_name("meta-llama/Llama-3.1-8B-Instruct")
    'llama-3.1-8b'
    >>> match_name("gpt-4o-2024-08-06") is None
    True
    """
    found = matched(name)
    return found[0] if found else None


@lru_cache(maxsize=256)
def shipped_model(name: str) -> Model:
    """A shipped model by its exact name, 16 bits of KV cache per element."""
    entry = catalogue()[name]
    if entry.label in MODELS:
        return MODELS[entry.label]
    model = from_config(entry.label, entry.config)
    if entry.indexer_dtype is not None:
        return replace(model, index_width=dtype_bits("--indexer-dtype", entry.indexer_dtype))
    plain = replace(model, layered=None)
    same = replace(plain.geometry, context=model.geometry.context) == model.geometry
    return plain if same and model.weights == WeightPrecision() else model


def from_config(name: str, config: Mapping[str, Any], *, quantised: bool = True) -> Model:
    """The model that a ``config.json`` describes, its quantisation left unread if not ``quantised``."""
    geometry = read_config(config)
    _, text = text_fields(config)
    return _layered(name, geometry, read_quantisation(text) if quantised else WeightPrecision())


def _layered(name: str, geometry: Geometry, precision: WeightPrecision) -> Model:
    """A model whose constants are those of its widest attention."""
    heads, kv_heads, width = 1, 1, 1
    narrow = None
    for mixer in (g.mixer for g in geometry.groups):
        if isinstance(mixer, Latent):
            heads, kv_heads, width = mixer.heads, mixer.heads, mixer.nope + mixer.rope
        elif isinstance(mixer, Compressed):
            heads, kv_heads, width = mixer.heads, 1, mixer.head_dim
        elif isinstance(mixer, Attention):
            narrow = mixer.heads, mixer.kv_heads, mixer.key_dim
            if mixer.stores and mixer.reach is None:
                heads, kv_heads, width = narrow
    if (heads, kv_heads, width) == (1, 1, 1) and narrow:
        heads, kv_heads, width = narrow
    return Model(
        name,
        geometry.layers,
        geometry.d_model,
        heads=heads,
        kv_heads=kv_heads,
        head_dim=width,
        d_ff=max((g.feed_forward.passed for g in geometry.groups if g.feed_forward), default=1),
        vocabulary=geometry.vocabulary,
        layered=geometry,
        weights=precision,
    )


def active_parameters(entry: Shipped) -> int:
    """Parameters that one token uses, counted as the publisher counts."""
    model = shipped_model(entry.name)
    embedding = model.vocabulary * model.d_model if entry.counts_embedding else 0
    return model.parameters_active + embedding
