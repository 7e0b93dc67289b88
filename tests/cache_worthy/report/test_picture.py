"""``analyze --plot``: one figure as a file of its own, SVG, and PNG drawn from the same SVG."""

from __future__ import annotations

import importlib.util
import json
import re
import struct
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from reports import gib, made

from cache_worthy.errors import UsageError
from cache_worthy.report.model import Figure
from cache_worthy.report.picture import picture, require_plot, standalone

SAMPLE = Path(__file__).resolve().parents[3] / "examples" / "sample_log.jsonl"
Run = Callable[..., tuple[int, str, str]]
Write = Callable[..., Path]

SVG = "{http://www.w3.org/2000/svg}"
HEADS = ("sample_log.jsonl: 123 requests, Llama-3.1-8B", "caching removes at most 51.0%")


def figures() -> list[Figure]:
    """Every figure of the sample log's report."""
    return [p for s in made(SAMPLE).report.sections for p in s.parts if isinstance(p, Figure)]


def texts(root: ET.Element) -> list[str]:
    return [e.text or "" for e in root.iter(f"{SVG}text")]


def test_svg_says_what_is_marked(run: Run, sample: Path, tmp_path: Path) -> None:
    target = tmp_path / "curve.svg"
    options = ("--capacity-gib", 0.8, "--skip", "band,splits,tails,coldstart,pinsim")
    code, out, _ = run("analyze", sample, *options, "--json", "--plot", target)
    assert code == 0
    document = json.loads(out)
    root = ET.parse(target).getroot()
    words = texts(root)
    best, floor = document["capacity"]["recommended_bytes"], document["workload"]["floor_bytes"]
    for mark in (f"recommended: {gib(best)}", f"floor: {gib(floor)}", "yours: 0.80 GiB"):
        assert mark in words
    assert words[:2] == [
        "sample_log.jsonl: 123 requests, Llama-3.1-8B",
        f"caching removes at most {100 * document['worth']['ceiling']:.1f}% of prefill work",
    ]
    for legend in (
        "lru, the deployed default",
        "cheapest policy, where all were replayed",
        "certified lower bound: no policy can enter the shaded area",
    ):
        assert legend in words
    assert words[-1] == "Recompute as a multiple of the compulsory minimum, which any cache pays."
    assert "KV cache, GiB (log scale)" in words
    assert root.get("aria-label", "").startswith("Capacity curve. Cost over capacity, from ")
    again = tmp_path / "again.svg"
    assert run("analyze", sample, *options, "--plot", again)[0] == 0
    assert again.read_bytes() == target.read_bytes()


@pytest.mark.parametrize("n", range(5))
def test_a_figure_stands_alone(n: int) -> None:
    """Well-formed, as large as it says, with its colours, and no reference to anything."""
    figure = figures()[n]
    text = standalone(figure, HEADS)
    root = ET.fromstring(text)
    assert root.tag == f"{SVG}svg"
    assert root.get("viewBox") == f"0 0 {root.get('width')} {root.get('height')}"
    found = " ".join(texts(root))
    for words in (*HEADS, *(item.words for item in figure.legend)):
        assert words in found
    assert figure.caption in found
    style = root.findtext(f"{SVG}style") or ""
    assert "var(" not in style
    classes = {c for e in root.iter() for c in (e.get("class") or "").split()}
    coloured = classes - {"label", "axis-title", "standalone", "memory"}
    assert [c for c in coloured if f".{c} " not in style and f".{c}," not in style] == []
    assert not re.search(r"href|url\(|@import|<script", text)
    height = float(root.get("height", 0))
    assert all(0 < float(e.get("y", 0)) <= height for e in root.iter(f"{SVG}text"))


def test_legends_that_are_too_wide_break() -> None:
    figure = figures()[1]
    item = figure.legend[0]
    many = replace(figure, legend=tuple(replace(item, words=f"{n} " + "w" * 60) for n in range(3)))
    one, three = (ET.fromstring(standalone(f, ())) for f in (figure, many))
    rows = {e.get("y") for e in three.iter(f"{SVG}text") if "www" in (e.text or "")}
    assert len(rows) == 3
    assert float(three.get("height", 0)) > float(one.get("height", 0))


def test_png(run: Run, sample: Path, tmp_path: Path) -> None:
    target = tmp_path / "curve.PNG"
    assert run("analyze", sample, "--no-bound", "--plot", target)[0] == 0
    data = target.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    assert 10_000 < len(data) < 300_000
    assert struct.unpack(">II", data[16:24])[0] == 2 * 752


def test_png_has_its_text(tmp_path: Path) -> None:
    """Of the fonts of the package: the machine's are not asked, and without one nothing is written."""
    figure = figures()[1]
    written = picture(figure, HEADS, "a.png")
    assert written == picture(figure, HEADS, "a.png")
    blank = picture(figure, ("", ""), "a.png")
    assert struct.unpack(">II", written[16:24]) == struct.unpack(">II", blank[16:24])
    assert len(written) > len(blank) + 2000


@pytest.mark.parametrize("missing", ["resvg_py", "font_source_sans_pro"])
def test_without_the_extra(
    run: Run, sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    """A PNG is refused in one line before the work; an SVG needs nothing."""
    find = importlib.util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda n: None if n == missing else find(n))
    code, out, err = run("analyze", sample, "--plot", tmp_path / "curve.png")
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert f"pip install {missing.replace('_', '-')}, or" in err
    assert not (tmp_path / "curve.png").exists()
    few = ("--skip", "bound,band,splits")
    assert run("analyze", sample, *few, "--plot", tmp_path / "curve.svg")[0] == 0


def test_other_kinds_are_refused() -> None:
    with pytest.raises(UsageError, match=r"expected a name that ends in \.png or \.svg"):
        require_plot("curve.pdf")


def test_nothing_to_draw_costs_no_result(run: Run, write: Write, tmp_path: Path) -> None:
    target = tmp_path / "curve.png"
    code, out, err = run("analyze", write({"hash_ids": [], "input_length": 0}), "--plot", target)
    assert code == 0
    assert "NOT WORTH CACHING" in out
    assert "not drawn" in err
    assert not target.exists()
