"""The model that amounts are priced for: its precisions, and whether it is the log's."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cache_worthy.advise.memory import context_tokens
from cache_worthy.advise.priced import priced
from cache_worthy.sim.cost import DEFAULT_MODEL, load_model

Run = Callable[..., tuple[int, str, str]]
ROOT = Path(__file__).resolve().parents[3]
TRACE = ROOT / "examples" / "scenarios" / "priority.jsonl"


def log_of(folder: Path, model: str) -> Path:
    path = folder / "log.jsonl"
    body = {"model": model, "messages": [{"role": "user", "content": "word " * 3000}]}
    path.write_text(f"{json.dumps(body)}\n" * 3)
    return path


def analyze(run: Run, *argv: object) -> tuple[dict[str, Any], list[str]]:
    more = ("--skip", "bound,band,splits")
    code, out, err = run("analyze", *argv, *more, "--json")
    assert code == 0, err
    _, text, _ = run("analyze", *argv, *more)
    short = text[text.index("IN SHORT") :].splitlines()[2:]
    return json.loads(out), [line.strip() for line in short]


def test_another_model_is_the_first_line(tmp_path: Path, run: Run) -> None:
    log = log_of(tmp_path, "Qwen/Qwen3-32B-FP8")
    document, short = analyze(run, log)
    said = document["parameters"]["priced"]
    assert said["log_model"] == "Qwen/Qwen3-32B-FP8"
    assert short[0].startswith("Priced as Llama-3.1-8B, but the log is of qwen3-32b: run again")
    document, short = analyze(run, log, "--model", "qwen3-32b")
    assert document["parameters"]["priced"]["mismatch"] is None
    assert not short[0].startswith("Priced")


def test_an_unknown_model_is_as_if(tmp_path: Path, run: Run) -> None:
    _, short = analyze(run, log_of(tmp_path, "gpt-4o-2024-08-06"))
    assert short[0].startswith("Amounts are as if it were Llama-3.1-8B: the log is of")


def test_the_same_model_by_another_name_is_no_mismatch() -> None:
    assert priced(DEFAULT_MODEL, {"meta-llama/Llama-3.1-8B-Instruct": 3}) is None
    assert priced(DEFAULT_MODEL, {}) is None


def test_precisions_reach_bytes_and_weights(run: Run) -> None:
    plain, _ = analyze(run, TRACE)
    half, _ = analyze(run, TRACE, "--kv-dtype", "fp8")
    quarter, _ = analyze(run, TRACE, "--kv-dtype", "fp4", "--weight-dtype", "fp8")
    sizes = [d["workload"]["working_set_bytes"] for d in (plain, half, quarter)]
    assert sizes[0] == 2 * sizes[1] == 4 * sizes[2]
    assert "priced" not in plain["parameters"]
    told = quarter["parameters"]["priced"]
    embeddings = 2 * 128256 * 4096
    assert told["kv_bits"] == 4
    assert 0 < told["weights_bytes"] - (DEFAULT_MODEL.parameters + 2 * embeddings) < 2**20


@pytest.mark.parametrize("option", ["--kv-dtype", "--weight-dtype", "--indexer-dtype"])
@pytest.mark.parametrize("value", ["fp9", "-1", "0", "1000000000000"])
@pytest.mark.parametrize("command", ["analyze", "replay", "bound"])
def test_a_precision_that_is_none(command: str, option: str, value: str, run: Run) -> None:
    capacity = () if command == "analyze" else ("--capacity-blocks", 40)
    policy = ("--policy", "lru") if command == "replay" else ()
    code, _, err = run(command, TRACE, *capacity, *policy, f"{option}={value}")
    assert code == 2
    assert err.startswith(f"cache-worthy: {option} {value}: expected one of fp32, bf16")
    assert err.count("\n") == 1


def test_the_context_comes_from_the_geometry() -> None:
    assert context_tokens(DEFAULT_MODEL) == 131_072
    qwen = load_model("deepseek-v3")
    assert context_tokens(qwen) == qwen.geometry.context
    assert context_tokens(qwen) is not None
