"""The bench of the bound runs, and fails when what it measures is not the same program."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import script


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    requests = ([1, 2, 3], [4, 5], [1, 2, 3], [4, 5], [6], [1, 2, 3], [4, 5], [1, 7]) * 3
    (tmp_path / "conversation_trace.jsonl").write_text(
        "".join(json.dumps({"hash_ids": ids}) + "\n" for ids in requests), encoding="utf-8"
    )
    return tmp_path


def test_both_forms_agree(folder: Path) -> None:
    done = script("bench/bound.py", "--traces", folder, "--fraction", "0.6", "--no-large")
    assert done.returncode == 0, done.stderr
    assert "accepted 1" in done.stdout
    assert "conversation, dense PuLP" in done.stdout


def test_no_trace(tmp_path: Path) -> None:
    done = script("bench/bound.py", "--traces", tmp_path)
    assert done.returncode == 2
    assert "conversation_trace.jsonl is missing" in done.stderr
