"""The bench of the recording proxy runs and names what it measures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import script


def test_every_figure_has_its_yardstick(tmp_path: Path) -> None:
    done = script("bench/capture.py", "--rounds", "2", "--results", tmp_path)
    assert done.returncode == 0, done.stderr
    document = json.loads((tmp_path / "capture.json").read_text(encoding="utf-8"))
    figures = {f["name"]: f for f in document["figures"]}
    added = [name for name in figures if name.endswith("added by the proxy")]
    assert len(added) == 4
    for name in added:
        whole = figures[name.replace("added by the proxy", "median")]
        direct = whole["yardstick"]["value"]
        assert direct > 0
        assert whole["value"] - direct == pytest.approx(figures[name]["value"], abs=1e-3)
    # by turns 2 + 2 requests four times, then twice two of 32 connections
    assert document["facts"]["requests_recorded"] == 4 * 4 + 2 * 2 * 32
    assert "without the proxy" in done.stdout
