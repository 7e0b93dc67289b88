"""The published tables are exact to the last digit, and a check that should fail does.

Rank 1 on the traces: the tables equal what is measured. Mutation: one unit in the last digit of
any cell is a difference, so no cell is compared loosely or left out.
"""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import mooncake
import published
import pytest
from commands import script

#: One cell in the place of the published table.
ONE_CELL = """
import published

published.REPLAY_TABLE = {{("synthetic", 25, "gdsf"): {cell!r}}}
"""


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
        assert mooncake.fixed(100 * (total - distinct), total, 1) == row["block reuse, percent"]


def test_quantile_by_hand() -> None:
    ordered = list(range(1, 11))
    got = [mooncake.quantile(ordered, p) for p in (0, 10, 11, 50, 90, 100)]
    assert got == [1, 1, 2, 5, 9, 10]


@pytest.mark.parametrize(
    "name",
    [
        "check/traces.py",
        "check/structure.py",
        "check/replay.py",
        "check/h1.py",
        "check/verify.py",
        "figures/distributions.py",
        "figures/capacity_curve.py",
    ],
)
def test_absent_traces_exit_2_with_one_line(name: str, tmp_path: Path) -> None:
    done = script(name, "--traces", tmp_path)
    assert done.returncode == 2
    assert "fetch_traces" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.traces
def test_trace_table_every_perturbation_is_caught(
    traces: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    caught = 0
    for trace in published.at_hand(traces):
        measured, _ = mooncake.trace_cells(published.trace_file(traces, trace))
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
        measured = mooncake.structure_cells(mooncake.load_forest(traces, trace))
        table = published.STRUCTURE_TABLE[trace]
        assert count_differences(measured, table) == 0
        for name, cell in table.items():
            for other in perturbed(cell):
                assert count_differences(measured, {**table, name: other}) == 1
    capsys.readouterr()


@pytest.mark.traces
@pytest.mark.parametrize(("cell", "failures"), [("1.5022", 0), ("1.5023", 3)])
def test_replay_check_catches_one_wrong_cell(
    cell: str, failures: int, traces: Path, tmp_path: Path
) -> None:
    # The whole script on the small trace, with one cell off by one in the last digit.
    assert published.REPLAY_TABLE["synthetic", 25, "gdsf"] == "1.5022"
    name = "synthetic_trace.jsonl"
    (tmp_path / name).symlink_to(traces / name)
    planted = ONE_CELL.format(cell=cell)
    done = script("check/replay.py", "--traces", tmp_path, "--check", planted=planted)
    assert done.returncode == bool(failures), done.stderr
    assert done.stdout.count("FAIL  ") == failures
    told = "synthetic 25 percent gdsf, reference: 1.5022, expected 1.5023"
    assert (told in done.stdout) == bool(failures)
