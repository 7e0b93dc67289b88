"""cache-worthy study: what it prints, writes, draws and refuses. The engine has tests of its own."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from cache_worthy import study
from cache_worthy.errors import UsageError
from cache_worthy.sim.cost import prefill_cost, segment_cost
from cache_worthy.sim.engine import STUDY_MODEL, Agreement, chat_workload
from cache_worthy.study import LogPoint, Run, compare, fit_line, from_csv, to_csv

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
    assert "identical, token by token" in out
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
        (to_csv(runs_of([(0, True, 1.0)])) + "1,2\n", "line 3: expected 9 numbers"),
        (to_csv(runs_of([(0, True, 1.0)])).replace(",50,", ",x,"), "line 2: expected 9 numbers"),
    ],
)
def test_a_broken_csv_is_refused(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "x.csv"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=message):
        from_csv(file)


LOG = [
    {"text": "system rules " * 20 + "first question"},
    {"text": "system rules " * 20 + "second question, which is longer " * 3},
    {"text": "something else " * 30},
    {"text": ""},
    {"text": "system rules " * 20 + "first question"},
]


def test_a_log_measured_against_predicted_flops(run: Call, write: Write) -> None:
    """260 characters are 65 tokens: four whole blocks of 16 shared, then 274 / 4 -> 69 tokens."""
    log = write(*LOG)
    options = ("--log", log, "--block-size", 16, "--repeats", 1)
    code, out, err = run("study", *options, "--json")
    assert code == 0
    result = json.loads(out)["result"]
    assert (result["requests"], result["empty_prompts"], result["skips_agree"]) == (4, 1, True)
    points = result["points"]
    assert [p["request"] for p in points] == [1, 2, 3, 5]
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
    monkeypatch.setattr(study, "MAX_LOG_TOKENS", 200)
    options = ("--log", write(*LOG), "--block-size", 16, "--repeats", 1)
    code, _, err = run("study", *options)
    assert code == 2
    assert "341 prompt tokens" in err
    assert "take the first with --requests 2" in err
    assert run("study", *options, "--requests", 2)[0] == 0


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
        (("--log", "x", "--repeat-probe"), "--repeat-probe"),
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


def test_the_parser_leaves_numpy_alone_so_that_threads_can_be_chosen() -> None:
    code = (
        "import sys; from cache_worthy.cli import build_parser; build_parser(); "
        "assert 'numpy' not in sys.modules; "
        "from cache_worthy.commands.study import _one_blas_thread as f; assert f() == '1'; "
        "import numpy; assert f() == 'as numpy was loaded with'"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={"PATH": ""})


def test_the_script_is_the_command() -> None:
    script = Path(__file__).resolve().parents[2] / "scripts" / "prefix_study.py"
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
