"""``analyze --plot``: what is drawn, in both kinds of file."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., tuple[int, str, str]]
Write = Callable[..., Path]


def test_svg_says_what_is_marked(run: Run, sample: Path, tmp_path: Path) -> None:
    target = tmp_path / "curve.svg"
    options = ("--capacity-gib", 0.8, "--skip", "band,splits,tails,coldstart,pinsim")
    code, out, _ = run("analyze", sample, *options, "--json", "--plot", target)
    assert code == 0
    document = json.loads(out)
    texts = [e.text for e in ET.parse(target).iter("{http://www.w3.org/2000/svg}text")]
    words = " | ".join(t.strip() for t in texts if t)
    best = document["capacity"]["recommended_bytes"] / 2**30
    floor = document["workload"]["floor_bytes"] / 2**30
    for mark in (f"recommended: {best:.2f} GiB", f"floor: {floor:.2f} GiB", "yours: 0.80 GiB"):
        assert mark in words
    for name in ("lru", "certified lower bound", "cheapest policy, where all were replayed"):
        assert name in words
    again = tmp_path / "again.svg"
    assert run("analyze", sample, *options, "--plot", again)[0] == 0
    assert again.read_bytes() == target.read_bytes()


def test_png_without_a_bound(run: Run, sample: Path, tmp_path: Path) -> None:
    target = tmp_path / "curve.PNG"
    assert run("analyze", sample, "--no-bound", "--plot", target)[0] == 0
    data = target.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    assert 10_000 < len(data) < 300_000


def test_nothing_to_draw_costs_no_result(run: Run, write: Write, tmp_path: Path) -> None:
    target = tmp_path / "curve.png"
    code, out, err = run("analyze", write({"hash_ids": [], "input_length": 0}), "--plot", target)
    assert code == 0
    assert "NOT WORTH CACHING" in out
    assert "not drawn" in err
    assert not target.exists()


def test_without_matplotlib(
    run: Run, sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    code, out, err = run("analyze", sample, "--plot", tmp_path / "curve.png")
    assert (code, out) == (2, "")
    assert "pip install 'cache-worthy[plot]'" in err
