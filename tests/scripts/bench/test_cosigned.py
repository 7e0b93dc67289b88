"""The benchmark runs and counts; what it times is not asserted."""

from __future__ import annotations

from pathlib import Path

from commands import script


def test_figures(tmp_path: Path) -> None:
    lines = "".join(
        f'{{"timestamp": {t}, "input_length": 1500, "output_length": 1, '
        f'"hash_ids": [0, {1 + t % 7}, {10 + t % 11}]}}\n'
        for t in range(60)
    )
    (tmp_path / "conversation_trace.jsonl").write_text(lines, encoding="utf-8")
    done = script("bench/cosigned.py", "--traces", tmp_path, "--repeats", "1")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("lru, interned engine") == 4  # 2, 5, 10 and 25 percent


def test_absent_trace(tmp_path: Path) -> None:
    assert script("bench/cosigned.py", "--traces", tmp_path).returncode == 2
