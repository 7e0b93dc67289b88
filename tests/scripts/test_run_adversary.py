"""scripts/check/adversary.py: every check holds, and a wrong closed form is seen."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "run_adversary", ROOT / "scripts" / "run_adversary.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_all_checks_hold(script: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert script.main(["--adaptive", "4", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["ok"] is True
    assert len(document["checks"]) == 6
    assert all(c["cases"] > 100 for c in document["checks"])


def test_a_wrong_closed_form_fails(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # One cheap miss a phase: right for large k, wrong at k = 2.
    monkeypatch.setattr(script, "lru_cycle_optimum", lambda k, cost, phases: cost + k + phases - 1)
    assert script.main([]) == 1
    out = capsys.readouterr().out
    assert "FAILED the exhaustive optimum" in out
    assert "FAILED Belady" in out
