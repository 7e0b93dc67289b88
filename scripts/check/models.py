"""Shipped models against published geometries and bytes, model by model.

    python scripts/check/models.py FOLDER

FOLDER holds two files of facts as kvcache-ai/kvcache-blog publishes them: geometries.json (fields of
each model's configuration and the name of its formula) and kv_bytes_per_token.json (bytes per token at
several precisions). The formulas are written here once more, from those fields alone. Prints one line
per model. Evidence: rank 1.

Exit codes: 0 every number is equal, 1 one differs or a model is missing, 2 no folder.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cache_worthy.sim.models.catalogue import catalogue, match_name
from cache_worthy.sim.models.loading import load_model
from cache_worthy.sim.models.memory import kv_bytes_per_token, state_bytes

LENGTHS = (1, 127, 128, 129, 1000, 4096, 5000, 131_072)
DTYPES = {"bf16_fp16": "bf16", "fp8_int8": "fp8", "fp4_int4": "fp4"}
Facts = Mapping[str, Any]
"""Fields of a configuration: integers, but for a list of ratios."""


def elements(formula: str, f: Facts, n: int) -> tuple[int, int]:
    """Cached elements of ``n`` tokens, and those of an indexer's keys."""
    layers, heads = f["num_hidden_layers"], f.get("num_key_value_heads", 0)
    if formula == "standard_gqa":
        return n * layers * 2 * heads * f["head_dim"], 0
    if formula in ("mla", "dsa_mla"):
        index = f.get("indexer_full_layers", layers) * f.get("index_head_dim", 0)
        return n * layers * (f["kv_lora_rank"] + f["qk_rope_head_dim"]), n * index
    if formula == "qwen_linear_full_hybrid":
        return n * f["full_attention_layers"] * 2 * heads * f["head_dim"], 0
    if formula == "kimi_kda_mla_hybrid":
        return n * f["full_attention_layers"] * (f["kv_lora_rank"] + f["qk_rope_head_dim"]), 0
    if formula == "minimax_msa":
        index = f["sparse_attention_layers"] * f["index_head_dim"]
        return n * layers * 2 * heads * f["head_dim"], n * index
    if formula in ("mixed_full_sliding_gqa", "inkling_hybrid"):
        width = f.get("global_head_dim", f["head_dim"])
        full = f.get("num_global_key_value_heads", heads) * (width + f.get("v_head_dim", width))
        width = f.get("swa_head_dim", f["head_dim"])
        near = f.get("swa_num_key_value_heads", heads)
        near *= width + f.get("swa_v_head_dim", f.get("v_head_dim", width))
        held = min(n, f["sliding_window"])
        return n * f["full_attention_layers"] * full + held * f[
            "sliding_attention_layers"
        ] * near, 0
    if formula == "deepseek_v4_hybrid":
        ratios = f["compress_ratios"][:layers]
        summaries = sum(n // ratio for ratio in ratios if ratio)
        window = layers * min(n, f["sliding_window"])
        index = sum(n // 4 for ratio in ratios if ratio == 4)
        return (window + summaries) * f["head_dim"], index * f["index_head_dim"]
    raise ValueError(f"no formula named {formula}")


def state(formula: str, f: Mapping[str, int]) -> int:
    """Bytes of recurrent state per sequence."""
    if formula == "qwen_linear_full_hybrid":
        keys = f["linear_num_key_heads"] * f["linear_key_head_dim"]
        values = f["linear_num_value_heads"] * f["linear_value_head_dim"]
        convolution = (f["linear_conv_kernel_dim"] - 1) * (2 * keys + values) * 2
        return f["linear_attention_layers"] * (convolution + values * f["linear_key_head_dim"] * 4)
    if formula == "kimi_kda_mla_hybrid":
        width = f["kda_num_heads"] * f["kda_head_dim"]
        convolution = (f["kda_conv_kernel_size"] - 1) * 3 * width * 2
        return f["kda_layers"] * (convolution + width * f["kda_head_dim"] * 4)
    if formula == "inkling_hybrid":
        far = 2 * f["num_key_value_heads"] * f["head_dim"] + 2 * f["hidden_size"]
        near = 2 * f["swa_num_key_value_heads"] * f["swa_head_dim"] + 2 * f["hidden_size"]
        both = f["full_attention_layers"] * far + f["sliding_attention_layers"] * near
        return (f["sconv_kernel_size"] - 1) * both * 2
    return 0


def faults_of_geometry(fact: Facts) -> list[str]:
    """What differs between a shipped model and the published fields of it."""
    name, formula, f = fact["id"], fact["formula"], fact["fields"]
    if match_name(name) != name or name not in catalogue():
        return ["not shipped"]
    model = load_model(name)
    found = [
        f"{n} tokens: {got} elements, expected {expected}"
        for n in LENGTHS
        if (got := (model.geometry.cached(n), model.geometry.indexed(n)))
        != (expected := elements(formula, f, n))
    ]
    if state_bytes(model) != state(formula, f):
        found.append(f"{state_bytes(model)} bytes of state, expected {state(formula, f)}")
    if model.layers != f["num_hidden_layers"]:
        found.append(f"{model.layers} layers, expected {f['num_hidden_layers']}")
    return found


def faults_of_bytes(fact: Facts) -> list[str]:
    """Whether the published bytes per token come out."""
    indexer = fact["indexer"]
    model = load_model(
        fact["model"],
        kv_dtype=DTYPES[fact["kv"]],
        indexer_dtype=DTYPES[indexer] if indexer else None,
    )
    got, expected = kv_bytes_per_token(model), fact["bytes_per_token"]
    return [] if got == expected else [f"{fact['kv']}: {got} bytes, expected {expected}"]


def main(argv: list[str]) -> int:
    """Compare and print."""
    if len(argv) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    folder = Path(argv[0])
    geometries = json.loads((folder / "geometries.json").read_text(encoding="utf-8"))
    published = json.loads((folder / "kv_bytes_per_token.json").read_text(encoding="utf-8"))
    faults = 0
    for fact in geometries:
        found = faults_of_geometry(fact)
        rows = [row for row in published if row["model"] == fact["id"]]
        for row in rows if found != ["not shipped"] else []:
            found += faults_of_bytes(row)
        faults += bool(found)
        print(f"{fact['id']:<31}{len(rows):>3} figures  {'; '.join(found) or 'equal'}")
    print(f"{len(geometries)} models, {len(published)} figures, {faults} models differ")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
