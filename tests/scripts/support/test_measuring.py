"""The benches share one way of measuring and one shape of result."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import measuring
import pytest
from measuring import Usage
from published import ROOT


def test_a_process_is_measured_by_itself() -> None:
    script = "import time; held = b'x' * (200 << 20); time.sleep(0.1); print(len(held))"
    small = measuring.measured([sys.executable, "-c", "print(1)"])
    large = measuring.measured([sys.executable, "-c", script])
    assert large.stdout.strip() == str(200 << 20)
    assert large.seconds >= 0.1
    assert 190 < large.megabytes - small.megabytes < 260


def test_a_failed_process_is_no_measurement() -> None:
    with pytest.raises(RuntimeError, match="ended with 3"):
        measuring.measured([sys.executable, "-c", "raise SystemExit(3)"])


def test_ratios_point_the_same_way(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = measuring.Results("one", "a test")
    results.figure("time", 2.0, "s", yardstick="peer", yardstick_value=6.0)
    results.figure("speed", 9.0, "M/s", yardstick="peer", yardstick_value=3.0, more_is_better=True)
    results.figure("alone", 1.23456789, "s")
    results.skip("the peer")
    results.write(tmp_path / "new")
    found = json.loads((tmp_path / "new" / "one.json").read_text(encoding="utf-8"))
    assert [f.get("ratio") for f in found["figures"]] == [3.0, 3.0, None]
    assert found["figures"][2]["value"] == 1.2346
    assert found["skipped"] == ["the peer"]
    assert {"processor", "cores"} <= set(found["machine"])
    assert "numpy" in found["versions"]
    captured = capsys.readouterr()
    assert "SKIPPED: the peer" in captured.err
    assert "peer 6, ratio 3" in captured.out


def test_what_was_there_before_stays_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = tmp_path / "one.json"
    old.write_text("old", encoding="utf-8")
    results = measuring.Results("one", "a test")

    def full(file: Path, text: str, **options: object) -> int:
        with open(file, "w") as out:
            out.write(text[:10])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", full)
        with pytest.raises(SystemExit, match=r"one\.json not written: No space left"):
            results.write(tmp_path)
    assert [f.name for f in tmp_path.iterdir()] == ["one.json"]
    assert old.read_text(encoding="utf-8") == "old"
    with pytest.raises(SystemExit, match="not written: File exists"):
        results.write(old)
    results.write(tmp_path)
    assert json.loads(old.read_text(encoding="utf-8"))["bench"] == "one"


def test_the_commit_is_that_of_the_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    found = iter(["aaa", " M file"])
    monkeypatch.setattr(measuring, "_git", lambda *arguments: next(found))
    document = measuring.Results("one", "a test").document()
    assert (document["commit"], document["uncommitted_changes"]) == ("aaa", True)
    monkeypatch.setattr(measuring, "_git", lambda *arguments: None)
    document = measuring.Results("one", "a test").document()
    assert (document["commit"], document["uncommitted_changes"]) == (None, None)


def test_new_files_are_changes_and_results_are_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measuring, "ROOT", tmp_path)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    for name, changed in (("bench/results/one.json", False), ("new.py", True)):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
        assert bool(measuring._changes()) == changed


def test_the_spread_stands_beside_a_median() -> None:
    results = measuring.Results("one", "a test")
    results.figure("time", 2.0, "s", spread=[2.5, 1.123456789, 2.0])
    results.figure("once", 2.0, "s", spread=[2.0])
    assert results.figures[0]["spread"] == [1.1235, 2.5]
    assert "spread" not in results.figures[1]


def test_no_round_is_no_number_of_rounds() -> None:
    assert measuring.positive("3") == 3
    for text in ("0", "-1", "x", ""):
        with pytest.raises(argparse.ArgumentTypeError, match="expected 1 or more"):
            measuring.positive(text)


def test_rounds_alternate_and_the_median_counts() -> None:
    order: list[str] = []

    def run(command: Sequence[str]) -> Usage:
        order.append(command[0])
        return Usage(float(len(order)), 0.0, 1.0, "")

    found = measuring.commands_in_turn({"a": ["a"], "b": ["b"]}, 3, run)
    assert order == ["a", "b"] * 3
    assert (found["a"].seconds, found["b"].seconds) == (3.0, 4.0)
    assert [u.seconds for u in found["a"].rounds] == [1.0, 3.0, 5.0]


def test_committed_results_name_no_machine_and_no_path() -> None:
    import socket

    files = sorted(measuring.RESULTS.glob("*.json"))
    assert files
    for file in files:
        text = file.read_text(encoding="utf-8")
        assert "/" + "work" not in text
        assert str(ROOT) not in text
        assert len(socket.gethostname()) < 5 or socket.gethostname() not in text
        assert json.loads(text)["figures"]
