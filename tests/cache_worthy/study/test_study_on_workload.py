"""The study on constructed requests: what it prints, writes and reports. The engine has tests of its own."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from itertools import accumulate
from pathlib import Path
from statistics import median

import numpy as np
import pytest
from study_cases import (
    QUICK,
    SMALL,
    Work,
    elsewhere,
)

from cache_worthy.report.words.study import REPEAT_WARNING
from cache_worthy.sim.serving import server, workload
from cache_worthy.sim.serving.server import Agreement, EngineRequest, Served
from cache_worthy.sim.serving.workload import STUDY_MODEL, chat_workload
from cache_worthy.study import limits, on_workload

Call = Callable[..., tuple[int, str, str]]
Write = Callable[..., Path]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere(tmp_path, monkeypatch)


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Work:
    return Work.installed(monkeypatch)


def test_the_table_the_csv_and_the_figure(run: Call, tmp_path: Path) -> None:
    """Work by hand: 4 turns of 62 tokens; 4 * 32 + 62 off, two tenants' 2 * 32 + 62 on."""
    code, out, err = run("study", *SMALL, "--repeats", 2)
    assert code == 0
    lines = [line.split() for line in out.splitlines()]
    assert ["32", "tokens", "190", "126", "33.7%"] in [line[:5] for line in lines]
    assert ["0", "tokens", "62", "62", "0.0%"] in [line[:5] for line in lines]
    assert max(map(len, out.splitlines())) <= 80
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
    assert REPEAT_WARNING in " ".join(out.split())


def test_a_cache_that_changes_answers_is_reported(
    run: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "agreement", lambda a, b: Agreement(False, 1.0, 0.1, 4))
    code, out, _ = run("study", *QUICK)
    assert code == 1
    assert "DIFFERENT" in out


@pytest.mark.parametrize(("margin", "expected"), [(2e-5, 1), (2.01e-5, 0), (0.0, 1)])
def test_identical_answers_by_luck_are_no_result(
    run: Call, monkeypatch: pytest.MonkeyPatch, margin: float, expected: int
) -> None:
    """The gap must be above twice the difference, in every repeat: here it is not in the second."""
    found = iter([Agreement(True, 1e-7, 1e-4, 4)] * 2 + [Agreement(True, 1e-5, margin, 4)] * 2)
    monkeypatch.setattr(server, "agreement", lambda a, b: next(found))
    code, out, _ = run("study", *SMALL, "--repeats", 2)
    assert code == expected
    assert ("NOT SHOWN: in some run the gap is not above twice the difference" in out) == bool(
        expected
    )
    words = " ".join(out.split())
    assert f"difference 1.0e-05, smallest gap of the two leading ones {margin:.1e}" in words
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
    monkeypatch.setattr(server, "agreement", lambda a, b: next(found))
    code, out, _ = run("study", *QUICK)
    assert code == 0
    words = " ".join(out.split())
    assert "5.0e-06, smallest gap of the two leading ones 9.0e-06; in one run 3.0 times" in words
    monkeypatch.setattr(server, "agreement", lambda a, b: Agreement(True, 0.0, 1e-3, 4))
    code, out, _ = run("study", *QUICK, "--json")
    assert (code, json.loads(out)["result"]["margin_ratio"]) == (0, None)


def test_a_published_size_is_no_luck(run: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """32 requests of 24 tokens, prefix 128: 4,594 and 882 tokens prefilled, as published."""
    monkeypatch.setattr(workload, "chat_workload", chat_workload)
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
    row = on_workload._run(records, 7, prefix=64, on=True, repeat=2)
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

    monkeypatch.setattr(workload, "chat_workload", spy)
    given = ("--prefix-lens", "16,0", "--requests", 5, "--tenants", 4, "--rate", 123.5)
    assert run("study", *given, "--repeats", 2)[0] == 0
    options = {"vocabulary": 512, "requests": 5, "tenants": 4, "rate": 123.5}
    assert of_runs(123.5) == [(16, options), (0, options)] * 2
    asked.clear()
    assert run("study", "--repeats", 1)[0] == 0
    options = {"vocabulary": 512, "requests": 32, "tenants": 3, "rate": 20.0}
    assert of_runs(20.0) == [(n, options) for n in (0, 64, 128, 256)]


def test_the_probe_sends_each_prompt_twice_and_times_both(work: Work) -> None:
    """Six turns behind 32 tokens: all of each prompt first, all but its full blocks again."""
    prompts = chat_workload(32, vocabulary=512, requests=7, tenants=7)[1:]
    lengths = [len(p.prompt) for p in prompts]
    again = [n - min(n // 16 * 16, n - 1) for n in lengths]
    steps: list[str] = []
    plan = on_workload.Plan(
        prefix_lens=(32,),
        requests=7,
        tenants=7,
        rate=1.0,
        pool_blocks=64,
        repeats=2,
        probe=True,
        blas_threads="1",
    )
    probe = on_workload._probe(work.transformer(STUDY_MODEL), plan, prefix=32, step=steps.append)
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
    p50 = f"{(off[1] + off[2]) / 2:.1f} -> {(on[1] + on[2]) / 2:.1f}"
    assert f" 32 tokens {p50} " in " ".join(out.split())
    rates = f"{12000 / off[3]:.0f} -> {12000 / on[3]:.0f} ({off[3] / on[3]:.2f}x)"
    assert rates in out


def test_what_just_fits_is_served(run: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two runs of 4 turns, 62 tokens in all, and 4 answers of 24: 316 tokens; 3 gaps a run."""
    options = ("--prefix-lens", 0, "--requests", 4, "--rate", 10, "--repeats", 1)
    monkeypatch.setattr(limits, "MAX_TOKENS", 316)
    monkeypatch.setattr(limits, "MAX_ARRIVALS_S", 0.6)
    assert run("study", *options)[0] == 0
    assert "477 tokens" in run("study", *options, "--repeat-probe")[2]  # 7 more of 23 at most
    monkeypatch.setattr(limits, "MAX_TOKENS", 315)
    assert "316 tokens of prompts and answers" in run("study", *options)[2]
    monkeypatch.setattr(limits, "MAX_TOKENS", 316)
    monkeypatch.setattr(limits, "MAX_ARRIVALS_S", 0.59)
    assert "take 0.6 s to arrive" in run("study", *options)[2]
