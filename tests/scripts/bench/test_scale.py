"""The scaling bench: what it measures in processes of its own, and what it asks its peer for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import script
from peer import BLOCK_BYTES, peer_command


@pytest.fixture
def file(tmp_path: Path) -> Path:
    lines = [
        {"input_length": 1536, "hash_ids": [0, 1 + t % 7, 10 + t % 11]} for t in range(60)
    ]  # fmt: skip
    path = tmp_path / "conversation_trace.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def test_the_peer_gets_the_capacities_of_our_curve(file: Path) -> None:
    done = script("bench/scale.py", "--curve", file)
    assert done.returncode == 0, done.stderr
    points = json.loads(done.stdout)
    assert (points["requests"], points["references"]) == (60, 180)
    assert points["cost_ratio"][-1] == 1.0
    command = peer_command(file, points["blocks"], "lru")
    budgets = command[command.index("--budgets-gib") + 1].split(",")
    assert [int(float(b) * 2**30 // BLOCK_BYTES) for b in budgets] == points["blocks"]


def test_no_trace(tmp_path: Path) -> None:
    assert script("bench/scale.py", "--traces", tmp_path).returncode == 2


def test_the_yardsticks_run(file: Path) -> None:
    assert script("bench/scale.py", "--yardstick", file).stdout.strip() == "180"
    found = json.loads(script("bench/scale.py", "--belady", file, "--blocks", "3,19").stdout)
    assert found["3"]["misses"] > found["19"]["misses"] == 19
    assert found["19"]["hit_tokens"] == 30 * 1536
    # By path the third block of every request is another one.
    done = script("bench/scale.py", "--belady", file, "--blocks", "3,8", "--bypass")
    found = json.loads(done.stdout)
    assert found["3"]["misses"] > found["8"]["misses"] == 60 + 8
    assert found["8"]["hit_tokens"] == 30 * 1024
