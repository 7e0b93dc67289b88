"""What runs every check and every bench, tried on a checkout of a few toy scripts."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from commands import ROOT, Done


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with the two scripts that run others, what they import, and nothing to run."""
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "scripts" / "support", tmp_path / "scripts" / "support", ignore=ignore)
    for name in ("check/verify.py", "bench/all.py"):
        (tmp_path / "scripts" / name).parent.mkdir()
        shutil.copy(ROOT / "scripts" / name, tmp_path / "scripts" / name)
    return tmp_path


def run(checkout: Path, name: str, *words: object) -> Done:
    command = [sys.executable, str(checkout / "scripts" / name), *map(str, words)]
    return subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=False)


def steps(checkout: Path, *options: str) -> list[list[str]]:
    listed = run(checkout, "check/verify.py", "--traces", checkout, "--list", *options)
    assert listed.returncode == 0, listed.stderr
    return [line.split() for line in listed.stdout.splitlines()]


def test_verify_goes_on_after_a_failure_and_fails(checkout: Path) -> None:
    for trace in ("conversation", "synthetic"):
        (checkout / f"{trace}_trace.jsonl").write_text("{}\n")
    scripts = [Path(words[1]) for words in steps(checkout)[:-1]]
    assert len(scripts) >= 7
    for code, script in enumerate(scripts):
        # The second one fails.
        script.write_text(f"print('ran {code}', flush=True); raise SystemExit({3 * (code == 1)})")
    (checkout / "test_one.py").write_text(
        "import os, pytest\n@pytest.mark.traces\ndef test_one():\n"
        f"    assert os.environ['TRACES'] == {str(checkout)!r}\n"
    )
    done = run(checkout, "check/verify.py", "--traces", checkout)
    assert done.returncode == 1
    ran = re.findall(r"^ran (\d)$", done.stdout, re.MULTILINE)
    assert ran == [str(n) for n in range(len(scripts))]
    assert done.stdout.count("FAILED") == 1
    assert re.search(rf"FAILED \(3\) .* {scripts[1].name}", done.stdout)
    assert "1 passed" in done.stdout
    assert "toolagent: not at hand" in done.stdout
    scripts[1].write_text("")
    assert run(checkout, "check/verify.py", "--traces", checkout).returncode == 0


def test_verify_needs_both_traces(checkout: Path) -> None:
    (checkout / "conversation_trace.jsonl").write_text("{}\n")
    done = run(checkout, "check/verify.py", "--traces", checkout)
    assert done.returncode == 2
    assert "lacks synthetic_trace.jsonl" in done.stderr


def test_verify_runs_every_check_script() -> None:
    for options in ((), ("--full",)):
        *lines, last = steps(ROOT, *options)
        for words in lines:
            assert Path(words[1]).is_file()
            assert "--check" in words
        assert last[1:3] == ["-m", "pytest"]
        marks = "traces or slow" if options else "traces and not slow"
        assert marks in " ".join(last)


@pytest.mark.parametrize(("end", "code"), [("os.kill(os.getpid(), 9)", 1), ("sys.exit(2)", 2)])
def test_the_worst_bench_counts(end: str, code: int, checkout: Path) -> None:
    folder = checkout / "scripts" / "bench"
    (folder / "one.py").write_text(f"import os, sys\n{end}\n", encoding="utf-8")
    (folder / "two.py").write_text("print('two ran')", encoding="utf-8")
    done = run(checkout, "bench/all.py", "--results", checkout / "results")
    assert done.returncode == code
    assert "two ran" in done.stdout


def test_a_folder_that_takes_no_results_is_refused_first(checkout: Path) -> None:
    (checkout / "scripts" / "bench" / "one.py").write_text("raise SystemExit(3)", encoding="utf-8")
    (checkout / "file").touch()
    done = run(checkout, "bench/all.py", "--results", checkout / "file")
    assert done.returncode == 2
    assert "cannot be written to" in done.stderr
