"""Run every policy on one instance and compare it with the exhaustive optimum.

INSTANCE.json holds {"parent", "size", "cost", "requests", "k", "h"}: a root is null or -1, costs
are integers or "p/q", k is the capacity of the policies and h that of the optimum. All numbers are
exact. The optimum takes time exponential in the number of nodes; a terminal shows its progress, -v
shows it elsewhere.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any

from cache_worthy.commands import options as arg
from cache_worthy.commands.adversary.options import add_tie
from cache_worthy.console import Progress, check_output, one_line
from cache_worthy.documents import read_json
from cache_worthy.errors import UsageError
from cache_worthy.report.model import Column, Facts, Part, table_of
from cache_worthy.theory.instance import Instance, InstanceError, Number, instance_from_mapping

LONG_NUMBER = 24
"""Digits of a number in a table; the document has all of them."""


@dataclass(frozen=True, slots=True)
class Paid:
    """What one policy pays; the ratio is None where the optimum pays nothing."""

    cost: Number
    ratio: Number | None
    exceeds: bool


@dataclass(frozen=True, slots=True)
class Check:
    """Every policy on one instance, beside the exhaustive optimum."""

    optimal_cost: Number
    bound: Number
    policies: dict[str, Paid]


@dataclass(frozen=True, slots=True)
class Case:
    """An instance, the capacities of the policies and of the optimum, and the tie-break."""

    instance: Instance
    k: int
    h: int
    tie: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the action."""
    parser.add_argument("instance", metavar="INSTANCE.json", help="- for standard input")
    add_tie(parser)
    arg.add_output(parser)


def run(args: argparse.Namespace) -> int:
    """Print the report; exit code 0 whatever it shows."""
    check_output(args.output, args.force)
    case = read_case(args.instance, args.tie)
    progress = Progress(args.quiet, args.verbose)
    try:
        report = run_all(case, progress)
    except InstanceError as error:
        raise UsageError(f"{args.instance}: {error}") from None
    finally:
        progress.done()
    try:
        arg.write_result(args, report, lambda: _words(report, case))
    except ValueError:  # Python prints no integer of more than 4,300 digits
        raise UsageError(
            f"{args.instance}: an exact result has more than 4,000 digits; use costs with fewer "
            "digits or with a common denominator"
        ) from None
    return 0


def read_case(source: str, tie: str) -> Case:
    """An instance and its two capacities from a JSON file.

    Raises
    ------
    UsageError
        If the file cannot be read, is no JSON object, or holds no admissible instance.
    """
    data = read_json(source)
    if not isinstance(data, dict):
        raise UsageError(
            f"{source}: expected a JSON object with parent, size, cost, requests, k and h"
        )
    try:
        instance = instance_from_mapping(data)
    except InstanceError as error:
        raise UsageError(f"{source}: {error}") from error
    k: Any
    h: Any
    k, h = data.get("k"), data.get("h")
    for name, value in (("k", k), ("h", h)):
        if type(value) is not int or value < 1:
            raise UsageError(f"{source}: {name} = {value!r}: expected an integer >= 1")
    floor = instance.floor
    if not max(floor, 1) <= h <= k:
        raise UsageError(
            f"{source}: h = {h}, k = {k}: expected {max(floor, 1)} <= h <= k, because the largest "
            f"requested path has size {floor}"
        )
    return Case(instance, k, h, tie=tie)


def run_all(case: Case, progress: Progress) -> Check:
    """The document of the module's docstring, with exact numbers."""
    from cache_worthy.oracles.optimum.optimal import optimal_cost
    from cache_worthy.theory.algorithms import ALGORITHMS, exact_cost
    from cache_worthy.theory.steps import bound, divide

    costs = {}
    for name in ALGORITHMS:
        progress.step(f"policy {name}")
        costs[name] = exact_cost(name, case.instance, case.k, tie=case.tie)
    total = len(case.instance.requests)

    def reached(t: int, states: int) -> None:
        progress.step(f"exhaustive optimum: request {t + 1:,} of {total:,}, {states:,} states")

    optimum, limit = optimal_cost(case.instance, case.h, reached), bound(case.k, case.h)
    policies = {
        name: Paid(cost, divide(cost, optimum) if optimum else None, cost > limit * optimum)
        for name, cost in costs.items()
    }
    return Check(optimal_cost=optimum, bound=limit, policies=policies)


def _words(report: Check, case: Case) -> list[Part]:
    size = f"{case.instance.n} nodes, {len(case.instance.requests)} requests"
    facts = (
        ("instance", f"{size}, k = {case.k}, h = {case.h}, ties: {case.tie}"),
        ("optimum at h", str(report.optimal_cost)),
        ("k/(k-h+1)", str(report.bound)),
    )
    paid = report.policies
    rows = table_of(
        "policies",
        paid,
        columns={
            "policy": str,
            "cost": lambda p: one_line(str(paid[p].cost), LONG_NUMBER),
            "ratio": lambda p: "-" if (r := paid[p].ratio) is None else f"{float(r):.4f}",
            Column("", words=True): lambda p: "exceeds the bound" if paid[p].exceeds else "",
        },
    )
    return [Facts("instance", facts), rows]
