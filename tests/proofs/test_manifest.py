"""The manifest and its runner: a false claim fails the run, an unsound manifest is refused.

The claims themselves are run by ``make proofs``; a few cheap ones are run here.
"""

from __future__ import annotations

import os
import re
import subprocess
from fnmatch import fnmatchcase
from pathlib import Path

import manifest
import pytest
from commands import ROOT, Done, script

MANIFEST = ROOT / "proofs" / "manifest.toml"


def run(file: Path, *words: object) -> Done:
    """Run the claims of a manifest."""
    return script("check/proofs.py", "--manifest", file, *words)


HOLDS = """
[[claim]]
id = "row"
claim = "the load row"
command = "python scripts/check/rows.py cosigned.load"
expect = "unsat"
covers = "all reals"
budget = 60
rank = "established theory"
universal = true
twin = "mutants"

[[claim]]
id = "mutants"
claim = "its mutants"
command = "python scripts/check/rows.py cosigned.load --mutants"
expect = "sat"
covers = "each"
budget = 60
rank = "established theory"
"""

FALSE = """
[[claim]]
id = "deliberately-false"
claim = "a mutated row holds"
command = "python scripts/check/rows.py cosigned.load --mutants"
expect = "unsat"
covers = "each"
budget = 60
rank = "own test"
"""


def test_a_true_manifest_passes(tmp_path: Path) -> None:
    file = tmp_path / "manifest.toml"
    file.write_text(HOLDS, encoding="utf-8")
    done = run(file)
    assert done.returncode == 0, done.stderr
    assert "2 of 2 claims as stated, 1 of them universal" in done.stdout


def test_a_false_claim_in_a_copy_of_the_manifest_fails(tmp_path: Path) -> None:
    file = tmp_path / "manifest.toml"
    file.write_text(MANIFEST.read_text(encoding="utf-8") + FALSE, encoding="utf-8")
    done = run(file, "--only", "deliberately-false")
    assert done.returncode == 1
    assert done.stdout.startswith("FAIL")
    assert "sat (expected unsat)" in done.stdout


def test_a_claim_whose_program_is_missing_is_said_not_to_have_run(tmp_path: Path) -> None:
    file = tmp_path / "manifest.toml"
    needy = FALSE.replace('rank = "own test"', 'rank = "own test"\nneeds = "no-such-program"')
    file.write_text(HOLDS + needy, encoding="utf-8")
    done = run(file)
    assert done.returncode == 0, done.stderr
    out = done.stdout
    assert "NOT RUN" in out
    assert "no-such-program is not installed" in out
    assert "2 of 2 claims as stated" in out
    assert out.rstrip().endswith("; 1 NOT RUN")
    file.write_text(HOLDS + needy.replace("no-such-program", "sh"), encoding="utf-8")
    assert run(file).returncode == 1


def test_a_command_over_its_budget_or_without_a_result_fails(tmp_path: Path) -> None:
    slow = FALSE.replace("budget = 60", "budget = 0.05")
    lost = FALSE.replace('expect = "unsat"', 'expect = "unsat"\npick = "nothing"')
    broken = FALSE.replace("cosigned.load --mutants", "cosigned.nothing")
    for text, told in (
        (slow, "over its budget"),
        (lost, "no 'nothing' in the output"),
        (broken, "FAIL"),
    ):
        file = tmp_path / "manifest.toml"
        file.write_text(text, encoding="utf-8")
        done = run(file)
        assert done.returncode == 1
        assert told in done.stdout


def test_only_never_leaves_a_twin_behind(tmp_path: Path) -> None:
    file = tmp_path / "manifest.toml"
    file.write_text(HOLDS, encoding="utf-8")
    done = run(file, "--only", "row")
    assert done.returncode == 0, done.stderr
    out = done.stdout
    assert "mutants" in out
    assert "2 of 2 claims as stated, 1 of them universal" in out


def test_nothing_run_is_no_success(tmp_path: Path) -> None:
    file = tmp_path / "manifest.toml"
    file.write_text(
        HOLDS.replace("budget = 60", 'budget = 60\nneeds = "no-such-program"'), encoding="utf-8"
    )
    done = run(file)
    assert done.returncode == 1
    assert "0 of 0 claims as stated, 0 of them universal" in done.stdout


