"""``compare``: refusals, symmetry, spreads by hand, and text that says what the JSON says."""

from __future__ import annotations

import copy
import io
import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from cache_worthy.advise.comparison import Comparison, compare, on_curve
from cache_worthy.advise.reader import Reader
from cache_worthy.documents import document, schema
from cache_worthy.errors import UsageError
from cache_worthy.report.terminal import render_sections
from cache_worthy.report.words.comparison import sections

Run = Callable[..., tuple[int, str, str]]
Write = Callable[..., Path]
Document = dict[str, Any]

SAMPLE = Path(__file__).resolve().parents[3] / "examples" / "sample_log.jsonl"


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Document, Document]:
    """The sample log, and its first 90 requests under an engine's eyes."""
    from cache_worthy.cli import main

    folder = tmp_path_factory.mktemp("pair")
    day = folder / "day2.jsonl"
    day.write_bytes(b"".join(SAMPLE.read_bytes().splitlines(keepends=True)[:90]))
    for name, argv in (("a", [str(SAMPLE)]), ("b", [str(day), "--engine", "sglang"])):
        out = str(folder / f"{name}.json")
        assert main(["analyze", *argv, "--json", "-q", "-o", out]) == 0
    return tuple(json.loads((folder / f"{n}.json").read_text()) for n in "ab")


def compared(a: Document, b: Document) -> Comparison:
    return compare(Reader("A", a), Reader("B", b))


def rows(c: Comparison) -> dict[str, Any]:
    return {row.name: row for section in c.sections for row in section.rows}


def test_a_document_is_like_itself(pair: tuple[Document, Document]) -> None:
    for d in pair:
        c = compared(d, copy.deepcopy(d))
        assert c.settings == ()
        assert c.changes == ()
        assert rows(c)
        for row in rows(c).values():
            assert row.a == row.b
            assert row.change in (None, 0)
            assert not row.beyond
        best = d["capacity"]["recommended_cost_ratio"]
        assert [(x.low, x.high) for x in c.crossed] == [(best, best)] * 2
        assert [(s.rank_a, s.rank_b) for s in c.pins.shared] == [(n, n) for n in range(5)]
        assert "The answers are the same." in render_sections(sections(c))


def test_the_sides_swap(pair: tuple[Document, Document]) -> None:
    one, two = compared(*pair), compared(*reversed(pair))
    assert (one.a.source, one.b.source) == (two.b.source, two.a.source)
    there, back = rows(one), rows(two)
    assert set(there) == set(back)
    for name, row in there.items():
        assert (row.a, row.b, row.beyond) == (back[name].b, back[name].a, back[name].beyond)
        if row.unit == "share" and row.change is not None:
            assert row.change == pytest.approx(-back[name].change)
    assert {s.block for s in one.pins.shared} == {s.block for s in two.pins.shared}
    assert [(x.asked_by, x.low) for x in one.crossed] == [
        ({"A": "B", "B": "A"}[x.asked_by], x.low) for x in reversed(two.crossed)
    ]


def test_values_are_those_of_the_documents(pair: tuple[Document, Document]) -> None:
    a, b = pair
    found = rows(compared(a, b))
    for name, path in {
        "requests": ("workload", "requests"),
        "working set": ("workload", "working_set_bytes"),
        "ceiling of caching": ("worth", "ceiling"),
        "floor": ("workload", "floor_bytes"),
        "recommended": ("capacity", "recommended_bytes"),
        "cost there": ("capacity", "recommended_cost_ratio"),
    }.items():
        one, two = a[path[0]][path[1]], b[path[0]][path[1]]
        assert (found[name].a, found[name].b) == (one, two)
        change = two - one if name.startswith("ceiling") else two / one - 1
        assert found[name].change == pytest.approx(change)
    for d, side in ((a, "a"), (b, "b")):
        causes = {c["name"]: c["fraction"] for c in d["causes"]["new"]}
        assert getattr(found["new below a known prefix"], side) == causes["new_below"]
    assert found["engine's option"].a is None
    assert found["engine's option"].b == b["engine"]["best"]
    (engine,) = compared(a, b).settings
    assert (engine.name, engine.a, engine.b) == ("engine", "generic", "sglang")


