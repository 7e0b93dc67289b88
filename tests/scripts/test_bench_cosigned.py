"""The benchmark runs and counts; what it times is not asserted."""

from __future__ import annotations

from pathlib import Path

import bench_cosigned as script
import pytest


def test_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = "".join(
        f'{{"timestamp": {t}, "input_length": 1500, "output_length": 1, '
        f'"hash_ids": [0, {1 + t % 7}, {10 + t % 11}]}}\n'
        for t in range(60)
    )
    (tmp_path / "conversation_trace.jsonl").write_text(lines, encoding="utf-8")
    assert script.main(["--traces", str(tmp_path), "--repeats", "1"]) == 0
    out = capsys.readouterr().out
    assert out.count("lru, interned engine") == len(script.PERCENTS)


def test_absent_trace(tmp_path: Path) -> None:
    assert script.main(["--traces", str(tmp_path)]) == 2
