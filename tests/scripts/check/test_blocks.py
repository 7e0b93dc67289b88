"""The published figures hold (rank 1), and the check that says so can fail."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import script
from published import BLOCK_FIGURES

#: Two figures in the place of the published ones.
TWO = """
import published

published.BLOCK_FIGURES = tuple(
    published.BlockFigure(trace, "s3fifo", 20, "total_hit_tokens", cell)
    for trace, cell in (("conversation", {cell!r}), ("synthetic", "8"))
)
"""


@pytest.mark.traces
def test_every_published_figure_is_reproduced(traces: Path) -> None:
    done = script("check/blocks.py", "--traces", traces, "--check")
    assert done.returncode == 0, done.stdout
    assert len(BLOCK_FIGURES) == 26
    assert "26 of 26" in done.stdout


@pytest.mark.parametrize(("cell", "code"), [("8", 0), ("9", 1)])
def test_one_wrong_digit_fails(cell: str, code: int, tmp_path: Path) -> None:
    for name in ("conversation", "synthetic"):
        file = tmp_path / f"{name}_trace.jsonl"
        file.write_text('{"input_length": 8, "hash_ids": [1]}\n' * 2)
    options, planted = ("--traces", tmp_path), TWO.format(cell=cell)
    done = script("check/blocks.py", *options, "--check", planted=planted)
    assert done.returncode == code, done.stderr
    assert done.stdout.count("DIFFERS") == code
    assert script("check/blocks.py", *options, planted=planted).returncode == 0


def test_missing_traces_are_named(tmp_path: Path) -> None:
    done = script("check/blocks.py", "--traces", tmp_path)
    assert done.returncode == 2
    assert "conversation_trace.jsonl" in done.stderr
