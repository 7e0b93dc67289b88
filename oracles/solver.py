"""Linear and integer programs through PuLP, solved by HiGHS or CBC.

The one place that knows PuLP: version 3 (Python 3.11) and version 4 (3.12 and later) differ, and
only what both offer is used. The solver is always named, the sense is always minimisation (the sign
of a dual differs between versions when maximising), and nothing here trusts a dual: callers
recompute what they claim.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from cache_worthy.oracles.schedule import OracleError

SOLVERS = ("highs", "cbc")


class SolverError(RuntimeError):
    """No solver, or one that stopped without the answer asked of it."""


@dataclass(slots=True)
class Program:
    """``min cost x`` subject to ``lower <= x <= upper`` and rows.

    A row is ``(pairs, sense, right-hand side)`` with ``pairs`` of (column, coefficient) and sense
    ``"<="`` or ``"="``.
    """

    cost: list[float] = field(default_factory=list)
    lower: list[float] = field(default_factory=list)
    upper: list[float] = field(default_factory=list)
    integer: list[bool] = field(default_factory=list)
    rows: list[tuple[list[tuple[int, float]], str, float]] = field(default_factory=list)

    def column(
        self, cost: float, lower: float = 0.0, upper: float = 1.0, integer: bool = False
    ) -> int:
        """Add a column and return its index."""
        self.cost.append(cost)
        self.lower.append(lower)
        self.upper.append(upper)
        self.integer.append(integer)
        return len(self.cost) - 1

    def row(self, pairs: list[tuple[int, float]], sense: str, rhs: float) -> int:
        """Add a row and return its index."""
        self.rows.append((pairs, sense, rhs))
        return len(self.rows) - 1


@dataclass(frozen=True, slots=True)
class Solution:
    """What a solver returned."""

    values: list[float]
    """Of every column."""
    reduced: list[float]
    """Reduced cost of every column (linear programs only)."""
    duals: list[float]
    """Of every row (linear programs only)."""
    proved: bool
    """True only when the solver says it proved optimality, not when it stopped at a limit."""
    solver: str
    """Name and PuLP's version."""


def available() -> tuple[str, ...]:
    """Solvers that can run here, in order of preference."""
    return tuple(name for name in SOLVERS if _backend(name, {}).available())


def choose(solver: str | None = None) -> str:
    """The solver asked for, else HiGHS, else CBC.

    Raises
    ------
    SolverError
        If it is not installed, or none is.
    """
    if solver is not None and solver not in SOLVERS:
        raise OracleError(f"solver = {solver!r}: expected one of {', '.join(SOLVERS)}")
    have = available()
    if solver is not None and solver not in have:
        raise SolverError(f"solver {solver} is not installed; found: {', '.join(have) or 'none'}")
    if not have:
        raise SolverError("no linear-programming solver found: install highspy (HiGHS), or CBC")
    return solver or have[0]


def solve(program: Program, solver: str | None = None, time_limit: float | None = None) -> Solution:
    """Minimise a program.

    Parameters
    ----------
    solver : {"highs", "cbc"}, optional
        As in :func:`choose`.
    time_limit : float, optional
        Seconds. A run cut short returns its incumbent with ``proved`` false.

    Raises
    ------
    SolverError
        If there is no solver, or it found no solution.
    """
    import pulp

    name = choose(solver)
    problem = pulp.LpProblem("bound", pulp.LpMinimize)
    columns = [
        problem.add_variable(f"x{i}", lo, hi, pulp.LpInteger if whole else pulp.LpContinuous)
        for i, (lo, hi, whole) in enumerate(
            zip(program.lower, program.upper, program.integer, strict=True)
        )
    ]
    problem += _linear([(columns[i], c) for i, c in enumerate(program.cost) if c])
    for i, (pairs, sense, rhs) in enumerate(program.rows):
        left = _linear([(columns[j], a) for j, a in pairs])
        problem.addConstraint(left <= rhs if sense == "<=" else left == rhs, f"r{i}")
    # Exact answers need a zero gap: HiGHS stops at 1e-4 by default.
    options: dict[str, Any] = {"gapRel": 0.0} if any(program.integer) else {}
    if time_limit is not None:
        options["timeLimit"] = time_limit
    try:
        result = problem.solve(_backend(name, options))
    except pulp.PulpSolverError as error:
        raise SolverError(f"{name}: {error}") from error
    status = int(getattr(result, "status", result))
    # PuLP 3 calls a time-limited incumbent "Optimal" and tells the truth in sol_status only;
    # PuLP 4 has a status for each way to stop.
    proved = status == 1 and getattr(problem, "sol_status", 1) == 1
    values = [v.varValue for v in columns]
    if status in (-1, -2, 0) or any(x is None for x in values):
        raise SolverError(f"{name} stopped with status {status} and no solution")
    linear = not any(program.integer)
    return Solution(
        values=[float(x) for x in values],
        reduced=[float(v.dj or 0.0) for v in columns] if linear else [],
        duals=[float(c.pi or 0.0) for c in problem.constraints()] if linear else [],
        proved=proved,
        solver=f"{name} through PuLP {pulp.__version__}",
    )


def _linear(pairs: Sequence[tuple[Any, float]]) -> Any:
    """A linear expression; the constructor moved between PuLP 3 and 4."""
    import pulp

    build: Callable[[list[tuple[Any, float]]], Any] = getattr(
        pulp.LpAffineExpression, "from_list", pulp.LpAffineExpression
    )
    return build(list(pairs))


def _backend(name: str, options: dict[str, Any]) -> Any:
    import pulp

    if name == "highs":
        return pulp.HiGHS(msg=False, threads=1, **options)
    # PuLP 3 carries CBC itself and warns that PuLP 4 will not; PuLP 4 finds it in the package
    # cbcbox or on the path.
    bundled = getattr(pulp, "PULP_CBC_CMD", pulp.COIN_CMD)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return bundled(msg=False, threads=1, **options)
