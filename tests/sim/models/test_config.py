"""``config.json`` of real architectures, and values that no configuration has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from model_configs import (
    COHERE2,
    DEEPSEEK,
    GEMMA,
    GEMMA3,
    GLM4_MOE,
    GPT_OSS,
    KIMI_K25,
    LLAMA,
    MISTRAL_V01,
    MIXTRAL,
    OLMOE,
    PHI3,
    QWEN2,
    QWEN2_MOE,
    QWEN3_MOE,
    QWEN3_NEXT,
)

from cache_worthy.sim.errors import InputError
from cache_worthy.sim.models.config import KNOWN
from cache_worthy.sim.models.loading import load_model
from cache_worthy.sim.models.memory import kv_bytes_of, kv_bytes_per_token, weights_bytes

#: Configuration, parameters in all, bytes per token (None: depends on the context), kind.
READ: list[tuple[dict[str, Any], int | None, int | None, str]] = [
    (LLAMA, 8_030_261_248, 131_072, "gqa"),
    (QWEN2, 7_615_616_512, 57_344, "gqa"),
    (QWEN3_MOE, 30_532_122_624, 98_304, "gqa, moe"),
    (QWEN2_MOE, 14_315_784_192, 196_608, "gqa, moe"),
    (DEEPSEEK, 671_026_419_200, 70_272, "mla, moe"),
    (GEMMA3, 27_009_346_304, None, "sliding window + gqa"),
    (GPT_OSS, 20_914_757_184, None, "sliding window + gqa, moe"),
    (PHI3, 3_821_079_552, None, "sliding window"),
    (COHERE2, 8_028_033_024, None, "sliding window + gqa"),
    (GLM4_MOE, None, 188_416, "gqa, moe"),
    (MIXTRAL, 46_702_792_704, 131_072, "gqa, moe"),
    (MISTRAL_V01, 7_241_732_096, None, "sliding window"),
    (OLMOE, 6_919_161_856, 131_072, "gqa, moe"),
    (GEMMA, 2_506_172_416, 18_432, "gqa"),
    (QWEN3_NEXT, None, 24_576, "linear attention + gqa, moe"),
    (KIMI_K25, None, 70_272, "mla, moe"),
]


def written(folder: Path, config: object, name: str = "config.json") -> str:
    path = folder / name
    path.write_text(config if isinstance(config, str) else json.dumps(config), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("config", "total", "per_token", "kind"), READ, ids=[c[0]["model_type"] for c in READ]
)
def test_real_configurations(
    tmp_path: Path, config: dict[str, Any], total: int | None, per_token: int | None, kind: str
) -> None:
    model = load_model(written(tmp_path, config))
    assert model.name == tmp_path.name
    assert model.geometry.kind == kind
    assert kv_bytes_per_token(model) == per_token
    if total is not None:
        assert model.parameters_total == total
    assert load_model(str(tmp_path)) == model, "the folder of a snapshot is taken as well"


def test_at_least_ten_architectures_are_read() -> None:
    assert len({config["model_type"] for config, *_ in READ}) >= 10
    assert len(KNOWN) >= 30


def test_a_window_in_the_later_layers(tmp_path: Path) -> None:
    """Qwen2 with ``use_sliding_window``: the first ``max_window_layers`` layers see all tokens."""
    config = {**QWEN2, "use_sliding_window": True, "sliding_window": 1024, "max_window_layers": 20}
    model = load_model(written(tmp_path, config))
    assert kv_bytes_of(model, 4096) == 2 * 2 * 4 * 128 * (20 * 4096 + 8 * 1024)


def test_a_window_as_wide_as_the_context_is_none(tmp_path: Path) -> None:
    model = load_model(written(tmp_path, {**MISTRAL_V01, "sliding_window": 32768}))
    assert model.prefix_cache == "full"


@pytest.mark.parametrize(
    ("quantisation", "bits"),
    [
        (None, 16),
        ({"quant_method": "fp8"}, 8),
        ({"quant_method": "fbgemm_fp8"}, 8),
        ({"quant_method": "awq", "bits": 4, "group_size": 128}, 4 + 20 / 128),
        ({"quant_method": "gptq", "bits": 8, "group_size": -1}, 8),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, 4.5),
        ({"quant_method": "bitsandbytes", "load_in_8bit": True}, 8),
        ({"quant_method": "modelopt", "quant_algo": "FP8"}, 8),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, 4.5),
        (
            {
                "quant_method": "compressed-tensors",
                "config_groups": {"group_0": {"weights": {"num_bits": 4, "group_size": 128}}},
                "ignore": ["lm_head"],
            },
            4 + 16 / 128,
        ),
    ],
)
def test_precision_of_weights(tmp_path: Path, quantisation: object, bits: float) -> None:
    model = load_model(written(tmp_path, {**LLAMA, "quantization_config": quantisation}))
    matrices, rest = model.parameters, model.parameters_total - model.parameters
    assert weights_bytes(model) == matrices * bits / 8 + 2 * rest


def test_a_given_precision_replaces_that_of_the_configuration(tmp_path: Path) -> None:
    path = written(tmp_path, {**LLAMA, "quantization_config": {"quant_method": "quip"}})
    with pytest.raises(InputError, match="quant_method 'quip' is not known; known: auto-round"):
        load_model(path)
    model = load_model(path, weight_dtype="int8", kv_dtype="fp4")
    assert weights_bytes(model) == model.parameters + 2 * (
        model.parameters_total - model.parameters
    )
    assert kv_bytes_per_token(model) == 32_768


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({**LLAMA, "model_type": "mamba3"}, "model_type: 'mamba3' is not known; known: cohere"),
        ({k: v for k, v in LLAMA.items() if k != "model_type"}, "model_type: missing; expected"),
        ({**LLAMA, "model_type": 3}, "model_type: expected a string"),
        ({**LLAMA, "layer_types": ["hyper_attention"] * 32, "sliding_window": 9}, "'hyper_att"),
        ({**LLAMA, "sliding_window": 9}, "sliding_window: 9, but nothing says which layers"),
        ({**GPT_OSS, "layer_types": ["full_attention"]}, "layer_types: expected a list of 24"),
        ({**GEMMA3, "text_config": 3}, "text_config: expected an object"),
        ({**QWEN3_MOE, "num_experts_per_tok": 129}, "129 of 128 experts"),
        ({**LLAMA, "num_key_value_heads": 5}, "num_key_value_heads: expected a divisor"),
        ({**LLAMA, "num_attention_heads": 24}, "head_dim: missing, and hidden_size"),
        ({**QWEN3_NEXT, "mamba_ssm_dtype": "int3"}, "mamba_ssm_dtype: expected one of"),
        ({"model_type": "minimax_m2", "attn_type_list": [0, 1]}, "attn_type_list"),
        (
            {**LLAMA, "quantization_config": {"quant_method": "fp8", "weight_block_size": [0]}},
            "weig",
        ),
        ({**LLAMA, "quantization_config": {"quant_method": "awq", "bits": "4"}}, "bits: expected"),
    ],
)
def test_what_is_not_understood_is_named(
    tmp_path: Path, config: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError) as caught:
        load_model(written(tmp_path, config))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(f"--model {tmp_path}")


HOSTILE = [0, -1, -(10**9), 10**12, 10**30, 1.5, "12", True, [], {}, float("nan"), float("inf")]


@pytest.mark.parametrize("value", HOSTILE, ids=repr)
@pytest.mark.parametrize(
    "config",
    [LLAMA, QWEN3_MOE, DEEPSEEK, QWEN3_NEXT, GPT_OSS],
    ids=lambda c: c["model_type"],
)
def test_hostile_values(tmp_path: Path, config: dict[str, Any], value: object) -> None:
    for name, good in config.items():
        if type(good) is not int or name in ("max_window_layers", "num_nextn_predict_layers"):
            continue
        zero_allowed = name in (
            "first_k_dense_replace",
            "qk_rope_head_dim",
            "n_shared_experts",
            "shared_expert_intermediate_size",
        )
        unused = name == "intermediate_size" and config in (QWEN3_MOE, QWEN3_NEXT)
        if (value == 0 and type(value) is int and zero_allowed) or unused:
            continue
        if name == "num_key_value_heads" and config is DEEPSEEK:
            continue  # latent attention has none
        with pytest.raises(InputError) as caught:
            load_model(written(tmp_path, {**config, name: value}))
        assert name in str(caught.value)
        assert "\n" not in str(caught.value)
        assert len(str(caught.value)) < 300


@pytest.mark.parametrize("config", [LLAMA, QWEN3_MOE, DEEPSEEK, QWEN3_NEXT, GPT_OSS, COHERE2])
def test_missing_fields(tmp_path: Path, config: dict[str, Any]) -> None:
    for name in ("hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size"):
        with pytest.raises(InputError, match=name):
            load_model(written(tmp_path, {k: v for k, v in config.items() if k != name}))


@pytest.mark.parametrize(
    "text", ["", "[]", "3", "null", "{", '{"model_type": "llama"', "[" * 100_000, "\x00"]
)
def test_files_that_are_no_configuration(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError) as caught:
        load_model(written(tmp_path, text))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["", ".", "nothing.json", "a" * 5000, "a\x00b", "/", "\n"])
def test_names_that_are_no_file(name: str) -> None:
    with pytest.raises(InputError) as caught:
        load_model(name)
    assert str(caught.value).startswith("--model")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


OWN = {"layers": 48, "d_model": 2048, "heads": 32, "kv_heads": 4, "head_dim": 128, "d_ff": 6144}


def test_own_file_with_experts(tmp_path: Path) -> None:
    mixture = {"experts": 128, "active_experts": 8, "expert_d_ff": 768, "vocabulary": 151936}
    model = load_model(written(tmp_path, {**OWN, **mixture}, "mine.json"))
    shipped = load_model("qwen3-30b-a3b")
    assert model.name == "mine"
    assert model.linear == shipped.linear
    assert model.quadratic == shipped.quadratic
    assert model.parameters == shipped.parameters
    tied = load_model(written(tmp_path, {**OWN, **mixture, "tied_embeddings": True}, "mine.json"))
    assert model.parameters_total - tied.parameters_total == 151936 * 2048
    dense = load_model(written(tmp_path, {**OWN, **mixture, "dense_layers": 48}, "mine.json"))
    assert dense.parameters == load_model(written(tmp_path, OWN, "mine.json")).parameters


def test_own_file_with_half_a_byte(tmp_path: Path) -> None:
    model = load_model(written(tmp_path, {**OWN, "dtype_bytes": 0.5}, "mine.json"))
    assert kv_bytes_per_token(model) == 98_304 // 4


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"experts": 8}, "active_experts: missing"),
        ({"experts": 8, "active_experts": 9, "expert_d_ff": 3}, "active_experts: expected 8"),
        ({"experts": 8, "active_experts": 2, "expert_d_ff": 3, "dense_layers": 49}, "dense_layers"),
        ({"experts": 0, "active_experts": 2, "expert_d_ff": 3}, "experts: expected an integer"),
        ({"tied_embeddings": 1}, "tied_embeddings: expected true or false"),
        ({"dtype_bytes": 0.25}, "dtype_bytes: expected an integer"),
        ({"active_expert": 2}, "unknown key 'active_expert'"),
    ],
)
def test_own_files_that_are_wrong(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        load_model(written(tmp_path, {**OWN, **change}, "mine.json"))
    assert message in str(caught.value)
