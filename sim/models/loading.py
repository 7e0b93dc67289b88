"""The one way to a model: by name, by ``config.json``, by our own file."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from cache_worthy.sim.errors import InputError
from cache_worthy.sim.models.fields import Fields, shown
from cache_worthy.sim.models.geometry import FeedForward, LayerGroup
from cache_worthy.sim.models.model import CONSTANTS, MODELS, Model
from cache_worthy.sim.models.precision import dtype_bits, weight_dtype

_REQUIRED = ("layers", "d_model", "heads", "kv_heads", "head_dim", "d_ff")
_MIXTURE = ("experts", "active_experts", "expert_d_ff", "shared_d_ff", "dense_layers")
_KNOWN = (*CONSTANTS, *_MIXTURE, "tied_embeddings")


def load_model(
    name: str,
    *,
    kv_dtype: str | None = None,
    weight_dtype: str | None = None,
    indexer_dtype: str | None = None,
) -> Model:
    """A shipped model by name, or one read from a JSON file.

    The file is a ``config.json`` as Hugging Face has it (or its folder), or holds an object with
    ``layers d_model heads kv_heads head_dim d_ff`` and optionally ``name dtype_bytes vocabulary``;
    with ``experts active_experts expert_d_ff`` and optionally ``shared_d_ff dense_layers`` it is a
    mixture of experts, with ``tied_embeddings`` the head is the embedding.

    Parameters
    ----------
    name : str
        A name in any of the spellings that `match_name` knows, or a path.
    kv_dtype, weight_dtype, indexer_dtype : str or None
        Precision of the KV cache, of the weights and of an indexer's keys; None for that of the
        model: 16 bits of KV cache, weights as its configuration says.

    Raises
    ------
    InputError
        For an unknown name, model type or precision, an unreadable file, a missing or unknown key,
        or a bad value.

    Examples
    --------
    >>> load_model("llama-3.1-8b").parameters
    6979321856
    >>> load_model("Qwen/Qwen3-32B", kv_dtype="fp8").dtype_bytes
    1
    """
    try:
        model, suffix = _from_file(name, quantised=weight_dtype is None) or _by_name(name)
    except InputError as error:
        quoted = name if name.isprintable() and len(name) <= 200 else shown(name)
        raise InputError(f"--model {quoted}: {error}") from error.__cause__
    weights = suffix if weight_dtype is None else weight_dtype
    return with_dtypes(model, kv=kv_dtype, weights=weights, index=indexer_dtype)


def _by_name(name: str) -> tuple[Model, str | None]:
    """A shipped model, and the precision of weights that its name says."""
    for label, model in MODELS.items():
        if name.lower() == label.lower():
            return model, None
    # The other models take a file and its readers: only when asked for.
    from cache_worthy.sim.models.catalogue import catalogue, matched, shipped_model

    found = matched(name)
    if found is None:
        others = len(catalogue()) - len(MODELS)
        raise InputError(
            f"expected one of {', '.join(MODELS)} or the other {others} names of "
            f"`cache-worthy models`, a config.json, or a JSON file with {' '.join(_REQUIRED)}"
        )
    return shipped_model(found[0]), found[1]


def with_dtypes(model: Model, *, kv: str | None, weights: str | None, index: str | None) -> Model:
    """A model at other precisions; None leaves one as it is."""
    if kv is not None:
        size = Fraction(dtype_bits("--kv-dtype", kv), 8)
        model = replace(model, dtype_bytes=int(size) if size.denominator == 1 else size)
    if weights is None and index is None:
        return model
    precision = model.weights if weights is None else weight_dtype(weights)
    width = model.index_width  # fixed where the model has its own
    if index is not None:
        asked = dtype_bits("--indexer-dtype", index)
        width = asked if width is None else width
    return replace(model, weights=precision, index_width=width)


def _from_file(name: str, *, quantised: bool) -> tuple[Model, None] | None:
    """The model of a file, None where the name is none."""
    in_folder = os.path.join(name, "config.json")
    if os.path.isfile(in_folder):
        path = Path(in_folder)
    elif name.endswith(".json") or os.path.isfile(name):
        path = Path(name)
    else:
        return None
    try:
        data = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InputError(f"cannot read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"not JSON: {error}") from error
    if not isinstance(data, dict):
        raise InputError(f"expected a JSON object with {' '.join(_REQUIRED)}")
    title = path.parent.name if path.stem == "config" and path.parent.name else path.stem
    if "model_type" in data or "architectures" in data:
        from cache_worthy.sim.models.catalogue import from_config

        return from_config(title, data, quantised=quantised), None
    return _own_file({"name": title, **data}), None


def _own_file(data: Mapping[str, Any]) -> Model:
    """A model from the keys of this project."""
    missing = [k for k in _REQUIRED if k not in data]
    unknown = [k for k in data if k not in _KNOWN]
    if missing or unknown:
        what = f"lacks {' '.join(missing)}" if missing else f"unknown key {shown(unknown[0])}"
        raise InputError(f"{what}; expected {' '.join(_REQUIRED)}")
    constants = {k: v for k, v in data.items() if k not in (*_MIXTURE, "tied_embeddings")}
    if constants.get("dtype_bytes") == 0.5:
        constants["dtype_bytes"] = Fraction(1, 2)
    plain = Model(**constants)
    rest = Fields({k: v for k, v in data.items() if k not in constants})
    if "experts" not in rest and "tied_embeddings" not in rest:
        return _named_after(plain)
    dense_layers = rest.integer("dense_layers", 0, least=0)
    if dense_layers > plain.layers:
        raise InputError(f"dense_layers: expected {plain.layers} at most, got {dense_layers}")
    (group,) = plain.geometry.groups
    mixture = group.feed_forward
    if "experts" in rest:
        mixture = FeedForward(
            experts=rest.integer("experts"),
            active=rest.integer("active_experts"),
            expert_width=rest.integer("expert_d_ff"),
            shared_width=rest.integer("shared_d_ff", 0, least=0),
        )
        if mixture.active > mixture.experts:
            raise InputError(f"active_experts: expected {mixture.experts} at most")
    groups = (
        replace(group, count=dense_layers),
        LayerGroup(plain.layers - dense_layers, group.mixer, mixture),
    )
    geometry = replace(
        plain.geometry,
        groups=tuple(g for g in groups if g.count),
        tied=rest.flag("tied_embeddings"),
    )
    return replace(plain, layered=geometry)


def _named_after(plain: Model) -> Model:
    """The shipped model that a file names and agrees with, for its experts, else ``plain``."""
    from cache_worthy.sim.models.catalogue import match_name, shipped_model

    shipped = match_name(plain.name)
    if shipped is None:
        return plain
    known = shipped_model(shipped)
    agree = all(
        getattr(plain, name) == getattr(known, name)
        for name in CONSTANTS
        if name not in ("name", "dtype_bytes") and (name != "vocabulary" or plain.vocabulary)
    )
    return replace(known, name=plain.name, dtype_bytes=plain.dtype_bytes) if agree else plain
