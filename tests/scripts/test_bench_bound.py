"""The bench of the bound runs, and fails when what it measures is not the same program."""

from __future__ import annotations

import json
from pathlib import Path

import bench_bound
import pytest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    requests = ([1, 2, 3], [4, 5], [1, 2, 3], [4, 5], [6], [1, 2, 3], [4, 5], [1, 7]) * 3
    (tmp_path / "conversation_trace.jsonl").write_text(
        "".join(json.dumps({"hash_ids": ids}) + "\n" for ids in requests), encoding="utf-8"
    )
    return tmp_path


def test_both_forms_agree(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench_bound.main(["--traces", str(folder), "--fraction", "0.6", "--no-large"]) == 0
    out = capsys.readouterr().out
    assert "accepted 1" in out
    assert "conversation, dense PuLP" in out


def test_copies_share_nothing_and_interleave(folder: Path) -> None:
    file = folder / "conversation_trace.jsonl"
    one, three = bench_bound.read(file), bench_bound.read(file, 3)
    assert three[::3] == one
    assert not set(map(tuple, three[1::3])) & set(map(tuple, one))
    assert len(three) == 3 * len(one)


def test_no_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench_bound.main(["--traces", str(tmp_path)]) == 2
    assert "lacks conversation_trace.jsonl" in capsys.readouterr().err
