"""scripts/check/potential.py: expectations hold on the committed survey, and can fail."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from commands import ROOT, Done, script

SURVEY = ROOT / "proofs" / "survey.json"

#: LRU under the name of Landlord.
BROKEN = """
import cache_worthy.theory.algorithms as algorithms

algorithms.ALGORITHMS["landlord"] = algorithms.ALGORITHMS["lru"]
"""


def failures(done: Done, code: int) -> list[list[str]]:
    """What failed, part by part."""
    assert done.returncode == code, done.stderr
    return [part["failures"] for part in json.loads(done.stdout)["parts"]]


def survey(tmp_path: Path, change: Callable[[dict[str, Any]], None]) -> list[str]:
    """What fails of a changed copy of the survey, and nothing else fails."""
    data = json.loads(SURVEY.read_text(encoding="utf-8"))
    change(data)
    file = tmp_path / "survey.json"
    file.write_text(json.dumps(data), encoding="utf-8")
    done = script("check/potential.py", "--survey", file, "--gate", "6", "--json")
    gate, found = failures(done, 1)
    assert gate == []
    return found


def test_committed_survey() -> None:
    done = script("check/potential.py", "--gate", "30", "--random", "2000", "--json")
    assert done.returncode == 0, done.stderr
    out = json.loads(done.stdout)
    assert out["ok"] is True
    gate, found, forests = out["parts"]
    assert sum(p["replays"] - p["vacuous"] for p in gate["policies"]) >= 30
    by_policy = {p["policy"]: p for p in found["policies"]}
    assert by_policy["landlord"]["replays"] >= 12
    assert by_policy["landlord"]["rows"]["credit-floor"]["violations"] > 0
    assert by_policy["landlord"]["rows"]["rent"]["violations"] == 0
    assert by_policy["landlord_leaf_rent"]["rows"]["rent"]["violations"] > 0
    for form in ("cosigned", "cosigned_eager", "cosigned_touch"):
        assert by_policy[form]["violations"] == 0
        assert by_policy[form]["evictions"] > 0
    assert forests["failures"] == []


def test_a_vacuous_case_fails_the_survey(tmp_path: Path) -> None:
    def roomy(data: dict[str, Any]) -> None:
        data["cases"][-1]["k"] = 1000

    assert any("vacuous" in f for f in survey(tmp_path, roomy))


def test_cases_that_the_seed_does_not_draw_fail_the_survey(tmp_path: Path) -> None:
    def touched_up(data: dict[str, Any]) -> None:
        data["cases"][0]["cost"][0] += 1

    assert any("not those of seed" in f for f in survey(tmp_path, touched_up))


def test_too_few_cases_fail_the_survey(tmp_path: Path) -> None:
    def cut(data: dict[str, Any]) -> None:
        data["cases"] = data["cases"][:3]

    assert any("at least 12" in f for f in survey(tmp_path, cut))


def test_a_broken_policy_fails_the_gate() -> None:
    done = script("check/potential.py", "--gate", "20", "--seed", "1", "--json", planted=BROKEN)
    gate, _ = failures(done, 1)
    assert any(f.startswith("landlord: ") for f in gate)


def test_survey_file_is_what_the_script_writes(tmp_path: Path) -> None:
    again = tmp_path / "survey.json"
    seed = json.loads(SURVEY.read_text(encoding="utf-8"))["seed"]
    done = script("check/potential.py", "--survey", again, "--draw", seed)
    assert done.returncode == 0, done.stderr
    assert again.read_bytes() == SURVEY.read_bytes()
