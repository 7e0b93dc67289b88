"""The bench of ``analyze`` measures the sections that it says, and notices one that is missing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from commands import script

Write = Callable[..., Path]
TRACE = "conversation_trace.jsonl"


def test_each_run_has_the_sections_it_is_named_after(write: Write, tmp_path: Path) -> None:
    write(*[{"hash_ids": [1, n % 7, 100 + n % 7]} for n in range(20)], name=TRACE)
    options = ("--sections", "splits", "--rounds", "1", "--results", tmp_path)
    done = script("bench/analyze.py", "--traces", tmp_path, *options)
    assert done.returncode == 0, done.stderr
    document = json.loads((tmp_path / "analyze.json").read_text(encoding="utf-8"))
    found = document["facts"]["sections"]
    assert list(found) == ["none", "splits", "everything"]
    there = {name: {"bound", "band", "splits"} & set(names) for name, names in found.items()}
    assert there == {"none": set(), "splits": {"splits"}, "everything": {"bound", "band", "splits"}}
    figures = {f["name"]: f["value"] for f in document["figures"]}
    assert "splits adds" in figures
    assert figures["everything, by the clock"] > 0
    assert figures["no section (questions 1, 2, 3, 5, 6)"] > 0


def test_a_section_that_did_not_run_is_no_figure(write: Write, tmp_path: Path) -> None:
    write(*[{"hash_ids": [n]} for n in range(5)], name=TRACE)  # question 1 ends the run
    options = ("--sections", "splits", "--rounds", "1")
    done = script("bench/analyze.py", "--traces", tmp_path, *options)
    assert done.returncode == 1
    assert "RuntimeError: section splits was measured and is not in the result" in done.stderr
