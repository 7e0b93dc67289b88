"""scripts/check/potential.py: expectations hold on the committed survey, and can fail."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "potential_check", ROOT / "scripts" / "potential_check.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _edit(script: ModuleType, folder: Path, change: Any) -> Path:
    data = json.loads(script.SURVEY.read_text(encoding="utf-8"))
    change(data)
    file = folder / "survey.json"
    file.write_text(json.dumps(data), encoding="utf-8")
    return file


def test_committed_survey(script: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert script.main(["--gate", "30", "--random", "2000", "--json"]) == 0
    out = json.loads(capsys.readouterr().out)
    assert out["ok"] is True
    gate, survey, forests = out["parts"]
    assert sum(p["replays"] - p["vacuous"] for p in gate["policies"]) >= 30
    by_policy = {p["policy"]: p for p in survey["policies"]}
    assert by_policy["landlord"]["replays"] >= 12
    assert by_policy["landlord"]["rows"]["credit-floor"]["violations"] > 0
    assert by_policy["landlord"]["rows"]["rent"]["violations"] == 0
    assert by_policy["landlord_leaf_rent"]["rows"]["rent"]["violations"] > 0
    for form in ("cosigned", "cosigned_eager", "cosigned_touch"):
        assert by_policy[form]["violations"] == 0
        assert by_policy[form]["evictions"] > 0
    assert forests["failures"] == []


def test_a_vacuous_case_fails_the_survey(script: ModuleType, tmp_path: Path) -> None:
    def roomy(data: dict[str, Any]) -> None:
        data["cases"][-1]["k"] = 1000

    failures = script.survey(_edit(script, tmp_path, roomy))["failures"]
    assert any("vacuous" in f for f in failures)


def test_cases_that_the_seed_does_not_draw_fail_the_survey(
    script: ModuleType, tmp_path: Path
) -> None:
    def touched_up(data: dict[str, Any]) -> None:
        data["cases"][0]["cost"][0] += 1

    failures = script.survey(_edit(script, tmp_path, touched_up))["failures"]
    assert any("not those of seed" in f for f in failures)


def test_too_few_cases_fail_the_survey(script: ModuleType, tmp_path: Path) -> None:
    def cut(data: dict[str, Any]) -> None:
        data["cases"] = data["cases"][:3]

    file = _edit(script, tmp_path, cut)
    assert any("at least 12" in f for f in script.survey(file)["failures"])
    assert script.main(["--survey", str(file), "--gate", "6"]) == 1


def test_a_broken_policy_fails_the_gate(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(script, "GATE", ("lru",))
    assert script.flat_gate(20, 1)["failures"]


def test_survey_file_is_what_the_script_writes(script: ModuleType, tmp_path: Path) -> None:
    again = tmp_path / "survey.json"
    script.write_survey(again, json.loads(script.SURVEY.read_text(encoding="utf-8"))["seed"])
    assert again.read_bytes() == script.SURVEY.read_bytes()
