"""The program before and around its commands: what it loads, exit codes, streams."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cache_worthy.commands import COMMANDS

Run = Callable[..., tuple[int, str, str]]


def test_usage(run: Run) -> None:
    assert run()[0] == 2
    code, out, err = run("no-such-command")
    assert (code, out) == (2, "")
    assert "analyze" in err
    code, out, err = run("--version")
    assert (code, err) == (0, "")
    assert out.startswith("cache-worthy ")


def test_both_spellings_are_taken(run: Run, sample: Path) -> None:
    options = (sample, "--no-bound", "--json")
    assert run("analyse", *options) == run("analyze", *options)
    code, _, err = run("analyse", "--no-such-option")
    assert code == 2
    assert "see cache-worthy analyze --help" in err
    for option in ("--anonymise", "--anonymize"):
        code, out, err = run("convert", sample, option)
        assert code == 0
        assert "anonymised" in err
        assert "hash_ids" in out


def test_every_way_to_ask_for_the_version(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    """Alone it is answered without the parser, which answers it beside other words."""
    alone = run("--version")[1]
    with pytest.raises(SystemExit) as stop:
        run("--version", "analyze")
    assert stop.value.code == 0
    assert capsys.readouterr().out == alone


def loaded(*words: str) -> set[str]:
    """The modules that a run of the program imports."""
    code = (
        "import contextlib, json, sys; from cache_worthy.cli import main\n"
        "with contextlib.suppress(SystemExit): main(sys.argv[1:])\n"
        "print(json.dumps(list(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, check=True
    )
    return set(json.loads(done.stderr))


def of_the_project(modules: set[str]) -> set[str]:
    return {name for name in modules if name.partition(".")[0] == "cache_worthy"}


@pytest.mark.parametrize("word", ["--version", "--help"])
def test_no_command_is_loaded_to_tell_what_there_is(word: str) -> None:
    found = of_the_project(loaded(word))
    assert len(found) < 15
    assert not {name for name in found if name.startswith("cache_worthy.commands.")} - {
        "cache_worthy.commands.parser"
    }


def test_the_version_needs_next_to_nothing() -> None:
    """Each of these takes a good part of the time in which Python itself starts."""
    bare = "import json, sys, contextlib; print(json.dumps(list(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", bare], capture_output=True, text=True, check=True)
    new = loaded("--version") - set(json.loads(done.stdout))
    assert not {"argparse", "typing", "dataclasses", "inspect", "pathlib", "logging"} & new


@pytest.mark.parametrize("command", COMMANDS)
def test_one_command_is_loaded_and_nothing_heavy(command: str) -> None:
    """Its help and its arguments need no numbers; other commands' modules stay out."""
    found = loaded(command, "--help")
    heavy = {
        "numpy",
        "networkx",
        "pulp",
        "highspy",
        "z3",
        "hypothesis",
        "numba",
        "jinja2",
    }
    assert not heavy & found
    assert f"cache_worthy.commands.{command}" in found
    others = {f"cache_worthy.commands.{name}" for name in COMMANDS if name != command}
    assert not others & found


def test_starting_is_light() -> None:
    """No heavy module is imported by an analysis."""
    code = (
        "import sys; from cache_worthy.cli import main; "
        "main(['policies']); "
        "heavy = {'numpy', 'networkx', 'pulp', 'highspy', 'z3', 'hypothesis', 'jinja2'}; "
        "sys.exit(len(heavy & set(sys.modules)))"
    )
    subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)


def test_a_closed_pipe_is_silent(sample: Path) -> None:
    """The reader hangs up before anything is written."""
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "cache_worthy.cli", "analyze", str(sample)]
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert done.stderr == b""
    assert done.returncode == 0
