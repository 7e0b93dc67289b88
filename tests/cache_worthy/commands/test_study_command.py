"""cache-worthy study: options that are refused, and files that are never overwritten."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from study_cases import (
    LOG,
    OFF_ROW,
    QUICK,
    RUN_ROW,
    elsewhere,
    lines_of,
    runs_of,
)

from cache_worthy.study.csv_file import to_csv

Call = Callable[..., tuple[int, str, str]]
Write = Callable[..., Path]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere(tmp_path, monkeypatch)


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
    code, _, err = run("study", "--log", log, "--pool-blocks", 2, "--chars-per-token", 4)
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
    assert (code, "--figure x.nonsense: expected a name that ends in .png or .svg" in err) == (
        2,
        True,
    )


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
