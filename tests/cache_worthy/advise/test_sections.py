"""The registry: what is left out, and a section that a contributor adds (its files, one entry)."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import jsonschema
import pytest
from analyses import document

import cache_worthy.advise
import cache_worthy.report.words
from cache_worthy.advise import sections
from cache_worthy.advise.analysis import Options, analyze
from cache_worthy.advise.sections import SECTIONS, skippable
from cache_worthy.documents import schema
from cache_worthy.logs.session import read_log

Run = Callable[..., tuple[int, str, str]]


@pytest.mark.parametrize(
    "spelled", [["--skip", "bound"], ["--no-bound"], ["--skip", "bound,bound"]]
)
def test_every_spelling_is_one_switch(run: Run, sample: Path, spelled: list[str]) -> None:
    others = ",".join(name for name in skippable() if name != "bound")
    found = document(run, sample, *spelled, "--skip", others)
    assert found["parameters"]["skip"] == sorted(skippable())
    assert all(found.get(name) is None for name in skippable())


def test_a_section_is_there_unless_skipped(run: Run, sample: Path) -> None:
    whole = document(run, sample)
    assert whole["parameters"]["skip"] == []
    assert {name for name in skippable() if whole[name] is None} == set()
    for name in skippable():
        found = document(run, sample, "--skip", name)
        assert found["parameters"]["skip"] == [name]
        assert found[name] is None


@pytest.mark.parametrize("text", ["bond", "", "bound,", "Bound"])
def test_an_unknown_name_is_one_line_with_the_list(run: Run, sample: Path, text: str) -> None:
    code, out, err = run("analyze", sample, "--skip", text)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert all(name in err for name in skippable())


def test_the_entries_fit_together() -> None:
    names = [section.name for section in SECTIONS]
    shown = [section for section in SECTIONS if section.shown]
    for section in SECTIONS:
        assert {*section.needs, *section.wants} <= set(names) - {section.name}
        assert section.shown == bool(section.title) == bool(section.place)
    for kind in (names, [s.result for s in shown], [s.place for s in shown]):
        assert len(set(kind)) == len(kind)


TOY = '''
"""How many requests come twice."""

from __future__ import annotations

from dataclasses import dataclass

from cache_worthy.advise.context import Context
from cache_worthy.advise.section import Section
from cache_worthy.advise.workload import Workload


@dataclass(frozen=True, slots=True)
class Repeats:
    """Requests that are exactly like an earlier one."""

    requests: int
    repeated_fraction: float
    """Of all requests."""
    rule: str


@Section("repeats", needs=("workload",), title="Repeats", place=25, skip="requests that come twice")
def repeats(context: Context, workload: Workload) -> Repeats:
    """Count them."""
    again = workload.requests - len({tuple(path) for path in context.paths})
    return Repeats(again, again / workload.requests, "all blocks are the same")
'''


WORDS = '''
"""The words on requests that come twice."""

from __future__ import annotations

from cache_worthy.advise.analysis import Analysis
from cache_worthy.advise.repeats import Repeats
from cache_worthy.report.model import Prose, Section, table


def words(analysis: Analysis) -> Section | None:
    """A sentence and a table."""
    found = analysis.of(Repeats)
    if found is None:
        return None
    rows = table("repeats-table", "", columns=("what", "requests"), rows=[("repeated", str(found.requests))])
    return Section(about="requests that come twice", parts=(Prose(f"Repeated: {found.rule}."), rows))
'''


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The section of ``TOY`` as a contributor adds it."""
    folder = tmp_path / "advise"
    folder.mkdir()
    (folder / "repeats.py").write_text(TOY, encoding="utf-8")
    monkeypatch.setattr(
        cache_worthy.advise, "__path__", [*cache_worthy.advise.__path__, str(folder)]
    )
    words = tmp_path / "words"
    words.mkdir()
    (words / "repeats.py").write_text(WORDS, encoding="utf-8")
    monkeypatch.setattr(
        cache_worthy.report.words, "__path__", [*cache_worthy.report.words.__path__, str(words)]
    )
    added = importlib.import_module("cache_worthy.advise.repeats").repeats
    monkeypatch.setattr(sections, "SECTIONS", (*sections.SECTIONS, added))
    yield
    for name in ("cache_worthy.advise.repeats", "cache_worthy.report.words.repeats"):
        monkeypatch.delitem(sys.modules, name, raising=False)


@pytest.mark.usefixtures("toy")
def test_an_added_section_stands_in_document_schema_and_comparison(
    run: Run, write: Callable[..., Path], tmp_path: Path
) -> None:
    """By hand: of four requests two are like an earlier one, of three one."""
    skip = ("--skip", "bound,band,splits,tails,coldstart,causes,pinsim")
    files = []
    for name, paths in (("a", [[1], [1, 2], [1], [1, 2]]), ("b", [[1], [1, 2], [1]])):
        log = write(*[{"hash_ids": path} for path in paths], name=f"{name}.jsonl")
        found = document(run, log, *skip)
        jsonschema.Draft202012Validator(schema("analyze")).validate(found)
        files.append(tmp_path / f"{name}.json")
        files[-1].write_text(json.dumps(found), encoding="utf-8")
        assert list(found)[-1] == "repeats"
        assert found["repeats"]["requests"] == {"a": 2, "b": 1}[name]
        assert document(run, log, *skip, "--skip", "repeats")["repeats"] is None
    judge = jsonschema.Draft202012Validator(schema("analyze"))
    assert not judge.is_valid({**found, "repeats": {**found["repeats"], "requests": "one"}})
    assert not judge.is_valid({k: v for k, v in found.items() if k != "repeats"})
    compared = json.loads(run("compare", *files, "--json")[1])["sections"][-1]
    assert compared == {
        "title": "REPEATS",
        "rows": [
            {
                "name": name,
                "unit": unit,
                "a": a,
                "b": b,
                "change": pytest.approx(change),
                "beyond": None,
            }
            for name, unit, a, b, change in (
                ("requests", "count", 2, 1, -0.5),
                ("repeated fraction", "share", 0.5, 1 / 3, -1 / 6),
            )
        ],
    }
    rows = [line.split() for line in run("compare", *files)[1].splitlines()]
    assert ["requests", "2", "1", "-50.0%"] in rows
    page = tmp_path / "a.html"
    code, text, _ = run("analyze", tmp_path / "a.jsonl", *skip, "--html", page)
    assert code == 0
    assert "REPEATS   requests that come twice" in text
    assert ["repeated", "2"] in [line.split() for line in text.splitlines()]
    html = page.read_text(encoding="utf-8")
    assert 'id="repeats-table"' in html
    assert "all blocks are the same" in html


def test_without_it_nothing_is_left_of_it(run: Run, sample: Path) -> None:
    assert "repeats" not in skippable()
    assert "repeats" not in document(run, sample, "--skip", ",".join(skippable()))


def test_an_analysis_enters_each_module_once(sample: Path) -> None:
    """A reader who follows the loop of an analysis from section to section goes back to no file."""
    log, stops = read_log(sample), list[str]()
    measures = {section.measure.__code__: section.measure.__module__ for section in SECTIONS}

    def entered(frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and (name := measures.get(frame.f_code)) and name not in stops[-1:]:
            stops.append(name)

    before = sys.getprofile()
    sys.setprofile(entered)
    try:
        analyze(log, Options())
    finally:
        sys.setprofile(before)
    assert set(stops) >= {section.measure.__module__ for section in SECTIONS if section.skip}
    assert [name for n, name in enumerate(stops) if name in stops[:n]] == []
