"""The least that any schedule, even a clairvoyant one, must recompute on a log: a certified bound."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from cache_worthy.checks import file_name, integer, listed, one_of
from cache_worthy.errors import UsageError
from cache_worthy.logs.log import Log
from cache_worthy.measure.capacity import Capacity, require_floor
from cache_worthy.measure.result import InputRead, Result, input_read
from cache_worthy.sim.cost import BlockCost, BlockSize, DepthFn, Model, TableCost
from cache_worthy.sim.forest import forest_of
from cache_worthy.sim.radix.policies import POLICIES
from cache_worthy.sim.radix.replay import replay
from cache_worthy.sim.trace import paths_of

if TYPE_CHECKING:
    from cache_worthy.oracles.bound.groups import BlockTrace
    from cache_worthy.oracles.bound.offline import Bound

LARGEST_COST = 10**300
"""Costs reach the solver as floats."""

Rows = Literal["chain", "A2", "A3"]
ROWS: tuple[Rows, ...] = ("chain", "A2", "A3")
SOLVERS = ("highs", "cbc")

Costs = str | PathLike[str] | Iterable[int]


@dataclass(frozen=True, slots=True)
class BoundInput(InputRead):
    """What was read.

    Attributes
    ----------
    canonical_sha256 : str
        Of what ``cache-worthy convert`` writes for it.
    """

    canonical_sha256: str


@dataclass(frozen=True, slots=True)
class Proof:
    """The prices that certify a bound, to be checked against the canonical trace."""

    trace: BlockTrace
    bound: Bound
    costs: str

    def to_json(self) -> str:
        """The certificate that ``proofs/check_certificate.py`` checks."""
        from cache_worthy.oracles.bound.certificate import to_json

        return to_json(
            self.trace,
            self.bound.capacity,
            self.bound.certified,
            cost_description=self.costs,
        )


@dataclass(frozen=True, slots=True)
class BoundDocument(Result):
    """The certified bound of one log at one capacity.

    Attributes
    ----------
    costs : str or None
        File of measured costs, None for the model's.
    lower_bound, compulsory_cost, feasible_cost : int
        Of the certificate, of an unlimited cache, of the best clairvoyant schedule found.
    lower_bound_ratio, feasible_ratio, belady_ratio, lru_ratio : float
        Over compulsory; 1 where nothing has a cost.
    recoverable_fraction : float or None
        ``1 - lower_bound / lru``: at most this share of lru's cost can go.
    certified : bool
        Always true, and the schema says so: a bound not verified in exact integers is not given.
    proof : Proof
        No part of the document.
    """

    document_name: ClassVar[str] = "bound"

    input: BoundInput
    model: Model
    costs: str | None
    capacity_blocks: int
    lower_bound: int
    compulsory_cost: int
    lower_bound_ratio: float
    feasible_cost: int
    feasible_ratio: float
    belady_ratio: float
    lru_ratio: float
    recoverable_fraction: float | None
    certified: Literal[True]
    policy_class: str
    solver: str
    interrupted: bool
    proof: Proof = field(metadata={"json": False}, repr=False)


def require_solver(solver: str | None) -> None:
    """Refuse a solver that is not installed.

    Raises
    ------
    UsageError
    """
    from cache_worthy.oracles.solver import SolverError, choose

    if solver is not None:
        one_of("solver", solver, SOLVERS)
    try:
        choose(solver)
    except SolverError as error:
        raise UsageError(str(error)) from error


def bound_log(
    log: Log,
    capacity: Capacity,
    *,
    model: Model,
    costs: Costs | None = None,
    rows: Rows = "A3",
    solver: str | None = None,
    step: Callable[[str], None] | None = None,
) -> BoundDocument:
    """Bound the recompute of a log at one capacity.

    Parameters
    ----------
    log : Log
    capacity : Capacity
    model : Model
    costs : str, path or sequence of int, optional
        Measured costs instead of the model's, or the file that has them: of the first 0, 1, 2, ...
        blocks of a path.
    rows : {"chain", "A2", "A3"}
        Dependency rows: none, hits by prefix, ancestor-closed.
    solver : {"highs", "cbc"}, optional
        HiGHS by default, CBC where it is not installed.
    step : callable, optional
        Told what is being done.

    Raises
    ------
    UsageError
        For a capacity that cannot serve the log, costs that do not fit, or a missing solver.
    """
    from cache_worthy.oracles.bound.groups import group_references, trace_of_requests
    from cache_worthy.oracles.bound.offline import offline_bound
    from cache_worthy.oracles.schedule import OracleError
    from cache_worthy.oracles.solver import SolverError

    rows = one_of("rows", rows, ROWS)
    require_solver(solver)
    forest = forest_of(log.requests)
    size = BlockSize(model, log.block_tokens)
    cost: DepthFn = BlockCost(model, log.block_tokens)
    described, named = f"prefill FLOPs, {model.name}", None
    if costs is not None:
        named, cost = _measured(costs, forest.depth)
        described = f"measured, {named}"
    room = capacity.in_bytes(forest.distinct, size.block) or 0
    require_floor(room, forest, size)
    try:
        # The oracle interns the log again, as it imports nothing of what it judges.
        trace = trace_of_requests(paths_of(log.requests), cost.cumulative(forest.depth))
        grouped = group_references(trace)
        found = offline_bound(
            trace, room // size.block, grouped=grouped, rows=rows, solver=solver, progress=step
        )
    except (OracleError, SolverError) as error:
        raise UsageError(str(error)) from error
    proof = Proof(trace, found, f"{described}, blocks of {log.block_tokens} tokens")
    lru = replay(forest, POLICIES["lru"](), room, size_fn=size, cost_fn=cost).total_cost
    return _document(log, proof, model=model, costs=named, lru=lru)


def _document(
    log: Log, proof: Proof, *, model: Model, costs: str | None, lru: int
) -> BoundDocument:
    found, read, least = proof.bound, input_read(log), proof.bound.compulsory
    return BoundDocument(
        input=BoundInput(
            **{f.name: getattr(read, f.name) for f in fields(read)},
            canonical_sha256=proof.trace.digest(),
        ),
        model=model,
        costs=costs,
        capacity_blocks=found.capacity,
        lower_bound=found.lower,
        compulsory_cost=least,
        lower_bound_ratio=_ratio(found.lower, least),
        feasible_cost=found.feasible,
        feasible_ratio=_ratio(found.feasible, least),
        belady_ratio=_ratio(found.belady, least),
        lru_ratio=_ratio(lru, least),
        recoverable_fraction=1 - _ratio(found.lower, lru) if lru else None,
        certified=True,
        policy_class=found.certified.policy_class,
        solver=found.solver,
        interrupted=found.interrupted,
        proof=proof,
    )


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


def _measured(costs: Costs, depth: int) -> tuple[str, TableCost]:
    """Name and table of cumulative costs, given or in a file.

    Raises
    ------
    UsageError
        If they cannot be read, are no integers from 0 on that do not fall, or are too few.
    """
    expected = "the name of a file, or a list of integers"
    name, option = "given", "--costs"
    if isinstance(costs, str | PathLike):
        name = file_name("costs", costs, expected)
        option = f"--costs {name}"
        values = _read(name)
    else:
        given = listed("costs", costs, expected)
        values = [integer(f"costs: entry {n}", v) for n, v in enumerate(given)]
    if fault := _fault(values, depth):
        raise UsageError(f"{option}: {fault}")
    return name, TableCost(tuple(values))


def _read(name: str) -> list[int]:
    try:
        values = json.loads(Path(name).read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise UsageError(f"--costs {name}: cannot read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"--costs {name}: not JSON: {error}") from error
    if not isinstance(values, list) or not all(type(v) is int for v in values):
        raise UsageError(f"--costs {name}: expected a JSON list of integers")
    return values


def _fault(values: Sequence[int], depth: int) -> str | None:
    """What is wrong with cumulative costs."""
    if any(v > LARGEST_COST for v in values):
        return "a cost is over 1e300; expected integers up to that"
    if not values or values[0] != 0:
        return "entry 0: expected 0, no block costs nothing"
    for d, (before, value) in enumerate(pairwise(values), 1):
        if value < before:
            return (
                f"entry {d} is {value}, below entry {d - 1}, {before}: "
                "the cost of the first blocks of a path must not fall with their number"
            )
    if len(values) <= depth:
        return (
            f"{len(values)} entries; the deepest request has {depth} blocks, so "
            f"at least {depth + 1} are needed"
        )
    return None
