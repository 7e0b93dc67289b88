"""The published figures hold (rank 1), and the check that says so can fail."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import blocks_check as script
import pytest


@pytest.mark.traces
def test_every_published_figure_is_reproduced(
    traces: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert script.main(["--traces", str(traces), "--check"]) == 0
    assert f"{len(script.FIGURES)} of {len(script.FIGURES)}" in capsys.readouterr().out


@pytest.mark.parametrize(("published", "code"), [("8", 0), ("9", 1)])
def test_one_wrong_digit_fails(
    published: str, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (script.CONVERSATION, script.SYNTHETIC):
        (tmp_path / name).write_text('{"input_length": 8, "hash_ids": [1]}\n' * 2)
    figure = script.Figure(script.CONVERSATION, "s3fifo", 20, "total_hit_tokens", published)
    broken = dataclasses.replace(figure, trace=script.SYNTHETIC, published="8")
    monkeypatch.setattr(script, "FIGURES", (figure, broken))
    assert script.main(["--traces", str(tmp_path), "--check"]) == code
    assert script.main(["--traces", str(tmp_path)]) == 0


def test_missing_traces_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert script.main(["--traces", str(tmp_path)]) == 2
    assert "conversation_trace.jsonl" in capsys.readouterr().err
