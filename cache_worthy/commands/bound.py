"""How little any schedule, clairvoyant ones included, could recompute on a log: a certified bound.

The lower bound holds for every demand-paging schedule that pins the requested path; with the
dependency rows (the default) for those whose cache is ancestor-closed, as the shipped policies'
is. With --certificate the prices that prove it are written to a file, which
proofs/check_certificate.py checks against the canonical trace (cache-worthy convert) with the
standard library alone. Ctrl-C ends the search and reports the best certificate so far (exit
code 130).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Literal

from cache_worthy.commands import options as arg
from cache_worthy.console import (
    Progress,
    check_output,
    note,
    wrapped,
    write_output,
)
from cache_worthy.documents import document, to_json
from cache_worthy.errors import UsageError
from cache_worthy.sim.cost import Model
from cache_worthy.sim.trace import BlockId

INTERRUPTED = 130

LARGEST_COST = 10**300
"""Costs reach the solver as floats."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    arg.add_log(parser)
    arg.add_capacity(parser, required=True, blocks=True)
    arg.add_model(parser)
    parser.add_argument(
        "--costs",
        metavar="FILE",
        help="measured costs instead of the model's: a JSON list of integers, the cost of the "
        "first 0, 1, 2, ... blocks of a path; must not fall",
    )
    parser.add_argument(
        "--rows",
        choices=("chain", "A2", "A3"),
        default="A3",
        help="dependency rows: chain none, A2 hits by prefix, A3 ancestor-closed (default)",
    )
    parser.add_argument(
        "--solver", choices=("highs", "cbc"), help="default HiGHS, CBC where it is not installed"
    )
    parser.add_argument("--certificate", metavar="FILE", help="write the certificate, JSON")
    arg.add_output(parser)


@dataclass(frozen=True, slots=True)
class BoundInput(arg.InputRead):
    """What was read.

    Attributes
    ----------
    canonical_sha256 : str
        Of what ``cache-worthy convert`` writes for it.
    """

    canonical_sha256: str


@dataclass(frozen=True, slots=True)
class BoundDocument:
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
    """

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


@dataclass(frozen=True, slots=True)
class MeasuredCost:
    """Costs by depth read from a file, as the simulator's cost function."""

    values: tuple[int, ...]

    def __call__(self, block_ids: Sequence[BlockId], depth: int, /) -> int:
        return self.values[depth + len(block_ids)] - self.values[depth]

    def cumulative(self, depth: int) -> list[int]:
        """Of the paths of 0, 1, ..., ``depth`` blocks."""
        return list(self.values[: depth + 1])


