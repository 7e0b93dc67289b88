"""The published tables are exact to the last digit, and a check that should fail does.

Rank 1 on the traces: the tables equal what is measured. Mutation: one unit in the last digit of
any cell is a difference, so no cell is compared loosely or left out.
"""

from __future__ import annotations

import re
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import characterize
import h1_check
import plot_distributions
import published
import pytest
import replay_check
import verify


def perturbed(cell: str) -> tuple[str, str]:
    """The cell one unit up and down in its last digit."""
    unit = Decimal(1).scaleb(int(Decimal(cell).as_tuple().exponent))
    return str(Decimal(cell) + unit), str(Decimal(cell) - unit)


def count_differences(measured: published.Cells, table: published.Cells) -> int:
    checks = published.Checks()
    checks.cells("t", measured, table)
    return checks.failed


def test_perturbed_by_hand() -> None:
    assert perturbed("36.6") == ("36.7", "36.5")
    assert perturbed("12031") == ("12032", "12030")


def test_a_missing_or_extra_cell_is_a_difference(capsys: pytest.CaptureFixture[str]) -> None:
    assert count_differences({"a": "1"}, {"a": "1", "b": "2"}) == 1
    assert count_differences({"a": "1", "b": "2"}, {"a": "1"}) == 1
    capsys.readouterr()


def test_checks_that_compared_nothing_do_not_hold(capsys: pytest.CaptureFixture[str]) -> None:
    checks = published.Checks()
    checks.summary()
    assert checks.exit_code == 1
    assert "nothing was compared" in capsys.readouterr().out


def test_the_tables_hold_every_published_cell() -> None:
    assert {t: len(row) for t, row in published.TRACE_TABLE.items()} == dict.fromkeys(
        published.TRACES, 6
    )
    assert len(published.REPLAY_TABLE) == 40
    at_hand = [key for key in published.REPLAY_TABLE if key[0] != "toolagent"]
    assert len(at_hand) == 25
    # The reuse of a row is what its own counts give: the transcription is consistent in itself.
    for row in published.TRACE_TABLE.values():
        total, distinct = int(row["blocks"]), int(row["distinct blocks"])
        assert characterize.fixed(100 * (total - distinct), total, 1) == row["block reuse, percent"]


def test_quantile_by_hand() -> None:
    ordered = list(range(1, 11))
    got = [plot_distributions.quantile(ordered, p) for p in (0, 10, 11, 50, 90, 100)]
    assert got == [1, 1, 2, 5, 9, 10]


def test_crossover_by_hand() -> None:
    def point(percent: int, wins: bool) -> h1_check.Point:
        one = Fraction(1)
        landlord = one if wins else one * 3
        return h1_check.Point(percent, one * 2, landlord, one, one)

    def of(*wins: bool) -> tuple[int, int] | None:
        return h1_check.crossover([point(i, w) for i, w in enumerate(wins)])

    assert of(True, True, False, False) == (1, 2)
    assert of(True, False, True, False) == (2, 3)
    assert of(False, False) is None
    assert of(True, True) is None


@pytest.mark.parametrize(
    "script", ["characterize", "plot_distributions", "replay_check", "h1_check", "verify"]
)
def test_absent_traces_exit_2_with_one_line(script: str, tmp_path: Path) -> None:
    path = published.ROOT / "scripts" / f"{script}.py"
    done = subprocess.run(
        [sys.executable, str(path), "--traces", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "fetch_traces" in done.stderr
    assert "Traceback" not in done.stderr


def test_verify_needs_both_traces(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "conversation_trace.jsonl").write_text("{}\n")
    assert verify.main(["--traces", str(tmp_path)]) == 2
    assert "lacks synthetic_trace.jsonl" in capsys.readouterr().err


def test_verify_goes_on_after_a_failure_and_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for trace in verify.REQUIRED:
        published.trace_file(tmp_path, trace).write_text("{}\n")
    steps = [[sys.executable, "-c", f"print('ran {c}'); raise SystemExit({c})"] for c in (0, 3, 0)]
    monkeypatch.setattr(verify, "commands", lambda traces, full: steps)
    assert verify.main(["--traces", str(tmp_path)]) == 1
    out = capfd.readouterr().out
    assert re.findall(r"^ran (\d)$", out, re.MULTILINE) == ["0", "3", "0"]
    assert "FAILED (3)" in out
    assert "toolagent: not at hand" in out
    monkeypatch.setattr(verify, "commands", lambda traces, full: steps[::2])
    assert verify.main(["--traces", str(tmp_path)]) == 0


def test_verify_runs_every_check_script() -> None:
    for full in (False, True):
        lines = verify.commands(Path("data"), full=full)
        for line in lines[:-1]:
            assert Path(line[1]).is_file()
            assert "--check" in line
        assert lines[-1][1:3] == ["-m", "pytest"]
    assert re.search("traces or slow", " ".join(lines[-1]))


@pytest.mark.traces
def test_trace_table_every_perturbation_is_caught(
    traces: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    caught = 0
    for trace in published.at_hand(traces):
        measured, _ = characterize.measure(published.trace_file(traces, trace))
        table = published.TRACE_TABLE[trace]
        assert count_differences(measured, table) == 0
        for name, cell in table.items():
            for other in perturbed(cell):
                assert count_differences(measured, {**table, name: other}) == 1
                caught += 1
    assert caught >= 24
    capsys.readouterr()


@pytest.mark.traces
def test_structure_table_every_perturbation_is_caught(
    traces: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for trace in published.at_hand(traces):
        measured = plot_distributions.measure(replay_check.load_forest(traces, trace))
        table = published.STRUCTURE_TABLE[trace]
        assert count_differences(measured, table) == 0
        for name, cell in table.items():
            for other in perturbed(cell):
                assert count_differences(measured, {**table, name: other}) == 1
    capsys.readouterr()


@pytest.mark.traces
def test_replay_check_catches_one_wrong_cell(
    traces: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # The whole script on the small trace, with one cell off by one in the last digit.
    key = ("synthetic", 25, "gdsf")
    forest = replay_check.load_forest(traces, "synthetic")
    for cell, failures in ((published.REPLAY_TABLE[key], 0), ("1.5023", 3)):
        monkeypatch.setattr(replay_check, "REPLAY_TABLE", {key: cell})
        checks = published.Checks()
        replay_check.check_trace(checks, "synthetic", forest, full=False)
        assert checks.failed == failures
    assert (
        "synthetic 25 percent gdsf, reference: 1.5022, expected 1.5023" in capsys.readouterr().out
    )
