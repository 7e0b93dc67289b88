"""The scaling bench asks both sides for the same capacities and says when the peer is missing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import bench_scale as script
import pytest
from measuring import Results, Usage


@pytest.fixture
def file(tmp_path: Path) -> Path:
    lines = [
        {"input_length": 1536, "hash_ids": [0, 1 + t % 7, 10 + t % 11]} for t in range(60)
    ]  # fmt: skip
    path = tmp_path / "conversation_trace.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def test_the_peer_gets_the_capacities_of_our_curve(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert script.main(["--curve", str(file)]) == 0
    points = json.loads(capsys.readouterr().out)
    assert (points["requests"], points["references"]) == (60, 180)
    assert points["cost_ratio"][-1] == 1.0
    command = script.peer_command(file, points["blocks"], "lru")
    budgets = command[command.index("--budgets-gib") + 1].split(",")
    assert [int(float(b) * 2**30 // script.BLOCK_BYTES) for b in budgets] == points["blocks"]


def test_rounds_alternate_and_the_median_counts() -> None:
    order: list[str] = []

    def run(command: Sequence[str]) -> Usage:
        order.append(command[0])
        return Usage(float(len(order)), 0.0, 1.0, "")

    found = script.alternate({"a": ["a"], "b": ["b"]}, 3, run)
    assert order == ["a", "b"] * 3
    assert (found["a"].seconds, found["b"].seconds) == (3.0, 4.0)
    assert [u.seconds for u in found["a"].rounds] == [1.0, 3.0, 5.0]


def test_a_missing_peer_is_said(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing(command: Sequence[str]) -> Usage:
        raise RuntimeError("No module named kvcache_sim")

    monkeypatch.setattr(script, "measured", missing)
    results = Results("scale", "a test")
    assert not script.has_peer(results, file)
    assert "SKIPPED: the comparison with kvcache-simulator: not installed" in (
        capsys.readouterr().err
    )
    assert results.skipped


def test_no_trace(tmp_path: Path) -> None:
    assert script.main(["--traces", str(tmp_path)]) == 2


def test_the_yardsticks_run(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert script.main(["--yardstick", str(file)]) == 0
    assert capsys.readouterr().out.strip() == "180"
    assert script.main(["--belady", str(file), "--blocks", "3,19"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["3"]["misses"] > found["19"]["misses"] == 19
    assert found["19"]["hit_tokens"] == 30 * 1536
    # By path the third block of every request is another one.
    assert script.main(["--belady", str(file), "--blocks", "3,8", "--bypass"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["3"]["misses"] > found["8"]["misses"] == 60 + 8
    assert found["8"]["hit_tokens"] == 30 * 1024


def test_other_hits_of_the_peer_are_named() -> None:
    ours = json.dumps({"3": {"hit_tokens": 7}, "4": {"hit_tokens": 9}, "5": {"hit_tokens": 9}})
    answered = {3: 7, 4: 10}
    points = [
        {"cacheBlocks": b, "results": {"optimal": {"hitTokens": n}}} for b, n in answered.items()
    ]
    compared, wrong = script.different_hits(ours, json.dumps({"points": points}))
    assert compared == 2
    assert wrong == ["4 blocks: 9 hit tokens, kvcache-simulator 10"]
