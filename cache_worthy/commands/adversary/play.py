"""Play the adaptive phase construction against a live policy.

There are two copies of a set of expensive nodes, and h cheap unit nodes. A phase requests every
expensive node of one copy, then cheap nodes that the policy does not hold, until it evicts an
expensive one. An offline schedule of capacity h pays m M + h per phase (m expensive nodes of cost M;
in a phase that is broken off, only the cheap nodes that it requested). Landlord pays at least
m M + (h-1)(M-1), so that its ratio on forests reaches 1 + (h-1)/m (proofs/refutation.md).
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cache_worthy.commands import options as arg
from cache_worthy.commands.adversary.check import LONG_NUMBER
from cache_worthy.commands.adversary.options import add_policy, add_tie
from cache_worthy.console import check_output, one_line
from cache_worthy.errors import UsageError
from cache_worthy.report.model import Column, Facts, Part, Prose, table_of
from cache_worthy.theory.instance import InstanceError, Number

if TYPE_CHECKING:
    from cache_worthy.theory.search.adversary import Play

#: The forms of ``proofs/refutation.md``.
LANDLORDS = (
    "landlord",
    *(f"landlord_{form}" for form in ("eager", "leaf_rent", "clamped", "keys")),
)


BROKEN_OFF = "broken off: no expensive node was evicted"


@dataclass(frozen=True, slots=True)
class PlayedPhase:
    """One phase; ``ended`` is false where it was broken off at the limit."""

    cost: Number
    requests: int
    ended: bool


@dataclass(frozen=True, slots=True)
class PlayReport:
    """A played construction.

    Attributes
    ----------
    offline_cost : int or Fraction
        Of an offline schedule, at least the optimum.
    ratio : int or Fraction
        ``cost / offline_cost``.
    landlord_phase_floor, landlord_ratio : int or Fraction
        What Landlord pays at least in a phase, and the limit of its ratio.
    bound : int or Fraction
        ``k/(k-h+1)``.
    """

    policy: str
    k: int
    h: int
    path: int
    dear_cost: Number
    dear_nodes: int
    tie: str
    phases: tuple[PlayedPhase, ...]
    cost: Number
    offline_cost: Number
    ratio: Number
    landlord_phase_floor: Number
    landlord_ratio: Number
    bound: Number
    exceeds: bool


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the action."""
    add_policy(parser)
    count = arg.positive_int
    parser.add_argument("--k", type=count, required=True, metavar="K", help="online capacity, >= h")
    parser.add_argument(
        "--h", type=count, required=True, metavar="H", help="offline capacity, >= 2"
    )
    parser.add_argument(
        "--path", type=count, required=True, metavar="H", help="largest requested path, 1..h"
    )
    parser.add_argument("--phases", type=count, required=True, metavar="N", help="phases to play")
    parser.add_argument(
        "--dear",
        type=count,
        default=100,
        metavar="M",
        help="cost of an expensive node (default 100)",
    )
    parser.add_argument(
        "--unit-sizes", action="store_true", help="chains of unit nodes instead of large roots"
    )
    parser.add_argument(
        "--limit",
        type=count,
        default=100_000,
        metavar="N",
        help="requests after which a phase is broken off (default 100000)",
    )
    add_tie(parser)
    arg.add_output(parser)


def run(args: argparse.Namespace) -> int:
    """Print every phase and the limits; exit code 0 whatever they show."""
    from cache_worthy.theory.search.adversary import play

    check_output(args.output, args.force)
    try:
        game = play(
            args.policy,
            k=args.k,
            h=args.h,
            path=args.path,
            phases=args.phases,
            cost=args.dear,
            unit_sizes=args.unit_sizes,
            limit=args.limit,
            tie=args.tie,
        )
    except InstanceError as error:
        raise UsageError(str(error)) from None
    report = _report(game, args.tie)
    arg.write_result(args, report, lambda: _words(report, args.limit))
    return 0


def _report(game: Play, tie: str) -> PlayReport:
    stage = game.stage
    return PlayReport(
        policy=game.policy,
        k=stage.k,
        h=stage.h,
        path=stage.path,
        dear_cost=stage.cost,
        dear_nodes=stage.m,
        tie=tie,
        phases=tuple(PlayedPhase(p.cost, p.requests, p.ended) for p in game.phases),
        cost=game.cost,
        offline_cost=game.offline,
        ratio=game.ratio,
        landlord_phase_floor=stage.phase_floor,
        landlord_ratio=stage.exact_ratio,
        bound=game.young,
        exceeds=game.ratio > game.young,
    )


def _words(report: PlayReport, limit: int) -> list[Part]:
    from cache_worthy.theory.algorithms import COSIGNED

    policy, n = report.policy, len(report.phases)
    broken = sum(not phase.ended for phase in report.phases)
    game = (
        ("policy", f"{policy} at k = {report.k} against h = {report.h}, ties: {report.tie}"),
        ("paths", f"of size {report.path}"),
        ("a phase", f"{report.dear_nodes} expensive nodes of cost {report.dear_cost}"),
    )
    phases = table_of(
        "phases",
        list(enumerate(report.phases, start=1)),
        columns={
            "phase": lambda row: str(row[0]),
            "requests": lambda row: str(row[1].requests),
            "cost": lambda row: one_line(str(row[1].cost), LONG_NUMBER),
            Column("", words=True): lambda row: "" if row[1].ended else BROKEN_OFF,
        },
    )
    parts: list[Part] = [Facts("game", game), phases]
    if broken:
        text = (
            f"{broken} of {n} phases were broken off at the limit of {limit:,} requests; the offline "
            "schedule is charged only what they requested."
        )
        parts.append(Prose(text, note=True))
    young = f"{float(report.bound):.4f}, the limit of cosigned Landlord"
    landlord = f"{float(report.landlord_ratio):.4f}, the limit of Landlord on such forests"
    if policy not in COSIGNED:
        young += f", not of {policy}"
    if policy not in LANDLORDS:
        landlord += f", not of {policy}"
    elif broken < n:
        landlord += f" (at least {report.landlord_phase_floor} per phase that is not broken off)"
    result = (
        ("cost", str(report.cost)),
        ("offline schedule", str(report.offline_cost)),
        ("ratio", f"at least {float(report.ratio):.4f}"),
        ("k/(k-h+1)", young + (" (exceeded)" if report.exceeds else "")),
        ("1 + (h-1)/m", landlord),
    )
    return [*parts, Facts("result", result)]