def spread(d: Document, halves: tuple[int, int], band: tuple[int, int], asked: int) -> Document:
    d = copy.deepcopy(d)
    d["capacity"]["recommended_bytes"] = asked
    d["band"]["capacity"] |= {"low_bytes": band[0], "high_bytes": band[1]}
    for part, size in zip(
        [p for p in d["splits"]["parts"] if p["name"].startswith("half")], halves, strict=True
    ):
        part["recommended_bytes"] = size
    return d


@pytest.mark.parametrize(
    ("a", "b", "beyond"),
    [
        (((10, 20), (15, 15), 15), ((21, 30), (25, 25), 25), True),
        (((10, 21), (15, 15), 15), ((21, 30), (25, 25), 25), False),  # they touch
        (((15, 15), (10, 22), 15), ((25, 25), (21, 30), 25), False),  # by the band alone
        (((15, 15), (15, 15), 15), ((16, 16), (16, 16), 16), True),
        (((15, 15), (15, 15), 16), ((16, 16), (16, 16), 17), False),  # its own value counts
    ],
)
def test_beyond_the_spread_by_hand(
    pair: tuple[Document, Document],
    a: tuple[tuple[int, int], tuple[int, int], int],
    b: tuple[tuple[int, int], tuple[int, int], int],
    beyond: bool,
) -> None:
    c = compared(spread(pair[0], *a), spread(pair[0], *b))
    assert rows(c)["recommended"].beyond == beyond
    (text,) = [t for t in c.changes if t.startswith("The memory to give")]
    assert ("beyond" in text) == beyond
    bare = copy.deepcopy(pair[0]) | {"band": None, "splits": None}
    assert rows(compared(bare, pair[1]))["recommended"].beyond is None


def test_an_estimate_is_as_wide_as_its_error(pair: tuple[Document, Document]) -> None:
    """By hand: 1.10 +/- 0.05 meets 1.04 to 1.06, and 1.10 +/- 0.03 does not."""
    a, b = (copy.deepcopy(pair[0]) | {"band": None, "splits": None} for _ in range(2))
    for d, cost, error in ((a, 1.10, 0.05), (b, 1.05, 0.01)):
        d["capacity"]["recommended_cost_ratio"] = cost
        d["sample"] = {"curve": [{"error": error}] * len(d["capacity"]["points"])}
    assert rows(compared(a, b))["cost there"].beyond is False
    a["sample"]["curve"] = [{"error": 0.03}] * len(a["capacity"]["points"])
    assert rows(compared(a, b))["cost there"].beyond is True


def test_a_tie_within_the_band_is_no_change_of_policy(pair: tuple[Document, Document]) -> None:
    a, b = copy.deepcopy(pair[0]), copy.deepcopy(pair[0])
    size = a["capacity"]["recommended_bytes"]
    for d, best, tied in ((a, "lru", ["lru", "gdsf"]), (b, "gdsf", ["gdsf", "cost_only"])):
        next(r for r in d["policy"]["rows"] if r["bytes"] == size)["best"] = best
        next(r for r in d["band"]["policy"] if r["bytes"] == size).update(best=None, tied=tied)
    assert rows(compared(a, b))["cheapest, recommended"].beyond is False
    next(r for r in b["band"]["policy"] if r["bytes"] == size).update(best="gdsf", tied=[])
    assert rows(compared(a, b))["cheapest, recommended"].beyond is False
    next(r for r in a["band"]["policy"] if r["bytes"] == size).update(best="lru", tied=[])
    assert rows(compared(a, b))["cheapest, recommended"].beyond is True


def test_capacity_on_the_others_curve(pair: tuple[Document, Document]) -> None:
    """By hand on a curve of three points."""
    assert on_curve([(10, 2.0), (20, 1.5), (40, 1.0)], 15) == (1.5, 2.0)
    a, b = copy.deepcopy(pair[0]), copy.deepcopy(pair[0])
    point = b["capacity"]["points"][0]
    b["capacity"]["points"] = [
        {**point, "bytes": size, "cost_ratio": cost} for size, cost in ((10, 2.0), (20, 1.5))
    ]
    for asked, low, high in ((9, None, None), (15, 1.5, 2.0), (20, 1.5, 1.5), (99, 1.5, 1.5)):
        a["capacity"]["recommended_bytes"] = asked
        first = compared(a, b).crossed[0]
        assert (first.asked_by, first.on, first.low, first.high) == ("A", "B", low, high)
        assert ("cannot serve" in first.text) == (low is None)


