"""Names of models as logs, servers and people write them."""

from __future__ import annotations

import pytest

from cache_worthy.sim.models.catalogue import candidates, catalogue, key, match_name, shipped_model
from cache_worthy.sim.models.loading import load_model
from cache_worthy.sim.models.memory import weights_bytes
from cache_worthy.sim.models.model import MODELS


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("deepseek-ai/DeepSeek-V3", "deepseek-v3"),
        ("deepseek-ai/DeepSeek-V3-0324", "deepseek-v3"),
        ("deepseek-ai/DeepSeek-R1-0528", "deepseek-r1"),
        ("deepseek-ai/DeepSeek-R1-Distill-Llama-70B", "llama-3.1-70b"),
        ("meta-llama/Llama-3.1-8B-Instruct", "llama-3.1-8b"),
        ("meta-llama/Meta-Llama-3.1-8B-Instruct", "llama-3.1-8b"),
        ("hosted_vllm/meta-llama/Llama-3.1-8B-Instruct", "llama-3.1-8b"),
        ("llama-3.1-8b-instant", "llama-3.1-8b"),
        ("llama3.1:8b-instruct-q4_K_M", "llama-3.1-8b"),
        ("accounts/fireworks/models/llama-v3p1-8b-instruct", "llama-3.1-8b"),
        ("meta.llama3-1-8b-instruct-v1:0", "llama-3.1-8b"),
        ("RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic", "llama-3.3-70b"),
        ("neuralmagic/Meta-Llama-3.1-8B-Instruct-quantized.w4a16", "llama-3.1-8b"),
        ("qwen3-32b", "qwen3-32b"),
        ("QWEN3-32B", "qwen3-32b"),
        ("qwen3:32b", "qwen3-32b"),
        ("Qwen/Qwen3-235B-A22B-Instruct-2507-FP8", "qwen3-235b-a22b"),
        ("unsloth/Qwen3-14B-unsloth-bnb-4bit", "qwen3-14b"),
        ("Qwen/Qwen2.5-7B-Instruct-AWQ", "qwen2.5-7b"),
        ("openai/gpt-oss-120b", "gpt-oss-120b"),
        ("google/gemma-3-27b-it", "gemma-3-27b"),
        ("mistralai/Mixtral-8x7B-Instruct-v0.1", "mixtral-8x7b"),
        ("moonshotai/Kimi-K2-Instruct-0905", "kimi-k2"),
        ("zai-org/GLM-4.6", "glm-4.5"),
        ("command-r-plus-08-2024", "cohere-command-r-plus"),
        ("  qwen3-8b ", "qwen3-8b"),
        # Names of an API say no architecture.
        ("gpt-4o-2024-08-06", None),
        ("gpt-4o", None),
        ("claude-sonnet-4-5-20250929", None),
        ("anthropic/claude-opus-4.1", None),
        ("gemini-2.5-pro", None),
        ("deepseek-chat", None),
        ("qwen-plus", None),
        ("mistral-large-latest", None),
        ("text-embedding-3-large", None),
        ("o3-mini", None),
        # Another architecture under a similar name.
        ("deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", None),
        ("llama-3.1-8b-of-my-own", None),
        ("", None),
        ("-", None),
        ("instruct", None),
    ],
)
def test_match_name(written: str, name: str | None) -> None:
    assert match_name(written) == name


def test_every_name_label_and_alias_is_its_own_model() -> None:
    """No two models share a key, so that none hides another."""
    keys: dict[str, str] = {}
    for entry in catalogue().values():
        for spelling in {entry.name, entry.label, *entry.aliases}:
            assert keys.setdefault(key(spelling), entry.name) == entry.name
            assert match_name(spelling) == entry.name
            assert match_name(spelling.upper()) == entry.name
            assert match_name(f"somebody/{spelling}") == entry.name


def test_the_repository_of_a_source_is_its_model() -> None:
    """What a log records is the repository's name; the configuration of the source is that one's."""
    for entry in catalogue().values():
        repository = entry.source.removeprefix("https://huggingface.co/").split("/blob/")[0]
        found = match_name(repository)
        assert found is not None, repository
        same = shipped_model(found).geometry == shipped_model(entry.name).geometry
        assert same, (repository, found)


def test_a_name_says_the_precision_of_weights() -> None:
    plain, quantised = load_model("Qwen/Qwen3-32B"), load_model("Qwen/Qwen3-32B-FP8")
    halved = weights_bytes(plain) - weights_bytes(quantised)
    assert halved == plain.parameters
    assert weights_bytes(load_model("Qwen/Qwen3-32B-FP8", weight_dtype="bf16")) == weights_bytes(
        plain
    )


def test_suffixes_come_off_one_by_one() -> None:
    assert candidates("org/Some-9B-Instruct-AWQ") == [
        ("some9binstructawq", None),
        ("some9binstruct", "int4"),
        ("some9b", "int4"),
    ]


def test_the_two_models_of_every_analysis_are_one_object_each() -> None:
    for label, model in MODELS.items():
        assert load_model(label) is model
        assert load_model(f"meta-llama/{label}-Instruct") is model
