"""cache-worthy study: what it prints, writes, draws and refuses. The engine has tests of its own."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cache_worthy.errors import UsageError
from cache_worthy.sim.cost import prefill_cost, segment_cost
from cache_worthy.sim.serving import (
    STUDY_MODEL,
    Agreement,
    BlockPool,
    Engine,
    EngineRequest,
    Served,
    Transformer,
    chat_workload,
)
from cache_worthy.sim.serving.pool import Floats
from cache_worthy.study import prefix as study
from cache_worthy.study.prefix import LogPoint, Run, compare, fit_line, from_csv, to_csv

Call = Callable[..., tuple[int, str, str]]
Write = Callable[..., Path]

SMALL = ("--prefix-lens", "0,32", "--requests", 4, "--tenants", 2, "--rate", 1000)
QUICK = (*SMALL, "--repeats", 1)


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder of its own, and with short answers, for speed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(study, "chat_workload", partial(chat_workload, answer_tokens=3))


def test_the_table_the_csv_and_the_figure(run: Call, tmp_path: Path) -> None:
    """Work by hand: 4 turns of 62 tokens; 4 * 32 + 62 off, two tenants' 2 * 32 + 62 on."""
    code, out, err = run("study", *SMALL, "--repeats", 2)
    assert code == 0
    assert "    32 tokens |                          190 |     126 |  33.7 %" in out
    assert "     0 tokens |                           62 |      62 |   0.0 %" in out
    assert "identical, token by token; 4 different answers" in out
    assert "NOT SHOWN" not in out
    assert "wrote outputs/results.csv" in err
    with open("outputs/results.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    key = [
        (r["prefix_tokens"], r["prefix_cache"], r["repeat"], r["prefilled_tokens"]) for r in rows
    ]
    assert key == [
        ("0", "0", "1", "62"),
        ("0", "1", "1", "62"),
        ("32", "0", "1", "190"),
        ("32", "1", "1", "126"),
        ("0", "1", "2", "62"),  # the order alternates
        ("0", "0", "2", "62"),
        ("32", "1", "2", "126"),
        ("32", "0", "2", "190"),
    ]
    before = Path("outputs/results.csv").read_bytes()
    assert run("study", "--plot")[0] == 0
    figure = tmp_path / "outputs" / "results.png"
    first = figure.read_bytes()
    assert first.startswith(b"\x89PNG")
    assert Path("outputs/results.csv").read_bytes() == before, "--plot runs nothing"
    Path("outputs/results.csv").write_bytes(before.replace(b",126,", b",180,"))
    assert run("study", "--plot")[0] == 0
    assert figure.read_bytes() != first, "the figure is drawn from the file"


def test_json_and_the_repeat_probe(run: Call) -> None:
    code, out, _ = run("study", *QUICK, "--repeat-probe", "--json", "--results", "r.csv")
    document = json.loads(out)
    result = document["result"]
    assert (code, document["command"], result["identical"]) == (0, "study", True)
    assert result["margin"] > 2 * result["logit_difference"]
    assert (result["by_luck"], result["distinct_answers"]) == (False, 4)
    assert [c["prefix_tokens"] for c in result["comparisons"]] == [0, 32]
    assert result["comparisons"][1]["skipped_share"] == pytest.approx(64 / 190)
    assert [p["second_cached_tokens"] for p in result["probes"]] == [0, 32]
    assert all(r["ttft_p50_s"] > 0 and r["tokens_per_s"] > 0 for r in result["runs"])
    assert Path("r.csv").exists()
    assert not Path("outputs").exists()
    code, out, _ = run("study", *QUICK, "--repeat-probe")
    assert study.REPEAT_WARNING in out