def test_differing_settings_are_named_first(
    run: Run, sample: Path, tmp_path: Path, pair: tuple[Document, Document]
) -> None:
    a, b = tmp_path / "a.json", tmp_path / "b.json"
    a.write_text(json.dumps(pair[0]), encoding="utf-8")
    options = ("--model", "Llama-3.1-70B", "--block-size", 128, "--skip", "band,splits,bound,tails")
    assert run("analyze", sample, *options, "--json", "-o", b)[0] == 0
    code, text, _ = run("compare", a, b)
    assert code == 0
    head = " ".join(text.partition("WORKLOAD")[0].split())
    assert "model: Llama-3.1-8B in A, Llama-3.1-70B in B: costs, cost ratios and GiB" in head
    assert "block tokens: 16 in A, 128 in B: blocks, depths and hit rates" in head
    assert "Not compared: prompts were cut otherwise" in " ".join(text.split())


def test_pins_of_block_ids_are_not_compared_between_logs(
    run: Run, write: Write, tmp_path: Path
) -> None:
    """The same numbers in two logs of block ids need not be the same prefix; in one log they are."""
    names = []
    for n, requests in enumerate((3, 4)):
        log = write(*[{"hash_ids": [1, 2 + k % 2]} for k in range(requests)], name=f"{n}.jsonl")
        names.append(tmp_path / f"{n}.json")
        assert run("analyze", log, "--json", "-o", names[-1])[0] == 0
    other = json.loads(run("compare", *names, "--json")[1])
    assert other["pins"]["comparable"] is False
    assert other["pins"]["shared"] == []
    same = json.loads(run("compare", names[0], names[0], "--json")[1])
    assert len(same["pins"]["shared"]) == same["pins"]["listed_a"] > 0


def test_one_that_is_not_worth_caching(run: Run, write: Write, tmp_path: Path) -> None:
    one, two = tmp_path / "1.json", tmp_path / "2.json"
    assert run("analyze", write({"hash_ids": [], "input_length": 0}), "--json", "-o", one)[0] == 0
    assert run("analyze", write(*[{"hash_ids": [1]}] * 4), "--json", "-o", two)[0] == 0
    for pair in ((one, two), (two, one), (one, one)):
        code, text, _ = run("compare", *pair)
        assert code == 0
        assert ("not worth caching" in text) == (one in pair)


def test_text_says_what_json_says(
    run: Run, tmp_path: Path, pair: tuple[Document, Document]
) -> None:
    files = []
    for n, d in enumerate(pair):
        files.append(tmp_path / f"{n}.json")
        files[-1].write_text(json.dumps(d), encoding="utf-8")
    code, out, _ = run("compare", *files, "--json")
    assert code == 0
    found = json.loads(out)
    jsonschema.Draft202012Validator(schema("compare")).validate(found)
    code, text, _ = run("compare", *files)
    assert code == 0
    assert max(map(len, text.splitlines())) <= 80
    flat = " ".join(text.split())
    assert all(change in flat for change in found["changes"])
    lines = text.splitlines()
    for section in found["sections"]:
        at = next(n for n, line in enumerate(lines) if line.strip() == section["title"].upper())
        for row, line in zip(section["rows"], lines[at + 3 :], strict=False):
            name, *cells = re.split(r"\s{2,}", line.strip())
            assert name == row["name"]
            for cell, value in zip(cells[:2], (row["a"], row["b"]), strict=True):
                assert cell == cell_of(row["unit"], value)
            assert line.endswith(" *") == bool(row["beyond"])
    for s in found["pins"]["shared"]:
        assert f"{s['references_a']} / {s['references_b']}" in flat


def cell_of(unit: str, value: Any) -> str:
    if value is None:
        return "--"
    if unit == "words":
        return str(value)
    if unit == "bytes":
        return f"{value / 2**30:.2f} GiB"
    if unit == "share":
        return f"{100 * value:.1f}%"
    return f"{value:.4f}" if unit == "ratio" else f"{value:.6g}"


