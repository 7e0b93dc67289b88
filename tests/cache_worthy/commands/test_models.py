"""``cache-worthy models``: rows, precision, schema, refusals."""

from __future__ import annotations

import json

import jsonschema
import pytest

from cache_worthy.cli import main
from cache_worthy.documents import schema
from cache_worthy.sim.models.catalogue import catalogue


def rows(capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, dict[str, object]]:
    assert main(["models", "--json", *options]) == 0
    document = json.loads(capsys.readouterr().out)
    jsonschema.validate(document, schema("models"))
    return {row["name"]: row for row in document["models"]}


def test_rows(capsys: pytest.CaptureFixture[str]) -> None:
    found = rows(capsys)
    assert list(found) == list(catalogue())
    llama = found["llama-3.1-8b"]
    assert llama["kind"] == "gqa"
    assert llama["kv_bytes_per_token"] == 131_072
    assert llama["parameters_total"] == llama["parameters_active"] == 8_030_261_248
    assert str(llama["source"]).startswith("https://huggingface.co/meta-llama/Llama-3.1-8B")
    assert llama["note"] == ""
    assert found["deepseek-v3"]["kv_bytes_per_token"] == 70_272


@pytest.mark.parametrize(
    ("dtype", "per_token"), [("fp8", 65_536), ("int4", 32_768), ("fp16", 131_072)]
)
def test_precision(capsys: pytest.CaptureFixture[str], dtype: str, per_token: int) -> None:
    assert rows(capsys, "--kv-dtype", dtype)["llama-3.1-8b"]["kv_bytes_per_token"] == per_token


def test_precision_of_an_indexer(capsys: pytest.CaptureFixture[str]) -> None:
    """As the cache, unless asked for or fixed by the model."""
    plain = rows(capsys, "--kv-dtype", "fp8")
    assert plain["glm-5.1"]["kv_bytes_per_token"] == 54_912
    assert plain["glm-5.1"]["indexer_dtype"] == "fp8"
    assert plain["minimax-m3"]["indexer_dtype"] == "bf16"
    assert plain["llama-3.1-8b"]["indexer_dtype"] is None
    asked = rows(capsys, "--kv-dtype", "fp8", "--indexer-dtype", "fp4")
    assert asked["glm-5.1"]["kv_bytes_per_token"] == 49_920
    assert asked["minimax-m3"]["indexer_dtype"] == "bf16"


def test_what_depends_on_the_context_is_null(capsys: pytest.CaptureFixture[str]) -> None:
    row = rows(capsys)["gpt-oss-20b"]
    assert row["kv_bytes_per_token"] is None
    assert row["prefix_cache"] == "window"
    assert "49,152 bytes for the first token, 24,576 per token of a long context" in str(
        row["note"]
    )


def test_states(capsys: pytest.CaptureFixture[str]) -> None:
    row = rows(capsys)["qwen3.5-9b"]
    assert row["kv_bytes_per_token"] == 32_768
    assert row["state_bytes_per_sequence"] == 51_511_296
    assert row["prefix_cache"] == "state"


def test_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models"]) == 0
    out = capsys.readouterr().out
    lines = [line.split() for line in out.splitlines()]
    assert ["name", "B/token", "total", "active", "kind"] in lines
    assert ["qwen3-32b", "262,144", "32.76", "32.76", "gqa"] in lines
    assert ["qwen3-32b", "[Qwen/Qwen3-32B]"] in lines
    assert all(len(line) <= 80 for line in out.splitlines())


@pytest.mark.parametrize("option", ["--kv-dtype", "--indexer-dtype"])
def test_an_unknown_precision(capsys: pytest.CaptureFixture[str], option: str) -> None:
    assert main(["models", option, "fp3"]) == 2
    error = capsys.readouterr().err
    assert error == (
        f"cache-worthy: {option} fp3: expected one of fp32, bf16, fp16, fp8, int8, fp4, int4\n"
    )


@pytest.mark.parametrize("name", ["gemma-3-27b", "qwen3.5-9b", "deepseek-v4-pro"])
def test_replays_refuse_a_cache_by_other_rules(
    capsys: pytest.CaptureFixture[str], name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    log = tmp_path_factory.mktemp("log") / "log.jsonl"
    log.write_text('{"hash_ids": [1, 2], "input_length": 1024, "timestamp": 0}\n' * 2)
    assert main(["analyze", str(log), "--model", name]) == 2
    error = capsys.readouterr().err
    assert "other rules than full attention" in error
    assert error.count("\n") == 1