@pytest.mark.skipif(os.name != "posix", reason="process groups")
def test_a_command_over_its_budget_leaves_nothing_running() -> None:
    output = manifest.execute("sh -c 'sleep 47.11 & wait'", 0.3)
    assert "over its budget" in output.trouble
    listed = subprocess.run(["ps", "ax"], capture_output=True, text=True, check=True).stdout
    assert "sleep 47.11" not in listed


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (('twin = "mutants"', 'twin = "nobody"'), "there is no twin"),
        (('expect = "sat"', 'expect = "unsat"'), "not opposite"),
        (('rank = "established theory"', 'rank = "proven"'), "rank"),
        (('id = "mutants"', 'id = "row"'), "stated twice"),
        (('covers = "each"', 'covers = "each"\nnote = "x"'), "unknown key"),
        (('expect = "sat"', 'expect = "count about 3"'), "no relation and value"),
        (("cosigned.load --mutants", "cosigned.load"), "reads the same result"),
        (("cosigned.load --mutants", " cosigned.load "), "reads the same result"),
        (('expect = "sat"', 'expect = ""'), "expect"),
        (('expect = "sat"', 'expect = "sat never mind"'), "expect"),
        (('expect = "sat"', 'expect = "count 1/0"'), "no relation and value"),
        (('expect = "sat"', "expect = 0"), "expect"),
        (("budget = 60", 'budget = "5"'), "budget"),
        (('command = "python scripts/check/rows.py cosigned.load"', 'command = ""'), "command"),
        (('covers = "each"', 'covers = "each"\npick = "result.-1"'), "pick"),
        (('covers = "each"', 'covers = "each"\nneeds = "coqc"'), "its twin needs coqc"),
    ],
)
def test_an_unsound_manifest_is_refused(tmp_path: Path, change: tuple[str, str], told: str) -> None:
    text = HOLDS.replace(*change)
    assert text != HOLDS
    file = tmp_path / "manifest.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(manifest.ManifestError, match=told):
        manifest.load(file)


def test_an_unsound_manifest_runs_nothing(tmp_path: Path) -> None:
    file = tmp_path / "manifest.toml"
    for text, told in (
        (HOLDS.replace('twin = "mutants"', 'twin = "nobody"'), "there is no twin"),
        ("[[claim]", "manifest.toml: "),
    ):
        file.write_text(text, encoding="utf-8")
        done = run(file)
        assert (done.returncode, done.stdout) == (2, "")
        assert told in done.stderr


def test_every_row_of_both_tables_is_in_the_manifest() -> None:
    from cache_worthy.theory.potential.rows import TABLES

    claims = {claim.id: claim for claim in manifest.load(MANIFEST)}
    for table in TABLES.values():
        for row in table():
            claim = claims[f"row.{row.table}.{row.name}"]
            assert claim.universal
            assert claim.command.endswith(f"{row.table}.{row.name}")


def test_the_status_page_lists_what_only_the_full_set_runs() -> None:
    text = (ROOT / "proofs" / "status.md").read_text(encoding="utf-8")
    told = re.search(
        r"runs (\d+) of the (\d+) claims.*? runs the other (\d+):\n\n(.*?)\n\n", text, re.DOTALL
    )
    assert told is not None
    claims = manifest.load(MANIFEST)
    full = {c.id for c in claims if c.full}
    assert told.groups()[:3] == (str(len(claims) - len(full)), str(len(claims)), str(len(full)))
    rows = told[4].splitlines()[2:]
    patterns = [p for row in rows for p in re.findall(r"`([^`]+)`", row.split("|")[1])]
    covered = {p: {c.id for c in claims if fnmatchcase(c.id, p)} for p in patterns}
    assert all(covered.values())
    assert set().union(*covered.values()) == full


def test_every_command_names_something_that_exists() -> None:
    for claim in manifest.load(MANIFEST):
        words = claim.command.split()
        assert words[0] in ("python", "cache-worthy")
        if words[0] == "python":
            assert (ROOT / words[1]).is_file(), claim.id


@pytest.mark.parametrize(
    ("one", "two", "expected"),
    [
        ("sat", "unsat", True),
        ("sat", "sat", False),
        ("count 0", "count >= 1", True),
        ("count 0", "count >= 0", False),
        ("ratio <= 3/2", "ratio > 3/2", True),
        ("ratio <= 3/2", "ratio >= 3/2", False),
        ("ratio 3/2", "count 2", False),
        ("ok", "sat", False),
    ],
)
def test_opposite_expectations(one: str, two: str, expected: bool) -> None:
    claims = [manifest.Claim("x", "x", "x", expect, "x", 1, "own test") for expect in (one, two)]
    assert manifest.opposite(*claims) is expected
    assert manifest.opposite(*reversed(claims)) is expected


def test_values_are_compared_exactly() -> None:
    claim = manifest.Claim("x", "x", "x", "ratio > 3/2", "x", 1, "own test")
    assert claim.judge("11/7")
    assert not claim.judge("3/2")
    assert not claim.judge(1.6)
    assert not claim.judge(None)
    assert not claim.judge("large")
    assert not manifest.Claim("x", "x", "x", "count 1", "x", 1, "own test").judge(True)