def test_standard_input_and_output(
    run: Run, tmp_path: Path, pair: tuple[Document, Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    a, out = tmp_path / "a.json", tmp_path / "out.txt"
    a.write_text(json.dumps(pair[0]), encoding="utf-8")
    monkeypatch.setattr(sys, "stdin", io.StringIO(json.dumps(pair[1])))
    assert run("compare", a, "-", "-o", out)[:2] == (0, "")
    assert "COMPARED" in out.read_text(encoding="utf-8")


def test_refusals(run: Run, tmp_path: Path, pair: tuple[Document, Document]) -> None:
    good = tmp_path / "good.json"
    good.write_text(json.dumps(pair[0]), encoding="utf-8")
    bad: list[tuple[str | bytes, str]] = [
        ("", "not JSON"),
        ("[" * 10**5, "not JSON"),
        (b"\xff\xfe\x00", "not UTF-8"),
        ("[1]", "no document of cache-worthy"),
        ('{"tool": "other"}', "no document of cache-worthy"),
        (json.dumps(document("policies", {"policies": []})), "a document of 'policies'"),
        (json.dumps({**pair[0], "schema": "urn:cache-worthy:analyze:2"}), "write both documents"),
        (json.dumps({k: v for k, v in pair[0].items() if k != "schema"}), "follows schema None"),
        (json.dumps({**pair[0], "capacity": {}}), "capacity.recommended_bytes: expected the field"),
        (json.dumps({**pair[0], "input": []}), "no whole analyze document"),
    ]
    for text, words in bad:
        file = tmp_path / "bad.json"
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        for argv in ((good, file), (file, good)):
            code, out, err = run("compare", *argv)
            assert (code, out) == (2, ""), text[:80]
            assert words in err
            assert "bad.json" in err
            assert len(err.splitlines()) <= 2
    assert run("compare", good, tmp_path / "absent.json")[0] == 2
    assert run("compare", "-", "-")[0] == 2
    code, _, err = run("compare", good, good, "-o", good, "--force")
    assert (code, "is one of the documents" in err) == (2, True)
    assert json.loads(good.read_text(encoding="utf-8")) == pair[0]


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place of a document: its container and key; of arrays the first and last element."""
    if isinstance(value, dict):
        for key in value:
            yield value, key
            yield from places(value[key])
    elif isinstance(value, list) and value:
        for n in {0, len(value) - 1}:
            yield value, n
            yield from places(value[n])


def test_any_damage_is_a_usage_error_or_a_comparison(pair: tuple[Document, Document]) -> None:
    """One place at a time gone or of another kind: never a traceback."""
    refused = 0
    damaged = copy.deepcopy(pair[0])
    kinds: list[Any] = [[{}], "text", None, -1]
    for n, (container, key) in enumerate(list(places(damaged))):
        kept = container[key]
        container[key] = kinds[n % len(kinds)]
        try:
            order = (damaged, pair[1]) if n % 2 else (pair[1], damaged)
            render_sections(sections(compared(*order)))
        except UsageError:
            refused += 1
        container[key] = kept
    assert damaged == pair[0]
    assert refused > 20


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1" + "0" * 400, "1e308"])
@pytest.mark.parametrize("field", ["distinct_blocks", "reuse_fraction"])
def test_a_document_with_no_number_is_refused(
    run: Run, pair: tuple[Document, Document], tmp_path: Path, field: str, value: str
) -> None:
    broken, whole = copy.deepcopy(pair[0]), tmp_path / "whole.json"
    whole.write_text(json.dumps(pair[0]), encoding="utf-8")
    broken["workload"][field] = "HERE"
    edited = tmp_path / "edited.json"
    edited.write_text(json.dumps(broken).replace('"HERE"', value), encoding="utf-8")
    for names in ((edited, whole), (whole, edited)):
        code, out, err = run("compare", *names)
        assert (code, out) == (2, "")
        assert "edited.json" in err


def test_a_document_cannot_act_in_the_terminal(pair: tuple[Document, Document]) -> None:
    hostile = copy.deepcopy(pair[0])
    hostile["input"]["source"] = "log\x1b[31m\u202e"
    hostile["parameters"]["model"]["name"] = "m\x9b2J"
    text = render_sections(sections(compared(hostile, pair[1])))
    assert "log\\x1b[31m\\u202e" in text
    assert text.replace("\n", "").isprintable()
