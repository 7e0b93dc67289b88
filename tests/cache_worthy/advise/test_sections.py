"""Sections that can be left out: one switch, recorded in the result."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from cache_worthy.advise.sections import SECTIONS

Run = Callable[..., tuple[int, str, str]]


def document(run: Run, *argv: object) -> dict[str, object]:
    code, out, _ = run("analyze", *argv, "--json")
    assert code == 0
    found: dict[str, object] = json.loads(out)
    return found


@pytest.mark.parametrize(
    "spelled", [["--skip", "bound"], ["--no-bound"], ["--skip", "bound,bound"]]
)
def test_every_spelling_is_one_switch(run: Run, sample: Path, spelled: list[str]) -> None:
    others = ",".join(name for name in SECTIONS if name != "bound")
    found = document(run, sample, *spelled, "--skip", others)
    assert found["parameters"]["skip"] == sorted(SECTIONS)  # type: ignore[index]
    assert all(found.get(name) is None for name in SECTIONS)


def test_a_section_is_there_unless_skipped(run: Run, sample: Path) -> None:
    whole = document(run, sample)
    assert whole["parameters"]["skip"] == []  # type: ignore[index]
    named = [name for name in SECTIONS if name in whole]
    assert "bound" in named
    for name in named:
        assert whole[name] is not None
        left = document(run, sample, "--skip", name)
        assert left[name] is None
        assert left["parameters"]["skip"] == [name]  # type: ignore[index]
        assert [n for n in named if left[n] is None] == [name]


@pytest.mark.parametrize("text", ["nothing", "bound,", "Bound", "", "bound;band"])
def test_an_unknown_name_is_one_line_with_the_list(run: Run, sample: Path, text: str) -> None:
    code, out, err = run("analyze", sample, "--skip", text)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert all(name in err for name in SECTIONS)