def test_a_cache_that_changes_answers_is_reported(
    run: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(study, "agreement", lambda a, b: Agreement(False, 1.0, 0.1, 4))
    code, out, _ = run("study", *QUICK)
    assert code == 1
    assert "DIFFERENT" in out


@pytest.mark.parametrize(("margin", "expected"), [(2e-5, 1), (2.01e-5, 0), (0.0, 1)])
def test_identical_answers_by_luck_are_no_result(
    run: Call, monkeypatch: pytest.MonkeyPatch, margin: float, expected: int
) -> None:
    """The gap must be above twice the difference, in every repeat: here it is not in the second."""
    found = iter([Agreement(True, 1e-7, 1e-4, 4)] * 2 + [Agreement(True, 1e-5, margin, 4)] * 2)
    monkeypatch.setattr(study, "agreement", lambda a, b: next(found))
    code, out, _ = run("study", *SMALL, "--repeats", 2)
    assert code == expected
    assert ("NOT SHOWN: in some run the gap is not above twice the difference" in out) == bool(
        expected
    )
    assert f"difference 1.0e-05, smallest gap of the two leading logits {margin:.1e}" in out
    found = iter([Agreement(True, 1e-7, 1e-4, 4)] * 2 + [Agreement(True, 1e-5, margin, 4)] * 2)
    code, out, _ = run("study", *SMALL, "--repeats", 2, "--json")
    result = json.loads(out)["result"]
    assert (code, result["by_luck"], result["identical"]) == (expected, bool(expected), True)
    assert (result["logit_difference"], result["margin"]) == (1e-5, margin)
    assert result["margin_ratio"] == pytest.approx(margin / 1e-5)


def test_gap_and_difference_are_compared_within_a_run(
    run: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over all runs the gap, 9, is below twice the difference, 5; in no run it is."""
    found = iter([Agreement(True, 5e-6, 2e-5, 4), Agreement(True, 3e-6, 9e-6, 4)])
    monkeypatch.setattr(study, "agreement", lambda a, b: next(found))
    code, out, _ = run("study", *QUICK)
    assert code == 0
    assert "5.0e-06, smallest gap of the two leading logits 9.0e-06; in one run 3.0 times" in out
    monkeypatch.setattr(study, "agreement", lambda a, b: Agreement(True, 0.0, 1e-3, 4))
    code, out, _ = run("study", *QUICK, "--json")
    assert (code, json.loads(out)["result"]["margin_ratio"]) == (0, None)


def test_a_published_size_is_no_luck(run: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """32 requests of 24 tokens, prefix 128: 4,594 and 882 tokens prefilled, as published."""
    monkeypatch.setattr(study, "chat_workload", chat_workload)
    options = ("--prefix-lens", 128, "--rate", 1e6, "--repeats", 1, "--json")
    code, out, _ = run("study", *options)
    result = json.loads(out)["result"]
    assert code == 0
    assert (result["identical"], result["by_luck"]) == (True, False)
    assert result["margin"] > 2 * result["logit_difference"] > 0
    assert result["logit_difference"] < 1e-4
    assert result["distinct_answers"] == 32
    assert [r["prefilled_tokens"] for r in result["runs"]] == [4594, 882]


def served(first: float, finished: float, answer: int, prompt: int, cached: int) -> Served:
    return Served(prompt, cached, (1,) * answer, np.zeros((answer, 2)), first, finished, 0.5)


def test_the_columns_of_a_run_by_hand() -> None:
    """First tokens after 1, 2, 3, 4, 10 s: p50 is 3, p99 is 4 + 0.96 * 6; 30 tokens in 40 s."""
    records = [
        served(first, finished, answer, prompt, cached)
        for first, finished, answer, prompt, cached in (
            (4.0, 40.0, 6, 20, 16),
            (1.0, 12.0, 9, 30, 0),
            (10.0, 31.0, 3, 25, 16),
            (2.0, 5.0, 7, 17, 1),
            (3.0, 39.0, 5, 18, 0),
        )
    ]
    row = study._run(64, True, 2, records, 7)
    assert (row.prefix_tokens, row.prefix_cache, row.repeat, row.evicted_blocks) == (64, True, 2, 7)
    assert row.ttft_p50_s == 3.0
    assert row.ttft_p99_s == pytest.approx(9.76)
    assert row.tokens_per_s == 0.75
    assert (row.prompt_tokens, row.prefilled_tokens) == (110, 77)


def test_the_requests_are_those_asked_for(run: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """What reaches the workload and the engine, the defaults as well as what is given."""
    asked: list[tuple[int, dict[str, object]]] = []

    def spy(prefix: int, **options: object) -> list[EngineRequest]:
        asked.append((prefix, options))
        return chat_workload(prefix, vocabulary=512, requests=2, rate=1e6, answer_tokens=1)

    def of_runs(rate: float) -> list[tuple[int, dict[str, object]]]:
        return [(n, o) for n, o in asked if o["rate"] == rate]

    monkeypatch.setattr(study, "chat_workload", spy)
    given = ("--prefix-lens", "16,0", "--requests", 5, "--tenants", 4, "--rate", 123.5)
    assert run("study", *given, "--repeats", 2)[0] == 0
    options = {"vocabulary": 512, "requests": 5, "tenants": 4, "rate": 123.5}
    assert of_runs(123.5) == [(16, options), (0, options)] * 2
    asked.clear()
    assert run("study", "--repeats", 1)[0] == 0
    options = {"vocabulary": 512, "requests": 32, "tenants": 3, "rate": 20.0}
    assert of_runs(20.0) == [(n, options) for n in (0, 64, 128, 256)]


class Work:
    """A clock that prefill moves, by ``pace`` milliseconds a token, and a look by ``tick`` seconds."""

    def __init__(self) -> None:
        self.now = 0.0
        self.pace = 1.0
        self.tick = 0.0
        self.transformer = Transformer

    def __call__(self) -> float:
        self.now += self.tick
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds + 1e-9  # a nap that rounds to nothing would be taken for ever


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Work:
    """Every engine of the study runs by this clock."""
    clock = Work()

    class Counted(Transformer):
        def prefill(
            self,
            tokens: Sequence[int],
            start: int,
            stored: int,
            table: Sequence[int],
            pool: BlockPool,
        ) -> Floats:
            clock.now += clock.pace * (len(tokens) - start) / 1000
            return super().prefill(tokens, start, stored, table, pool)

    clock.transformer = Counted
    monkeypatch.setattr(study, "Transformer", Counted)
    monkeypatch.setattr(study, "Engine", partial(Engine, clock=clock, sleep=clock.sleep))
    return clock


def test_the_probe_sends_each_prompt_twice_and_times_both(work: Work) -> None:
    """Six turns behind 32 tokens: all of each prompt first, all but its full blocks again."""
    prompts = chat_workload(32, vocabulary=512, requests=7, tenants=7)[1:]
    lengths = [len(p.prompt) for p in prompts]
    again = [n - min(n // 16 * 16, n - 1) for n in lengths]
    steps: list[str] = []
    probe = study._probe(work.transformer(STUDY_MODEL), 32, 64, 2, steps.append)
    assert probe.first_s == pytest.approx(median(lengths) / 1000)
    assert probe.second_s == pytest.approx(median(again) / 1000, rel=1e-6)
    assert probe.ratio == pytest.approx(median(lengths) / median(again), rel=1e-6)
    cached = median(n - m for n, m in zip(lengths, again, strict=True))
    assert (probe.second_cached_tokens, probe.prompt_tokens) == (cached, int(median(lengths)))
    assert steps == ["repeat probe, prefix 32"]


def test_times_reach_the_table_and_the_file(run: Call, work: Work) -> None:
    """Four requests at once: with the cache off they wait for 46, 93, 142 and 190 computed tokens.

    Turns of 14, 15, 17 and 16 tokens behind 32; on, the second tenant's and the first one's later
    prompts lack their 32. Answers take no time by this clock.
    """
    turns = [len(r.prompt) for r in chat_workload(0, vocabulary=512, requests=4)]
    off = list(accumulate(n + 32 for n in turns))
    on = list(accumulate(n + 32 * (i < 2) for i, n in enumerate(turns)))
    options = ("--prefix-lens", 32, "--requests", 4, "--tenants", 2, "--rate", 1e9)
    code, out, _ = run("study", *options, "--repeats", 1, "--json")
    assert code == 0
    (row,) = json.loads(out)["result"]["comparisons"]
    for name, ends in (("off", off), ("on", on)):
        assert row[f"ttft_p50_{name}_s"] == pytest.approx((ends[1] + ends[2]) / 2000)
        assert row[f"ttft_p99_{name}_s"] == pytest.approx((ends[2] * 0.03 + ends[3] * 0.97) / 1000)
        assert row[f"tokens_per_s_{name}"] == pytest.approx(4 * 3 / (ends[3] / 1000))
    assert row["ttft_p50_ratio"] == pytest.approx((off[1] + off[2]) / (on[1] + on[2]))
    assert row["throughput_ratio"] == pytest.approx(off[3] / on[3])
    code, out, _ = run("study", *options, "--repeats", 1)
    p50 = f"{(off[1] + off[2]) / 2:>8.1f} -> {(on[1] + on[2]) / 2:<7.1f}"
    assert f"    32 tokens | {p50}" in out
    rates = f"{12000 / off[3]:.0f} -> {12000 / on[3]:.0f} ({off[3] / on[3]:.2f}x)"
    assert rates in out


def test_seconds_of_a_log_are_medians_of_the_prefill(
    run: Call, write: Write, work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At paces 1, 5 and 2 the median is 2 ms for each token computed, and the look at its end."""
    work.tick = 0.01
    paces = iter((1.0, 1.0, 5.0, 2.0))  # the first warms

    def engine(*args: object, **options: object) -> Engine:
        work.pace = next(paces)
        made: Engine = partial(Engine, clock=work, sleep=work.sleep)(*args, **options)  # type: ignore[arg-type]
        return made

    monkeypatch.setattr(study, "Engine", engine)
    code, out, _ = run("study", "--log", write(*LOG), "--block-size", 16, "--json")
    points = json.loads(out)["result"]["points"]
    assert code == 0
    for p in points:
        computed = p["prompt_tokens"] - p["cached_tokens"]
        assert p["prefill_s"] == pytest.approx(2 * computed / 1000 + 0.01)


def runs_of(values: list[tuple[int, bool, float]]) -> list[Run]:
    return [Run(n, on, 1, v, 2 * v, 100 / v, 50, 50 - 10 * on, 0) for n, on, v in values]


def test_medians_and_ratios_by_hand() -> None:
    rows = [(64, False, v) for v in (4.0, 9.0, 6.0)] + [(64, True, v) for v in (3.0, 2.0, 1.0)]
    (c,) = compare(runs_of(rows))
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


RUN_ROW = {
    "prefix_tokens": "64",
    "prefix_cache": "1",
    "repeat": "2",
    "ttft_p50_s": "0.1",
    "ttft_p99_s": "0.2",
    "tokens_per_s": "300.0",
    "prompt_tokens": "50",
    "prefilled_tokens": "40",
    "evicted_blocks": "0",
}
POINT_ROW = {
    "request": "3",
    "prompt_tokens": "20",
    "cached_tokens": "16",
    "predicted_flops": "1000",
    "prefill_s": "0.1",
}


def lines_of(*rows: dict[str, str]) -> str:
    return "".join(",".join(cells) + "\n" for cells in (rows[0], *(r.values() for r in rows)))


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


OFF_ROW = {**RUN_ROW, "prefix_cache": "0"}


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
        low, high = study._REAL if column.endswith("_s") else study._WHOLE.get(column, (1, 10**12))
        least[column], most[column] = str(low), str(high)
    most["cached_tokens" if row is POINT_ROW else "prefix_cache"] = "1"
    rows = [least, most]
    if row is RUN_ROW:
        rows += [{**r, "prefix_cache": str(1 - int(r["prefix_cache"]))} for r in rows]
    Path("x.csv").write_text(lines_of(*rows), encoding="utf-8")
    assert run("study", "--plot", "--results", "x.csv")[0] == 0
    assert Path("x.png").read_bytes().startswith(b"\x89PNG")


LOG = [
    {"text": "system rules " * 20 + "first question"},
    {"text": "system rules " * 20 + "second question, which is longer " * 3},
    {"text": "something else " * 30},
    {"text": "system rules " * 20 + "first question"},
]


def test_a_log_measured_against_predicted_flops(run: Call, write: Write) -> None:
    """260 characters are 65 tokens: four whole blocks of 16 shared, then 274 / 4 -> 69 tokens."""
    log = write(*LOG)
    options = ("--log", log, "--block-size", 16, "--repeats", 1)
    code, out, err = run("study", *options, "--json")
    assert code == 0
    result = json.loads(out)["result"]
    assert (result["requests"], result["empty_prompts"], result["skips_agree"]) == (4, 0, True)
    points = result["points"]
    assert [p["request"] for p in points] == [1, 2, 3, 4]
    assert [(p["prompt_tokens"], p["cached_tokens"]) for p in points] == [
        (69, 0),
        (90, 64),
        (113, 0),
        (69, 64),
    ]
    assert [p["predicted_flops"] for p in points] == [
        prefill_cost(69, STUDY_MODEL),
        segment_cost(64, 90, STUDY_MODEL),
        prefill_cost(113, STUDY_MODEL),
        segment_cost(64, 69, STUDY_MODEL),
    ]
    assert result["skipped_tokens"] == result["simulated_skipped_tokens"] == 128
    assert result["fit"]["residual_max"] >= result["fit"]["residual_p90"] >= 0
    assert "wrote outputs/log_results.csv" in err
    code, out, _ = run("study", *options, "--requests", 2)
    assert code == 0
    assert "skipped, vllm_lru 64 (equal for every request)" in out
    assert "fit               none" in out
    assert run("study", "--plot", "--log", log)[0] == 0
    assert Path("outputs/log_results.png").exists()


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Axes]:
    """The axes of every figure that is saved."""
    kept: list[Axes] = []
    save = Figure.savefig

    def spy(figure: Figure, *args: Any, **options: Any) -> None:
        kept.extend(figure.axes)
        save(figure, *args, **options)

    monkeypatch.setattr(Figure, "savefig", spy)
    return kept


def test_requests_without_a_block_are_left_out(run: Call, write: Write) -> None:
    ids = [
        {"block_size": 16, "input_length": 16 * n, "hash_ids": list(range(n))} for n in (2, 0, 3)
    ]
    code, out, _ = run("study", "--log", write(*ids), "--repeats", 1)
    assert code == 0
    assert "2 one at a time, cache on (1 empty left out)" in out


def test_the_fit_and_its_scatter_are_printed_and_drawn(
    run: Call, write: Write, work: Work, drawn: list[Axes]
) -> None:
    """Seconds are proportional to computed tokens by this clock, FLOPs nearly so."""
    code, out, _ = run("study", "--log", write(*LOG), "--block-size", 16, "--repeats", 1)
    assert code == 0
    points = [p for p in from_csv(Path("outputs/log_results.csv")) if isinstance(p, LogPoint)]
    assert len(points) == 4
    fit = fit_line(points)
    assert fit is not None
    assert fit.r_squared is not None
    assert fit.r_squared > 0.99
    line = f"seconds = {fit.intercept_s:.2e} + {fit.slope_s_per_flop:.2e} * FLOPs"
    assert f"fit               {line}, R^2 {fit.r_squared:.3f}" in out
    p50, p90, most = (100 * r for r in (fit.residual_p50, fit.residual_p90, fit.residual_max))
    assert (
        f"|residual| / measured: median {p50:.0f} %, p90 {p90:.0f} %, largest {most:.0f} %" in out
    )
    assert "no other figure uses it" in out
    assert run("study", "--plot", "--results", "outputs/log_results.csv")[0] == 0
    (axes,) = drawn
    (fitted,) = axes.lines
    gflops, ms = (np.asarray(data, float) for data in fitted.get_data())
    assert ms / 1e3 == pytest.approx(fit.intercept_s + fit.slope_s_per_flop * 1e9 * gflops)
    shown = np.vstack([np.asarray(c.get_offsets()) for c in axes.collections])
    expected = [(p.predicted_flops / 1e9, 1e3 * p.prefill_s) for p in points]
    assert sorted(shown.tolist()) == [pytest.approx(point) for point in sorted(expected)]
    assert f"R$^2$ {fit.r_squared:.3f}; |residual| / measured: median {p50:.0f} %" in (
        axes.get_title()
    )


def test_the_figure_of_the_study_shows_its_medians(run: Call, drawn: list[Axes]) -> None:
    rows = runs_of([(n, on, n + 1 + 2 * on) for n in (0, 64) for on in (False, True)])
    Path("x.csv").write_text(to_csv(rows), encoding="utf-8")
    assert run("study", "--plot", "--results", "x.csv")[0] == 0
    times, tokens = drawn
    lines = {line.get_label(): np.asarray(line.get_ydata()).tolist() for line in times.lines}
    assert lines == {
        "cache off, p50": [1, 65],
        "cache off, p99": [2, 130],
        "cache on, p50": [3, 67],
        "cache on, p99": [6, 134],
    }
    counts = {line.get_label(): np.asarray(line.get_ydata()).tolist() for line in tokens.lines}
    assert counts == {"cache off": [50, 50], "cache on": [40, 40]}
    assert [t.get_text() for t in tokens.texts] == ["20 % skipped"] * 2


def test_a_log_that_the_simulator_predicts_wrongly_is_reported(
    run: Call, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(study, "predicted_skips", lambda *a: [0, 1, 0, 0])
    code, out, _ = run("study", "--log", write(*LOG), "--block-size", 16, "--repeats", 1)
    assert code == 1
    assert "NOT equal" in out


def test_a_log_too_large_to_compute_is_refused_with_what_fits(
    run: Call, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(study, "MAX_TOKENS", 200)
    options = ("--log", write(*LOG), "--block-size", 16, "--repeats", 1)
    code, _, err = run("study", *options)
    assert code == 2
    assert "341 prompt tokens" in err
    assert "take the first with --requests 2" in err
    assert run("study", *options, "--requests", 2)[0] == 0
    code, _, err = run("study", *options[:-1], 2, "--requests", 2)
    assert code == 2
    assert "159 prompt tokens, 2 times" in err
    assert "take the first with --requests 1, or give fewer --repeats" in err
    monkeypatch.setattr(study, "MAX_CONTEXT", 100)
    code, _, err = run("study", *options)
    assert code == 2
    assert "request 3 has a prompt of 113 tokens" in err
    assert "at most 100; take those before it with --requests 2" in err


def test_a_fit_by_hand() -> None:
    """Points (0, 1), (1, 3), (2, 2): slope 1/2, intercept 3/2, R^2 1/4."""
    fit = fit_line([LogPoint(i, 9, 0, i, s) for i, s in enumerate((1.0, 3.0, 2.0))])
    assert fit is not None
    assert (fit.slope_s_per_flop, fit.intercept_s, fit.r_squared) == pytest.approx((0.5, 1.5, 0.25))
    assert fit.residual_max == pytest.approx(0.5)
    assert fit_line([LogPoint(i, 9, 0, 5, 1.0) for i in range(4)]) is None


def tmp_log() -> str:
    Path("log.jsonl").write_text('{"text": "' + "word " * 99 + '"}\n', encoding="utf-8")
    return "log.jsonl"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--prefix-lens", "64,x"), "expected different lengths"),
        (("--prefix-lens", "64,64"), "expected different lengths"),
        (("--prefix-lens", "-1"), "expected different lengths"),
        (("--prefix-lens=",), "expected different lengths"),
        (("--rate", "0"), "expected a number > 0"),
        (("--tenants", "0"), "expected an integer >= 1"),
        ((*QUICK, "--pool-blocks", "2"), "need 4 KV blocks of 16 tokens, the pool has 2"),
        (("--plot",), "run cache-worthy study first"),
        (("--figure", "x.png"), "draws only with --plot"),
        (("--results", "-"), "expected a file name"),
        (("--results", "missing/r.csv"), "no folder missing"),
        (("--log", "absent.jsonl"), "absent.jsonl: cannot read"),
        (("--log", "x", "--repeat-probe"), "--repeat-probe: is of no use with --log"),
        (("--log", "x", "--tenants", "3"), "--tenants: is of no use with --log"),
        (("--log", "x", "--prefix-lens", "0"), "--prefix-lens: is of no use with --log"),
        (("--log", "x", "--rate", "20"), "--rate: is of no use with --log"),
        (("--block-size", "32"), "--block-size: says how to read a log; there is none"),
        (("--order", "time"), "--order: says how to read a log"),
        (("--plot", "--log", "x", "--order", "time"), "--order: says how to read a log"),
        (("--plot", "-o", "x"), "-o: is of no use with --plot; --figure names the file"),
        (("--plot", "--json"), "--json: is of no use with --plot"),
        (("--plot", "--requests", "3"), "--requests: is of no use with --plot"),
        (("--plot", "--repeats", "3"), "--repeats: is of no use with --plot"),
        (("--plot", "--repeat-probe"), "--repeat-probe: is of no use with --plot"),
        (("--results", ""), "--results '': expected a file name"),
        (("--plot", "--results", ""), "--results '': expected a file name"),
        (("--plot", "--figure", ""), "--figure '': expected a file name"),
        ((*QUICK, "--results", "x", "-o", "x"), "-o x: is --results; expected another name"),
        ((*QUICK, "--results", "x", "-o", "./x"), "-o ./x: is --results"),
        (("--requests", "1000000", "--rate", "1e9"), "tokens of prompts and answers over all runs"),
        (("--requests", "9" * 4000), "over 10^15 tokens of prompts"),
        (("--repeats", "1000000"), "expected at most 1,000,000; fewer --requests, --repeats"),
        (("--rate", "0.01"), "7.4e+04 s to arrive; expected at most 3,600"),
        (("--rate", "5e-324"), "inf s to arrive"),
        (("--pool-blocks", "65537"), "--pool-blocks 65,537: expected at most 65,536"),
        (("--prefix-lens", "40000", "--pool-blocks", "3000"), "prompts of up to 40,023 tokens"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    run: Call, options: tuple[object, ...], message: str
) -> None:
    code, out, err = run("study", *options)
    assert (code, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) <= 2


def test_a_pool_too_small_for_the_log_and_files_that_exist(run: Call) -> None:
    log = tmp_log()
    code, _, err = run("study", "--log", log, "--pool-blocks", 2)
    assert code == 2
    assert "need 8 KV blocks" in err
    Path("mine.csv").write_text("precious", encoding="utf-8")
    code, _, err = run("study", *QUICK, "--results", "mine.csv")
    assert (code, Path("mine.csv").read_text(encoding="utf-8")) == (2, "precious")
    Path("mine.png").write_text("precious", encoding="utf-8")
    Path("mine.csv").write_text(to_csv(runs_of([(0, False, 1.0), (0, True, 1.0)])))
    assert run("study", "--plot", "--results", "mine.csv")[0] == 2
    assert Path("mine.png").read_text(encoding="utf-8") == "precious"
    assert run("study", "--plot", "--results", "mine.csv", "--force")[0] == 0
    code, _, err = run("study", "--plot", "--results", "mine.csv", "--figure", "x.nonsense")
    assert (code, "--figure x.nonsense: cannot write" in err) == (2, True)


def test_no_name_stands_for_two_files(run: Call, write: Write) -> None:
    """Not even with --force, and not by a link."""
    log = write(*LOG)
    before = log.read_bytes()
    options = ("--log", log, "--block-size", 16, "--repeats", 1, "--force")
    code, _, err = run("study", *options, "--results", log)
    assert (code, "is the log itself" in err) == (2, True)
    Path("link").symlink_to(log)
    assert run("study", *options, "--results", "link")[0] == 2
    assert log.read_bytes() == before
    Path("r.png").write_text(lines_of(RUN_ROW, OFF_ROW), encoding="utf-8")
    code, _, err = run("study", "--plot", "--results", "r.png", "--force")
    assert (code, "--figure r.png: is --results" in err) == (2, True)


def test_what_just_fits_is_served(run: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two runs of 4 turns, 62 tokens in all, and 4 answers of 24: 316 tokens; 3 gaps a run."""
    options = ("--prefix-lens", 0, "--requests", 4, "--rate", 10, "--repeats", 1)
    monkeypatch.setattr(study, "MAX_TOKENS", 316)
    monkeypatch.setattr(study, "MAX_ARRIVALS_S", 0.6)
    assert run("study", *options)[0] == 0
    assert "477 tokens" in run("study", *options, "--repeat-probe")[2]  # 7 more of 23 at most
    monkeypatch.setattr(study, "MAX_TOKENS", 315)
    assert "316 tokens of prompts and answers" in run("study", *options)[2]
    monkeypatch.setattr(study, "MAX_TOKENS", 316)
    monkeypatch.setattr(study, "MAX_ARRIVALS_S", 0.59)
    assert "take 0.6 s to arrive" in run("study", *options)[2]


def test_the_parser_leaves_numpy_alone_so_that_threads_can_be_chosen() -> None:
    code = (
        "import sys; from cache_worthy.commands.parser import build_parser; build_parser(); "
        "assert 'numpy' not in sys.modules; "
        "from cache_worthy.commands.study import _one_blas_thread as f; assert f() == '1'; "
        "import numpy; assert f() == 'as numpy was loaded with'"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={"PATH": ""})


def test_the_script_is_the_command() -> None:
    script = Path(__file__).resolve().parents[3] / "scripts" / "prefix_study.py"
    done = subprocess.run(
        [sys.executable, str(script), "--plot"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.startswith("cache-worthy: --results outputs/results.csv: cannot read")


def test_a_prefix_that_never_fits_is_refused_before_anything_runs(
    run: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    results = tmp_path / "r.csv"
    code, out, err = run("study", "--prefix-lens", "0,99999999999", "--results", results)
    assert (code, out) == (2, "")
    assert "does not fit a pool of 1024 blocks" in err
    assert not results.exists()
