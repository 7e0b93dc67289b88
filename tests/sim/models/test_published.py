"""Shipped models against what others have published: KV bytes, parameters, checkpoints (rank 1).

Sources of the numbers: KV bytes, kvcache-ai/kvcache-blog, commit 97532881, precomputed.json.
Parameters: the model cards and papers named beside them. Tensor shapes: the published checkpoints.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from math import prod

import pytest

from cache_worthy.sim.models.catalogue import active_parameters, catalogue, shipped_model
from cache_worthy.sim.models.geometry import Geometry, LayerGroup
from cache_worthy.sim.models.layers import Attention, Latent
from cache_worthy.sim.models.loading import load_model
from cache_worthy.sim.models.memory import (
    kv_bytes_of,
    kv_bytes_past_windows,
    kv_bytes_per_token,
    state_bytes,
    weights_bytes,
)
from cache_worthy.sim.models.model import Model

#: Bytes per token in 16, 8 and 4 bits.
KV_BYTES = {
    "cohere-command-r-v01": (1_310_720, 655_360, 327_680),
    "deepseek-v3": (70_272, 35_136, 17_568),
    "kimi-k2.5": (70_272, 35_136, 17_568),
    "minimax-m2": (253_952, 126_976, 63_488),
    "qwen2.5-14b": (196_608, 98_304, 49_152),
    "qwen2.5-coder-32b": (262_144, 131_072, 65_536),
    "qwen3-0.6b": (114_688, 57_344, 28_672),
    "qwen3-14b": (163_840, 81_920, 40_960),
    "qwen3-235b-a22b": (192_512, 96_256, 48_128),
    "qwen3.5-0.8b": (12_288, 6_144, 3_072),
    "qwen3.5-122b-a10b": (24_576, 12_288, 6_144),
    "qwen3.5-27b": (65_536, 32_768, 16_384),
    "qwen3.5-35b-a3b": (20_480, 10_240, 5_120),
    "qwen3.5-9b": (32_768, 16_384, 8_192),
    "qwen3.6-27b": (65_536, 32_768, 16_384),
    "qwen3.6-35b-a3b": (20_480, 10_240, 5_120),
}
#: GLM-5.1: bytes per token by precision of the cache and of the indexer's keys.
GLM = {
    ("bf16", "bf16"): 109_824,
    ("bf16", "fp8"): 99_840,
    ("bf16", "fp4"): 94_848,
    ("fp8", "bf16"): 64_896,
    ("fp8", "fp8"): 54_912,
    ("fp8", "fp4"): 49_920,
    ("fp4", "bf16"): 42_432,
    ("fp4", "fp8"): 32_448,
    ("fp4", "fp4"): 27_456,
}


@pytest.mark.parametrize("name", KV_BYTES)
def test_kv_bytes_per_token(name: str) -> None:
    for dtypes, expected in zip(
        (("bf16", "fp16"), ("fp8", "int8"), ("fp4", "int4")), KV_BYTES[name], strict=True
    ):
        for dtype in dtypes:
            assert kv_bytes_per_token(load_model(name, kv_dtype=dtype)) == expected


@pytest.mark.parametrize("dtypes", GLM)
def test_an_indexer_has_its_own_precision(dtypes: tuple[str, str]) -> None:
    model = load_model("glm-5.1", kv_dtype=dtypes[0], indexer_dtype=dtypes[1])
    assert kv_bytes_per_token(model) == GLM[dtypes]


def test_some_layers_share_an_indexer() -> None:
    """GLM-5.2: 21 of 78 layers have keys of their own, the others use their choice."""
    model = load_model("glm-5.2")
    assert model.geometry.indexed(1) == 21 * 128
    assert kv_bytes_per_token(model) == 2 * (78 * 576 + 21 * 128)


def test_a_fixed_precision_of_an_indexer_stays() -> None:
    for asked in (None, "fp4"):
        model = load_model("minimax-m3", kv_dtype="fp8", indexer_dtype=asked)
        assert kv_bytes_per_token(model) == 60 * 2 * 4 * 128 + 2 * 57 * 128


def test_deepseek_v3_in_kib() -> None:
    per_token = kv_bytes_per_token(load_model("deepseek-v3"))
    assert per_token is not None
    assert round(per_token / 1024, 1) == 68.6


@pytest.mark.parametrize(
    ("name", "relative"),
    [
        ("deepseek-v3", 0.54),
        ("qwen2.5-7b", 0.44),
        ("qwen3-235b-a22b", 1.47),
        ("qwen3-32b", 2.0),
        ("llama-3.1-70b", 2.5),
    ],
)
def test_bytes_relative_to_llama_8b(name: str, relative: float) -> None:
    per_token = kv_bytes_per_token(load_model(name))
    assert per_token is not None
    assert round(per_token / 131_072, 2) == relative


@pytest.mark.parametrize(("kv", "indexer"), [("bf16", "fp8"), ("fp8", "fp4")])
def test_deepseek_v4_relative_to_llama_8b(kv: str, indexer: str) -> None:
    """0.07, with the indexer at half the precision of the cache, as V4 is served (fp8 and fp4)."""
    model = load_model("deepseek-v4-pro", kv_dtype=kv, indexer_dtype=indexer)
    llama = kv_bytes_per_token(load_model("llama-3.1-8b", kv_dtype=kv))
    assert llama is not None
    assert round(kv_bytes_past_windows(model) / llama, 2) == Fraction(7, 100)


#: Name, parameters in all and active as published, and where.
PARAMETERS = [
    ("llama-3.1-8b", "8.03B", None, "model card"),
    ("llama-3.1-70b", "70.55B", None, "checkpoint"),
    ("llama-3.1-405b", "405B", None, "arXiv 2407.21783"),
    ("llama-3.2-1b", "1.23B", None, "model card"),
    ("llama-3.2-3b", "3.21B", None, "model card"),
    ("llama-4-maverick", "400B", "17B", "model card"),
    ("mistral-7b-v0.3", "7.25B", None, "checkpoint"),
    ("mistral-small-24b", "23.6B", None, "checkpoint"),
    ("mixtral-8x7b", "46.7B", "12.9B", "mistral.ai, Mixtral of experts"),
    ("mixtral-8x22b", "141B", "39B", "mistral.ai, Cheaper, better, faster, stronger"),
    ("qwen2.5-72b", "72.7B", None, "model card"),
    ("qwen2.5-14b", "14.7B", None, "model card"),
    ("qwen2.5-7b", "7.61B", None, "model card"),
    ("qwen3-235b-a22b", "235B", "22B", "model card"),
    ("qwen3-32b", "32.8B", None, "model card"),
    ("qwen3-30b-a3b", "30.5B", "3.3B", "model card"),
    ("qwen3-coder-480b-a35b", "480B", "35B", "model card"),
    ("qwen3-next-80b-a3b", "80B", "3B", "model card"),
    ("qwen3.5-122b-a10b", "122B", "10B", "model card"),
    ("qwen3.5-35b-a3b", "35B", "3B", "model card"),
    ("qwen3.5-27b", "27B", None, "model card"),
    ("qwen3.8-2.4t-a95b", "2.4T", "95B", "model card"),
    ("deepseek-v2", "236B", "21B", "arXiv 2405.04434"),
    ("deepseek-v2-lite", "15.7B", "2.4B", "arXiv 2405.04434"),
    ("deepseek-v3", "671B", "37B", "arXiv 2412.19437"),
    ("deepseek-v4-pro", "1.6T", "49B", "model card"),
    ("deepseek-v4-flash", "284B", "13B", "model card"),
    ("kimi-k2", "1.0T", "32B", "arXiv 2507.20534"),
    ("glm-4.5-air", "106B", "12B", "arXiv 2508.06471"),
    ("glm-5", "744B", "40B", "model card"),
    ("gemma-2-9b", "9.24B", None, "arXiv 2408.00118, table 2"),
    ("gemma-2-27b", "27.2B", None, "arXiv 2408.00118, table 2"),
    ("gemma-3-27b", "27.0B", None, "arXiv 2503.19786, table 1, without its vision tower"),
    ("gemma-4-26b-a4b", "25.2B", "3.8B", "model card"),
    ("gemma-4-31b", "30.7B", None, "model card"),
    ("cohere-command-r-v01", "35B", None, "model card"),
    ("cohere-command-r-plus", "104B", None, "model card"),
    ("cohere-command-a-03-2025", "111B", None, "model card"),
    ("cohere-command-a-plus-05-2026", "218B", "25B", "model card"),
    ("mimo-v2.5-pro", "1.02T", "42B", "model card"),
    ("minimax-m2", "229B", "10B", "checkpoint and model card"),
    ("gpt-oss-120b", "116.83B", "5.13B", "arXiv 2508.10925, table 1"),
    ("gpt-oss-20b", "20.91B", "3.61B", "arXiv 2508.10925, table 1"),
    ("phi-4", "14.7B", None, "arXiv 2412.08905"),
    ("nemotron-nano-9b-v2", "8.89B", None, "arXiv 2508.14444"),
]


def matches(count: int, published: str) -> bool:
    """Whether a count is a published figure, rounded or cut off there."""
    figure = Fraction(published[:-1])
    places = len(published.partition(".")[2]) - 1 if "." in published else 0
    unit = Fraction({"B": 10**9, "T": 10**12}[published[-1]], 10**places)
    units = Fraction(count) / unit
    return figure * 10**places in (round(units), int(units))


@pytest.mark.parametrize(("name", "total", "active", "source"), PARAMETERS)
def test_parameters(name: str, total: str, active: str | None, source: str) -> None:
    assert source
    entry = catalogue()[name]
    assert matches(shipped_model(name).parameters_total, total)
    assert matches(active_parameters(entry), active or total)


def test_parameters_cover_kinds() -> None:
    kinds = {shipped_model(name).geometry.kind for name, *_ in PARAMETERS}
    assert len(PARAMETERS) >= 12
    assert len(kinds) >= 8, kinds


@pytest.mark.parametrize(
    ("name", "elements"),
    [
        # Elements of the tensors of the published checkpoint.
        ("mistral-7b-v0.3", 7_248_023_552),
        ("mixtral-8x7b", 46_702_792_704),
        ("qwen2.5-7b", 7_615_616_512),
        ("qwen3-8b", 8_190_735_360),
        ("qwen3-32b", 32_762_123_264),
        ("qwen3-30b-a3b", 30_532_122_624),
        ("qwen3-235b-a22b", 235_093_634_560),
        ("gpt-oss-20b", 20_914_757_184),
        ("gpt-oss-120b", 116_829_156_672),
        ("gemma-2-9b", 9_241_705_984),
        ("gemma-2-27b", 27_227_128_320),
        ("cohere-command-r-v01", 34_980_831_232),
        ("phi-4", 14_659_507_200),
        # 228,703,644,928 with the scales of its blocks: experts, then q, o, k and v.
        ("minimax-m2.7", 228_703_644_928 - 62 * (256 * 3 * 288 + 2 * 1152 + 2 * 192)),
    ],
)
def test_every_element_of_a_checkpoint(name: str, elements: int) -> None:
    assert shipped_model(name).parameters_total == elements


def shapes(count: int, *tensors: tuple[int, ...]) -> int:
    return count * sum(map(prod, tensors))


def test_shapes_of_a_gated_delta_network() -> None:
    """Qwen3.5-4B, its text model."""
    d = 2560
    linear = [(32,), (8192, 4), (32,), (32, d), (32, d), (8192, d), (4096, d), (128,), (d, 4096)]
    full = [(256,), (1024, d), (d, 4096), (256,), (8192, d), (1024, d)]
    every = [(d,), (d, 9216), (9216, d), (9216, d), (d,)]
    expected = shapes(1, (248320, d), (d,)) + shapes(24, *linear) + shapes(8, *full)
    assert shipped_model("qwen3.5-4b").parameters_total == expected + shapes(32, *every)


def test_shapes_of_compressed_attention() -> None:
    """DeepSeek V4 Flash, without the layer that drafts and the tables of hash routing."""
    d = 4096
    every = [(64,), (512,), (1024,), (512, d), (8192, 4096), (d, 8192), (1024, d), (32768, 1024)]
    every += [(d,), (d,), (256, d), *3 * [(2048, d)], *2 * [(24,), (24, 4 * d), (3,)]]
    every += 3 * 256 * [(2048, d)] + [(256,)]
    four = [(4, 1024), (1024, d), (1024, d), (512,), (4, 256), (128,), (256, d), (256, d)]
    four += [(64, d), (8192, 1024)]
    many = [(128, 512), (512, d), (512, d), (512,)]
    expected = shapes(2, (129280, d)) + d + shapes(43, *every) + shapes(21, *four)
    assert shipped_model("deepseek-v4-flash").parameters_total == expected + shapes(20, *many)


def test_shapes_of_kimi_delta_attention() -> None:
    """Kimi K3: the mixers of its 93 layers (decays of 96 heads, which the checkpoint pads)."""
    d, inner = 7168, 96 * 128
    delta = [(96, d), (inner,), (128, d), (inner, 128), *3 * [(inner, 4)], *3 * [(inner, d)]]
    delta += [(128,), (inner, d), (d, inner), (96,)]
    latent = [(512,), (576, d), (24576, 512), (1536,), (1536, d), (18432, 1536)]
    latent += [(inner, d), (d, inner)]
    groups = shipped_model("kimi-k3").geometry.groups
    found = {
        type(g.mixer).__name__: sum(p.elements for p in g.mixer.parts(d)) for g in groups if g.mixer
    }
    assert found == {"Recurrent": shapes(1, *delta), "Latent": shapes(1, *latent)}


def test_shapes_of_sparse_grouped_attention() -> None:
    """MiniMax M3: the mixer of a sparse layer."""
    d = 6144
    sparse = [(128,), (512, d), (d, 8192), (128,), (8192, d), (512, d)]
    sparse += [(128,), (128, d), (128,), (512, d)]
    (group,) = (
        g
        for g in shipped_model("minimax-m3").geometry.groups
        if isinstance(g.mixer, Attention) and g.mixer.index
    )
    assert group.count == 57
    assert group.mixer
    assert sum(p.elements for p in group.mixer.parts(d)) == shapes(1, *sparse)


@pytest.mark.parametrize(
    ("name", "gib", "within"),
    [
        # Sizes of the published checkpoints; the margin holds vision towers and drafting layers.
        ("gpt-oss-120b", 60.8, 0.002),
        ("gpt-oss-20b", 12.8, 0.002),
        ("minimax-m2.7", 214.32, 0.001),
        ("kimi-k3", 1453.66, 0.001),
        ("qwen3.5-4b", 8.68, 0.10),
        ("deepseek-v4-flash", 148.65, 0.03),
        ("deepseek-v4-pro", 805.32, 0.02),
        ("deepseek-v3.2", 642.12, 0.03),
        ("mimo-v2.5-pro", 962.40, 0.01),
    ],
)
def test_bytes_of_a_checkpoint(name: str, gib: float, within: float) -> None:
    assert 1 - within <= weights_bytes(load_model(name)) / 2**30 / gib <= 1.002


def test_states() -> None:
    """Kimi K3: 69 layers of three convolutions in 16 bits and a matrix per head in 32."""
    kimi = 69 * (3 * 3 * 96 * 128 * 2 + 96 * 128 * 128 * 4)
    assert state_bytes(load_model("kimi-k3")) == kimi
    qwen = 24 * (3 * (2 * 16 * 128 + 32 * 128) * 2 + 32 * 128 * 128 * 4)
    assert state_bytes(load_model("qwen3.5-9b")) == qwen
    assert state_bytes(load_model("qwen3-32b")) == 0


@pytest.mark.parametrize(
    ("name", "tokens", "elements"),
    [
        ("gemma-4-26b-a4b", 100, 100 * (5 * 2 * 1024 + 25 * 8 * 512)),
        ("gemma-4-26b-a4b", 5000, 5000 * 5 * 2 * 1024 + 1024 * 25 * 8 * 512),
        ("gemma-4-e2b", 5000, 5000 * 3 * 1024 + 512 * 12 * 512),
        ("mimo-v2.5", 5000, 5000 * 9 * 4 * 320 + 128 * 39 * 8 * 320),
        ("inkling", 5000, 5000 * 11 * 8 * 256 + 512 * 55 * 16 * 256),
        ("cohere-command-r7b-12-2024", 5000, 5000 * 8 * 2048 + 4096 * 24 * 2048),
        (
            "deepseek-v4-pro",
            5000,
            61 * 128 * 512 + 30 * (1250 * 512 + 1250 * 128) + 31 * 39 * 512,
        ),
    ],
)
def test_bytes_that_depend_on_the_context(name: str, tokens: int, elements: int) -> None:
    model = load_model(name)
    assert kv_bytes_per_token(model) is None
    assert kv_bytes_of(model, tokens) == 2 * elements


def without_a_layer(geometry: Geometry) -> Geometry:
    first, *others = geometry.groups
    return replace(geometry, groups=(replace(first, count=first.count - 1), *others))


def changed(model: Model, groups: Iterable[LayerGroup]) -> Model:
    geometry = replace(model.geometry, groups=tuple(groups))
    assert model.layered is not None
    return replace(model, layered=geometry)


def doubled(mixer: object) -> object:
    """A factor of two in the formula of a mixer."""
    if isinstance(mixer, Latent):
        return replace(mixer, kv_rank=2 * mixer.kv_rank, rope=2 * mixer.rope)
    if isinstance(mixer, Attention):
        return replace(mixer, kv_heads=2 * mixer.kv_heads)
    return mixer


@pytest.mark.parametrize("name", [n for n in KV_BYTES if n != "deepseek-v3"])
@pytest.mark.parametrize("mutant", ["factor", "layer", "bits", "key only"])
def test_mistakes_are_noticed(name: str, mutant: str) -> None:
    model = load_model(name)
    groups = model.geometry.groups
    if mutant == "factor":
        wrong = changed(model, [replace(g, mixer=doubled(g.mixer)) for g in groups])  # type: ignore[arg-type]
    elif mutant == "layer":
        attending = next(g for g in groups if g.mixer and g.mixer.cached(1))
        wrong = changed(
            model,
            [replace(g, count=g.count - 1) if g is attending else g for g in groups],
        )
    elif mutant == "bits":
        wrong = replace(model, dtype_bytes=16)
    else:
        wrong = replace(model, dtype_bytes=1)
    assert kv_bytes_per_token(wrong) != KV_BYTES[name][0]


@pytest.mark.parametrize("name", ["qwen3-32b", "deepseek-v3", "gpt-oss-120b", "qwen3.5-9b"])
def test_a_forgotten_layer_misses_the_published_count(name: str) -> None:
    model = shipped_model(name)
    total = next(t for n, t, *_ in PARAMETERS if n == name) if name != "qwen3.5-9b" else "8.954B"
    assert matches(model.parameters_total, total)
    wrong = changed(model, without_a_layer(model.geometry).groups)
    assert not matches(wrong.parameters_total, total)
