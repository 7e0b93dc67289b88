"""The study on a log: seconds beside predicted FLOPs, and the fit."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from study_cases import (
    LOG,
    Work,
    elsewhere,
)

from cache_worthy.sim.serving import server, simulated
from cache_worthy.sim.serving.server import Engine
from cache_worthy.sim.serving.workload import STUDY_MODEL
from cache_worthy.study import limits
from cache_worthy.study.csv_file import from_csv
from cache_worthy.study.results import LogPoint, fit_line

Call = Callable[..., tuple[int, str, str]]
Write = Callable[..., Path]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere(tmp_path, monkeypatch)


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Work:
    return Work.installed(monkeypatch)


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

    monkeypatch.setattr(server, "Engine", engine)
    code, out, _ = run("study", "--log", write(*LOG), "--chars-per-token", 4, "--json")
    points = json.loads(out)["result"]["points"]
    assert code == 0
    for p in points:
        computed = p["prompt_tokens"] - p["cached_tokens"]
        assert p["prefill_s"] == pytest.approx(2 * computed / 1000 + 0.01)


def test_a_log_measured_against_predicted_flops(run: Call, write: Write) -> None:
    """260 characters are 65 tokens: four whole blocks of 16 shared, then 274 / 4 -> 69 tokens."""
    log = write(*LOG)
    options = ("--log", log, "--chars-per-token", 4, "--repeats", 1)
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
        STUDY_MODEL.prefill(69),
        STUDY_MODEL.segment(64, 90),
        STUDY_MODEL.prefill(113),
        STUDY_MODEL.segment(64, 69),
    ]
    assert result["skipped_tokens"] == result["simulated_skipped_tokens"] == 128
    assert result["fit"]["residual_max"] >= result["fit"]["residual_p90"] >= 0
    assert "wrote outputs/log_results.csv" in err
    code, out, _ = run("study", *options, "--requests", 2)
    assert code == 0
    assert "skipped, vllm_lru  64 (equal for every request)" in out
    assert "fit                none" in out
    assert run("study", "--plot", "--log", log)[0] == 0
    assert Path("outputs/log_results.png").exists()


def test_requests_without_a_block_are_left_out(run: Call, write: Write) -> None:
    ids = [
        {"block_size": 16, "input_length": 16 * n, "hash_ids": list(range(n))} for n in (2, 0, 3)
    ]
    code, out, _ = run("study", "--log", write(*ids), "--repeats", 1)
    assert code == 0
    assert "2 one at a time, cache on (1 empty left out)" in out


def test_the_fit_and_its_scatter_are_printed_and_drawn(run: Call, write: Write, work: Work) -> None:
    """Seconds are proportional to computed tokens by this clock, FLOPs nearly so."""
    code, out, _ = run("study", "--log", write(*LOG), "--chars-per-token", 4, "--repeats", 1)
    assert code == 0
    points = [p for p in from_csv(Path("outputs/log_results.csv")) if isinstance(p, LogPoint)]
    assert len(points) == 4
    fit = fit_line(points)
    assert fit is not None
    assert fit.r_squared is not None
    assert fit.r_squared > 0.99
    line = f"seconds = {fit.intercept_s:.2e} + {fit.slope_s_per_flop:.2e} * FLOPs"
    words = " ".join(out.split())
    assert f"fit {line}, R^2 {fit.r_squared:.3f}" in words
    p50, p90, most = (100 * r for r in (fit.residual_p50, fit.residual_p90, fit.residual_max))
    scatter = f"median {p50:.0f}%, p90 {p90:.0f}%, largest {most:.0f}%"
    assert f"|residual| / measured: {scatter}" in words
    assert "no other figure uses it" in out
    options = ("--results", "outputs/log_results.csv", "--figure", "x.svg")
    assert run("study", "--plot", *options)[0] == 0
    words = f"least squares: R² {fit.r_squared:.3f}; |residual| / measured: median {p50:.0f} %"
    assert words in Path("x.svg").read_text(encoding="utf-8")


def test_a_log_that_the_simulator_predicts_wrongly_is_reported(
    run: Call, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(simulated, "predicted_skips", lambda *a, **options: [0, 1, 0, 0])
    code, out, _ = run("study", "--log", write(*LOG), "--chars-per-token", 4, "--repeats", 1)
    assert code == 1
    assert "NOT equal" in out


def test_a_log_too_large_to_compute_is_refused_with_what_fits(
    run: Call, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_TOKENS", 200)
    options = ("--log", write(*LOG), "--chars-per-token", 4, "--repeats", 1)
    code, _, err = run("study", *options)
    assert code == 2
    assert "341 prompt tokens" in err
    assert "take the first with --requests 2" in err
    assert run("study", *options, "--requests", 2)[0] == 0
    code, _, err = run("study", *options[:-1], 2, "--requests", 2)
    assert code == 2
    assert "159 prompt tokens, 2 times" in err
    assert "take the first with --requests 1, or give fewer --repeats" in err
    monkeypatch.setattr(limits, "MAX_CONTEXT", 100)
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
