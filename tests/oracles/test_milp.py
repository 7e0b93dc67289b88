"""The integer program says "proved" only when a solver proved it."""

from __future__ import annotations

from random import Random

import pytest

from cache_worthy.oracles import solver as solver_module
from cache_worthy.oracles.optimum.milp import solve_milp
from cache_worthy.oracles.solver import Program, SolverError, solve
from cache_worthy.theory.instance import Instance


def knapsacks() -> Program:
    """Sixty dense knapsack rows over 300 columns: no solver closes the gap in half a second."""
    rng = Random(1)
    program = Program()
    for _ in range(300):
        program.column(-float(rng.randint(1000, 2000)), integer=True)
    for _ in range(60):
        program.row([(j, float(rng.randint(1000, 2000))) for j in range(300)], "<=", 150_000.0)
    return program


@pytest.mark.parametrize("solver", ["highs", "cbc"])
def test_a_time_limited_incumbent_is_not_called_proved(solver: str) -> None:
    assert not solve(knapsacks(), solver, time_limit=0.5).proved


@pytest.mark.parametrize("solver", ["highs", "cbc"])
def test_an_optimum_is_called_proved(solver: str) -> None:
    instance = Instance((None, 0, None, None), (1,) * 4, (0, 5, 2, 0), (1, 2, 3, 2, 3, 2))
    answer = solve_milp(instance, 2, solver=solver)
    assert answer.proved
    assert answer.schedule.cost == 7
    assert solver in answer.solver


def test_infeasible_is_an_error_not_a_solution() -> None:
    program = Program()
    x = program.column(1.0)
    program.row([(x, -1.0)], "<=", -2.0)
    with pytest.raises(SolverError, match="no solution"):
        solve(program, "highs")


def test_choice_of_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    assert solver_module.available() == ("highs", "cbc")
    assert solver_module.choose() == "highs"
    monkeypatch.setattr(solver_module, "available", lambda: ("cbc",))
    assert solver_module.choose() == "cbc"
    with pytest.raises(SolverError, match="highs is not installed; found: cbc"):
        solver_module.choose("highs")
    monkeypatch.setattr(solver_module, "available", lambda: ())
    with pytest.raises(SolverError, match="no linear-programming solver found"):
        solver_module.choose()
