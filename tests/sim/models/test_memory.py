"""Weights and KV cache on the ranks of a server, against sums that were worked out apart."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from cache_worthy.sim.errors import InputError
from cache_worthy.sim.models.loading import load_model
from cache_worthy.sim.models.memory import (
    kept,
    kv_bytes_of,
    kv_bytes_per_token,
    kv_copies,
    require_full_cache,
    weights_bytes,
)

GIB = 2**30
#: A file of this project's own format, as a user had it.
QWEN3_30B = {
    "name": "Qwen3-30B-A3B",
    "layers": 48,
    "d_model": 2048,
    "heads": 32,
    "kv_heads": 4,
    "head_dim": 128,
    "d_ff": 6144,
    "vocabulary": 151936,
}


def room(name: str, gib: int, tp: int = 1) -> float:
    """GiB left for one copy of the KV cache at a fraction of 0.90."""
    model = load_model(name)
    return float(
        (Fraction(9, 10) * gib * GIB - weights_bytes(model, tp)) / kv_copies(model, tp) / GIB
    )


def test_a_mixture_on_eight_gpus() -> None:
    """Qwen3-235B on eight times 80 GiB: 438 GiB of weights, 4 KV heads on 8 ranks, about 69 GiB."""
    model = load_model("qwen3-235b-a22b")
    assert round(weights_bytes(model) / GIB) == 438
    assert 438 <= weights_bytes(model, 8) / GIB < 440, "routers and KV projections are there twice"
    assert kv_copies(model, 8) == 2
    assert kv_copies(model, 4) == 1
    assert abs(room("qwen3-235b-a22b", 640, 8) / 69 - 1) < 0.05


def test_a_mixture_described_as_a_file(tmp_path: Path) -> None:
    """The file cannot say experts; it names a shipped model and agrees with it in every figure."""
    path = tmp_path / "79.json"
    path.write_text(json.dumps(QWEN3_30B))
    model = load_model(str(path))
    assert model.name == "Qwen3-30B-A3B"
    assert int(weights_bytes(model) / GIB * 10) == 568
    assert model.parameters_total == 30_532_122_624
    assert abs(room(str(path), 80) / 15.2 - 1) < 0.05
    assert load_model(str(path), kv_dtype="fp8").dtype_bytes == 1


@pytest.mark.parametrize("change", [{"layers": 47}, {"d_ff": 6143}, {"vocabulary": 151937}])
def test_a_file_that_disagrees_stands_for_itself(tmp_path: Path, change: dict[str, int]) -> None:
    path = tmp_path / "79.json"
    path.write_text(json.dumps({**QWEN3_30B, **change}))
    assert load_model(str(path)).parameters_total < 4 * 10**9


@pytest.mark.parametrize(
    ("name", "tp", "copies"),
    [
        ("llama-3.1-8b", 8, 1),
        ("llama-3.1-8b", 32, 4),
        ("qwen3-30b-a3b", 8, 2),
        ("deepseek-v3", 8, 8),  # one latent vector, whole on every rank
        ("glm-5", 4, 4),
        ("qwen3.5-397b-a17b", 8, 4),
    ],
)
def test_copies(name: str, tp: int, copies: int) -> None:
    model = load_model(name)
    assert kv_copies(model, tp) == copies
    per_token, one = kv_bytes_per_token(model, tp), kv_bytes_per_token(model)
    assert per_token is not None
    assert one is not None
    assert per_token == copies * one


def test_a_forgotten_rank_is_noticed() -> None:
    """With the copies left out the room of the large mixture doubles."""
    model = load_model("qwen3-235b-a22b")
    forgotten = (0.9 * 640 * GIB - weights_bytes(model)) / GIB
    assert abs(forgotten / 69 - 1) > 0.9


def test_weights_that_are_whole_on_every_rank() -> None:
    model = load_model("deepseek-v3", weight_dtype="bf16")
    d = 7168
    per_layer = d * (512 + 64 + 1536) + 512 + 1536 + 2 * d
    extra = 61 * per_layer + 58 * (256 * d + 256) + d
    assert weights_bytes(model, 2) - weights_bytes(model) == 2 * extra


@pytest.mark.parametrize("tp", [0, -1, 3, 64, True, 1.5])
def test_ranks_that_no_server_starts_with(tp: object) -> None:
    model = load_model("qwen3-30b-a3b")
    with pytest.raises(InputError, match="expected a divisor of the 32 attention heads"):
        weights_bytes(model, tp)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="--tp"):
        kv_bytes_per_token(model, tp)  # type: ignore[arg-type]


def test_bytes_are_whole() -> None:
    model = load_model("qwen3-0.6b", kv_dtype="fp4")
    assert model.dtype_bytes == Fraction(1, 2)
    assert kv_bytes_of(model, 3) == 3 * 28_672
    assert type(kv_bytes_of(model, 3)) is int


@pytest.mark.parametrize(
    ("name", "keeps", "words"),
    [
        ("qwen3-32b", "full", "all 64 layers keep every token"),
        ("deepseek-v3.2", "full", "all 61 layers keep every token"),
        ("gpt-oss-20b", "window", "12 of 24 layers keep every token, 12 the newest 128"),
        (
            "gemma-4-e2b",
            "window",
            "3 of 35 layers keep every token, 12 the newest 512, "
            + "20 none of their own (they read an earlier layer's)",
        ),
        (
            "deepseek-v4-flash",
            "window",
            "2 of 43 layers keep the newest 128, 21 the newest 128 and one summary of every 4, "
            + "20 the newest 128 and one summary of every 128",
        ),
        (
            "qwen3.5-9b",
            "state",
            "8 of 32 layers keep every token, 24 a state that exists only where the engine saved one",
        ),
        (
            "nemotron-nano-9b-v2",
            "state",
            "4 of 31 layers keep every token, 27 a state that exists only where the engine saved one",
        ),
    ],
)
def test_what_a_prefix_cache_keeps(name: str, keeps: str, words: str) -> None:
    model = load_model(name)
    assert model.prefix_cache == keeps
    assert kept(model) == words
    if keeps == "full":
        require_full_cache(model)
    else:
        with pytest.raises(InputError) as caught:
            require_full_cache(model)
        assert words in str(caught.value)
        assert "\n" not in str(caught.value)
