"""The benchmark runs, says so when its yardstick is missing, and fails on different work."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import bench_blocks as script
import pytest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    line = '{"input_length": 1000, "hash_ids": [1, 2]}\n{"input_length": 900, "hash_ids": [1, 3]}\n'
    (tmp_path / "conversation_trace.jsonl").write_text(line * 3)
    return tmp_path


def arguments(folder: Path) -> list[str]:
    return ["--traces", str(folder), "--capacity", "20", "--rounds", "1"]


def test_a_missing_yardstick_is_said(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(script, "binding_runs", lambda references, next_uses, capacity: {})
    assert script.main(arguments(folder)) == 0
    captured = capsys.readouterr()
    assert "SKIPPED" in captured.err
    assert "12 references" in captured.out


@pytest.mark.parametrize(
    ("peer", "misses", "code"), [("LRU", 3, 0), ("LRU", 4, 1), ("Belady", 4, 1), ("S3FIFO", 4, 0)]
)
def test_different_work_fails(
    peer: str, misses: int, code: int, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fake(
        references: Sequence[int], next_uses: Sequence[int], capacity: int
    ) -> dict[str, Callable[[], int]]:
        never = 2**63 - 1
        assert next_uses == [2, 5, 4, 7, 6, 9, 8, 11, 10, never, never, never]
        own = dict.fromkeys(("LRU", "S3FIFO", "FIFO", "Belady"), 3) | {peer: misses}
        return {f"libcachesim {n}, defaults": lambda m=m: m for n, m in own.items()}  # type: ignore[misc]

    monkeypatch.setattr(script, "binding_runs", fake)
    assert script.main(arguments(folder)) == code


def test_a_missing_trace_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert script.main(["--traces", str(tmp_path)]) == 2
    assert "conversation_trace.jsonl" in capsys.readouterr().err