def read_costs(name: str, depth: int) -> MeasuredCost:
    """Read and check a file of cumulative costs.

    Raises
    ------
    UsageError
        If it cannot be read, is no list of integers from 0 on that does not fall, or is too short.
    """
    try:
        values = json.loads(Path(name).read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise UsageError(f"--costs {name}: cannot read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"--costs {name}: not JSON: {error}") from error
    if not isinstance(values, list) or not all(type(v) is int for v in values):
        raise UsageError(f"--costs {name}: expected a JSON list of integers")
    if any(v > LARGEST_COST for v in values):
        raise UsageError(f"--costs {name}: a cost is over 1e300; expected integers up to that")
    if values[:1] != [0]:
        raise UsageError(f"--costs {name}: entry 0: expected 0, no block costs nothing")
    for d in range(1, len(values)):
        if values[d] < values[d - 1]:
            raise UsageError(
                f"--costs {name}: entry {d} is {values[d]}, below entry {d - 1}, {values[d - 1]}: "
                "the cost of the first blocks of a path must not fall with their number"
            )
    if len(values) <= depth:
        raise UsageError(
            f"--costs {name}: {len(values)} entries; the deepest request has {depth} blocks, so "
            f"at least {depth + 1} are needed"
        )
    return MeasuredCost(tuple(values))


def run(args: argparse.Namespace) -> int:
    """Bound and print."""
    from cache_worthy.measure.floor import require_floor
    from cache_worthy.oracles.bound.certificate import to_json as certificate_json
    from cache_worthy.oracles.bound.groups import group_references, trace_of_requests
    from cache_worthy.oracles.bound.offline import offline_bound
    from cache_worthy.oracles.schedule import OracleError
    from cache_worthy.oracles.solver import SolverError, choose
    from cache_worthy.sim.cost import BlockCost, BlockSize, load_model
    from cache_worthy.sim.forest import build_forest
    from cache_worthy.sim.radix.policies import POLICIES
    from cache_worthy.sim.radix.replay import replay
    from cache_worthy.sim.trace import paths_of

    check_output(args.output, args.force)
    if args.certificate is not None:
        if args.certificate == args.output or args.certificate == "-":
            raise UsageError(
                f"--certificate {args.certificate}: needs a file of its own, apart from the result's"
            )
        check_output(args.certificate, args.force, "--certificate")
    model = load_model(args.model)
    try:
        choose(args.solver)
    except SolverError as error:
        raise UsageError(str(error)) from error
    log = arg.read_log(args)
    paths = paths_of(log.requests)
    forest = build_forest(paths)
    size = BlockSize(model, log.block_tokens)
    cost: BlockCost | MeasuredCost = BlockCost(model, log.block_tokens)
    if args.costs is not None:
        cost = read_costs(args.costs, forest.depth)
    capacity = arg.capacity_bytes(args, forest.distinct, size.block) or 0
    require_floor(capacity, forest, size)
    blocks = capacity // size.block
    progress = Progress(args.quiet, args.verbose)
    try:
        trace = trace_of_requests(paths, cost.cumulative(forest.depth))
        bound = offline_bound(
            trace,
            blocks,
            grouped=group_references(trace),
            rows=args.rows,
            solver=args.solver,
            progress=progress.step,
        )
    except (OracleError, SolverError) as error:
        raise UsageError(str(error)) from error
    finally:
        progress.done()
    if args.certificate is not None:
        described = f"measured, {args.costs}" if args.costs else f"prefill FLOPs, {model.name}"
        text = certificate_json(
            trace,
            blocks,
            bound.certified,
            cost_description=f"{described}, blocks of {log.block_tokens} tokens",
        )
        write_output(text, args.certificate, args.force, "--certificate")
        if not log.order.startswith("file order"):
            note(
                "the requests were put in order of arrival; check the certificate against the "
                "trace that cache-worthy convert writes, not against the log",
                args.quiet,
            )
    lru = replay(forest, POLICIES["lru"](), capacity, size, cost)
    read = arg.input_document(log)
    result = BoundDocument(
        input=BoundInput(
            **{f.name: getattr(read, f.name) for f in fields(read)}, canonical_sha256=trace.digest()
        ),
        model=model,
        costs=args.costs,
        capacity_blocks=blocks,
        lower_bound=bound.lower,
        compulsory_cost=bound.compulsory,
        lower_bound_ratio=_ratio(bound.lower, bound.compulsory),
        feasible_cost=bound.feasible,
        feasible_ratio=_ratio(bound.feasible, bound.compulsory),
        belady_ratio=_ratio(bound.belady, bound.compulsory),
        lru_ratio=_ratio(lru.total_cost, bound.compulsory),
        recoverable_fraction=1 - _ratio(bound.lower, lru.total_cost) if lru.total_cost else None,
        certified=True,
        policy_class=bound.certified.policy_class,
        solver=bound.solver,
        interrupted=bound.interrupted,
    )
    text = to_json(document("bound", result)) if args.json else _text(result)
    write_output(text, args.output, args.force)
    if bound.interrupted:
        note("interrupted: this is the best certificate so far, not the best there is", False)
        return INTERRUPTED
    return 0


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


def _text(result: BoundDocument) -> str:
    shown = [f.name for f in fields(result) if f.name not in ("input", "model")]
    rows = [wrapped(_cell(getattr(result, n)), f"{n:<22}", " " * 22) for n in shown]
    rows.append("")
    rows.append(
        wrapped(
            "Nobody in that class, however much of the future it knows, recomputes less than "
            "lower_bound; a schedule that knows the future reaches feasible_cost. "
            "recoverable_fraction is what lies between lru and the bound."
        )
    )
    return "\n".join(rows) + "\n"


def _cell(value: object) -> str:
    if value is None:
        return "--"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.6f}" if isinstance(value, float) else str(value)
