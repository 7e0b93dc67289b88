"""The exact offline optimum as an integer program, independent of the dynamic program.

The model is written down word for word, one variable per node and request: ``r[v, t]`` is 1 when
``v`` is resident right after request ``t``, and what is resident at ``t`` and was not before is
loaded and paid. No interval, group or dominance argument enters, so it shares none with the dynamic
program or with the linear program it is held against.

A solver's word counts only as far as PuLP says it proved it (PuLP 3 reports "Optimal" for a
time-limited incumbent); the cost is recomputed exactly from the schedule.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import lcm

from cache_worthy.oracles.schedule import Schedule, check_schedule, require_capacity
from cache_worthy.oracles.solver import Program, SolverError, solve
from cache_worthy.theory.instance import Instance, Number


@dataclass(frozen=True, slots=True)
class MilpAnswer:
    """A schedule, and whether it is known to be optimal."""

    schedule: Schedule
    """Feasible, its cost recomputed exactly."""
    proved: bool
    """Whether the solver proved it optimal; false after a time limit."""
    solver: str


def solve_milp(
    instance: Instance,
    capacity: int,
    *,
    solver: str | None = None,
    time_limit: float | None = None,
) -> MilpAnswer:
    """Solve the integer program.

    Parameters
    ----------
    solver : {"highs", "cbc"}, optional
        Default HiGHS, else CBC.
    time_limit : float, optional
        Seconds; the incumbent is returned with ``proved`` false. HiGHS may overshoot.

    Raises
    ------
    OracleError
        If the capacity cannot hold the largest requested path.
    SolverError
        If there is no solver, or no solution within the limit.

    Examples
    --------
    >>> instance = Instance(parent=(None, 0, None, None), size=(1, 1, 1, 1), cost=(0, 5, 2, 0),
    ...                     requests=(1, 2, 3, 2, 3, 2))
    >>> answer = solve_milp(instance, 2)
    >>> answer.schedule.cost, answer.proved
    (7, True)
    """
    require_capacity(instance, capacity)
    nodes = sorted(instance.touched())
    if not instance.requests:
        return MilpAnswer(Schedule(0, ()), True, "none needed")
    program, resident = _program(instance, capacity, nodes)
    solution = solve(program, solver, time_limit)
    states: list[frozenset[int]] = []
    for here in resident:
        if any(0.01 < solution.values[c] < 0.99 for c in here.values()):
            raise SolverError(f"{solution.solver}: a fractional value in an integer program")
        states.append(frozenset(u for u, c in here.items() if solution.values[c] > 0.5))
    cost = check_schedule(instance, capacity, states)
    return MilpAnswer(Schedule(cost, tuple(states)), solution.proved, solution.solver)


def _program(
    instance: Instance, capacity: int, nodes: list[int]
) -> tuple[Program, list[dict[int, int]]]:
    """The integer program, and the column of every node after every request."""
    # Whole numbers for the solver; a common divisor keeps them small.
    scale = lcm(*(Fraction(instance.cost[v]).denominator for v in nodes))
    program = Program()
    resident: list[dict[int, int]] = []
    for t, v in enumerate(instance.requests):
        path = set(instance.path(v))
        here = {u: program.column(0.0, 1.0 if u in path else 0.0, 1.0, integer=True) for u in nodes}
        for u in nodes:
            p = instance.parent[u]
            if p is not None:  # ancestor-closed
                program.row([(here[u], 1.0), (here[p], -1.0)], "<=", 0.0)
            before = [(resident[t - 1][u], -1.0)] if t else []
            if u in path:
                loaded = program.column(float(instance.cost[u] * scale), 0.0, 1.0)
                program.row([(here[u], 1.0), (loaded, -1.0), *before], "<=", 0.0)
            else:  # demand paging
                program.row([(here[u], 1.0), *before], "<=", 0.0)
        program.row([(here[u], float(instance.size[u])) for u in nodes], "<=", float(capacity))
        resident.append(here)
    return program, resident


def milp_cost(instance: Instance, capacity: int, solver: str | None = None) -> Number:
    """The optimum, or an error when the solver did not prove it."""
    answer = solve_milp(instance, capacity, solver=solver)
    if not answer.proved:
        raise SolverError(f"{answer.solver}: optimality not proved")
    return answer.schedule.cost
