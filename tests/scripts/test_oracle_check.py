"""The oracle check finds agreement, and a wrong oracle."""

from __future__ import annotations

import time

import oracle_check
import pytest

from cache_worthy.oracles.optimum.optimal import optimal_cost
from cache_worthy.theory.instance import Instance


def test_agrees_on_a_small_sample(capsys: pytest.CaptureFixture[str]) -> None:
    assert oracle_check.main(["--instances", "8", "--seed", "4", "--check"]) == 0
    out = capsys.readouterr().out
    assert "instances, optimum above compulsory           8\n" in out
    assert "disagreements                                 0\n" in out


def test_a_wrong_optimum_is_a_disagreement(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def less(instance: Instance, capacity: int) -> object:
        cost = optimal_cost(instance, capacity)
        return cost if cost == instance.compulsory else cost - 1

    monkeypatch.setattr(oracle_check, "optimal_cost", less)
    assert oracle_check.main(["--instances", "3", "--seed", "4", "--check"]) == 1
    assert "dynamic program" in capsys.readouterr().err


def test_reach_names_the_largest_instance_done() -> None:
    lines = oracle_check.reach(60.0, sizes=(6,))
    assert len(lines) == 6
    assert all("12 requests" in line for line in lines)


def test_a_solver_that_never_answers_is_ended() -> None:
    def never(instance: Instance, capacity: int) -> None:
        while True:
            time.sleep(1)

    instance = Instance(parent=(None,), size=(1,), cost=(1,), requests=(0,))
    assert oracle_check._timed(never, instance, 1, 0.05) is None
