"""scripts/check/dallot.py holds, and fails without its control or with ties."""

from __future__ import annotations

import dallot_check as script
import pytest


def test_it_holds(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    everything = script.small_cases
    monkeypatch.setattr(script, "small_cases", lambda nodes, length: everything(3, 4))
    assert script.main(["--drawn", "150"]) == 0
    assert "FAILED" not in capsys.readouterr().out


def test_a_difference_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    everything = script.small_cases
    monkeypatch.setattr(script, "small_cases", lambda nodes, length: everything(3, 3))
    monkeypatch.setattr(script, "AncestorsFirst", script.SlowAncestorsFirst)
    assert script.main(["--drawn", "150"]) == 1
