"""Medians of the runs, the CSV that keeps them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from study_cases import (
    OFF_ROW,
    POINT_ROW,
    RUN_ROW,
    elsewhere,
    lines_of,
    runs_of,
)

from cache_worthy.errors import UsageError
from cache_worthy.study import csv_file
from cache_worthy.study.csv_file import from_csv, to_csv
from cache_worthy.study.results import LogPoint, medians

Call = Callable[..., tuple[int, str, str]]
Write = Callable[..., Path]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere(tmp_path, monkeypatch)


def test_medians_and_ratios_by_hand() -> None:
    rows = [(64, False, v) for v in (4.0, 9.0, 6.0)] + [(64, True, v) for v in (3.0, 2.0, 1.0)]
    (c,) = medians(runs_of(rows))
    assert (c.ttft_p50_off_s, c.ttft_p50_on_s, c.ttft_p50_ratio) == (6.0, 2.0, 3.0)
    assert (c.ttft_p99_ratio, c.throughput_ratio) == (3.0, 3.0)
    assert c.skipped_share == pytest.approx(0.2)


def test_csv_round_trip(tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    runs = runs_of([(0, False, 0.125), (0, True, 1 / 3)])
    file.write_text(to_csv(runs), encoding="utf-8")
    assert from_csv(file) == runs
    points = [LogPoint(1, 20, 16, 10**12, 0.1)]
    file.write_text(to_csv(points), encoding="utf-8")
    assert from_csv(file) == points


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected the header"),
        ("a,b\n1,2\n", "expected the header"),
        (to_csv(runs_of([(0, True, 1.0)])).splitlines()[0], "and rows"),
        (to_csv(runs_of([(0, True, 1.0)])) + "1,2\n", "line 3: 2 cells; expected 9"),
        ('"' + "x" * 200_000 + '"', "field larger than field limit"),
    ],
)
def test_a_broken_csv_is_refused(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "x.csv"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=message):
        from_csv(file)


@pytest.mark.parametrize(
    ("row", "column", "cells", "allowed"),
    [
        (RUN_ROW, "prefix_tokens", ("-1", "0.5", "x"), "an integer >= 0 and <= 1e[+]12"),
        (RUN_ROW, "prefix_cache", ("2", "-1", "True"), "an integer >= 0 and <= 1$"),
        (RUN_ROW, "repeat", ("0", "nan"), "an integer >= 1 and"),
        (
            RUN_ROW,
            "ttft_p50_s",
            ("0", "nan", "inf", "-1", "0.0", "5e-324", ""),
            "a number >= 1e-09",
        ),
        (RUN_ROW, "ttft_p99_s", ("0", "nan", "-inf", "1e300"), "a number >= 1e-09 and <= 1e[+]09"),
        (RUN_ROW, "tokens_per_s", ("0", "nan", "inf"), "a number >= 1e-09"),
        (RUN_ROW, "prompt_tokens", ("0", "9" * 5000), "an integer >= 1 and"),
        (RUN_ROW, "prefilled_tokens", ("0", "nan"), "an integer >= 1 and"),
        (RUN_ROW, "evicted_blocks", ("-1",), "an integer >= 0"),
        (POINT_ROW, "request", ("0",), "an integer >= 1"),
        (POINT_ROW, "prompt_tokens", ("0",), "an integer >= 1"),
        (POINT_ROW, "cached_tokens", ("-1",), "an integer >= 0"),
        (POINT_ROW, "predicted_flops", ("0", "1e9"), "an integer >= 1 and <= 1e[+]24"),
        (POINT_ROW, "prefill_s", ("0", "nan", "inf"), "a number >= 1e-09"),
    ],
)
def test_a_cell_out_of_range_is_named(
    run: Call, row: dict[str, str], column: str, cells: tuple[str, ...], allowed: str
) -> None:
    for cell in cells:
        Path("x.csv").write_text(lines_of(row, {**row, column: cell}), encoding="utf-8")
        code, out, err = run("study", "--plot", "--results", "x.csv")
        assert (code, out) == (2, "")
        message = f"line 3, column {column}: '{re.escape(cell[:40])}'; expected {allowed}"
        assert re.search(message, err, re.MULTILINE), err
        assert not Path("x.png").exists()


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([RUN_ROW], "line 2, column prefix_cache: prefix 64, repeat 2 with the cache on only"),
        ([OFF_ROW], "line 2, .* with the cache off only; expected a row with it on as well"),
        ([RUN_ROW, OFF_ROW, {**RUN_ROW, "prefix_tokens": "8"}], "line 4, column prefix_cache"),
        ([RUN_ROW, OFF_ROW, {**OFF_ROW, "repeat": "3"}], "line 4, column prefix_cache"),
        ([RUN_ROW, OFF_ROW, RUN_ROW], "line 4, column repeat: the same run as line 2"),
        ([{**RUN_ROW, "ttft_p99_s": "0.01"}], "line 2, column ttft_p99_s: 0.01; .* at least 0.1"),
        ([{**RUN_ROW, "prefilled_tokens": "51"}], "line 2, column prompt_tokens: 50; .* 51"),
        ([{**POINT_ROW, "cached_tokens": "20"}], "line 2, column prompt_tokens: 20; .* 21"),
    ],
)
def test_rows_that_do_not_belong_together_are_named(
    run: Call, rows: list[dict[str, str]], message: str
) -> None:
    Path("x.csv").write_text(lines_of(*rows), encoding="utf-8")
    code, out, err = run("study", "--plot", "--results", "x.csv")
    assert (code, out) == (2, "")
    assert re.search(f"--results x.csv: {message}", err), err


@pytest.mark.parametrize("row", [RUN_ROW, POINT_ROW])
def test_what_is_accepted_can_be_drawn(run: Call, row: dict[str, str]) -> None:
    """The ends of every range."""
    most, least = dict(row), dict(row)
    for column in row:
        low, high = (
            csv_file._REAL if column.endswith("_s") else csv_file._WHOLE.get(column, (1, 10**12))
        )
        least[column], most[column] = str(low), str(high)
    most["cached_tokens" if row is POINT_ROW else "prefix_cache"] = "1"
    rows = [least, most]
    if row is RUN_ROW:
        rows += [{**r, "prefix_cache": str(1 - int(r["prefix_cache"]))} for r in rows]
    Path("x.csv").write_text(lines_of(*rows), encoding="utf-8")
    assert run("study", "--plot", "--results", "x.csv")[0] == 0
    assert Path("x.png").read_bytes().startswith(b"\x89PNG")
