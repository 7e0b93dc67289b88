"""``cache-worthy adversary check``: what every policy pays on one instance, beside the optimum.

INSTANCE.json holds {"parent", "size", "cost", "requests", "k", "h"}: a root is null or -1, costs
are integers or "p/q", k is the policies' capacity and h the optimum's. Every policy of the
workbench is run exactly; the optimum is exhaustive, in time exponential in the number of nodes: for
large instances its progress is shown on a terminal, and elsewhere with -v. With --json:

    {..., "optimal_cost", "bound", "policies": {name: {"cost", "ratio", "exceeds"}}}

Exact numbers: integers, or "p/q". The ratio is null where the optimum pays nothing.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from cache_worthy.commands import options as arg
from cache_worthy.commands.adversary.options import add_tie
from cache_worthy.console import Progress, check_output, one_line
from cache_worthy.errors import UsageError
from cache_worthy.report.model import Column, Facts, Part, table
from cache_worthy.theory.instance import Instance, InstanceError, Number, instance_from_mapping

LONG_NUMBER = 24
"""Digits of a number in a table; the document has all of them."""

LONGEST_BITS = int(4000 * math.log2(10))


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
    _check_printable(report, args.instance)
    arg.write_result(args, report, lambda: _words(report, case))
    return 0


def read_case(source: str, tie: str) -> Case:
    """An instance and its two capacities from a JSON file.

    Raises
    ------
    UsageError
        If the file cannot be read, is no JSON object, or holds no admissible instance.
    """
    try:
        text = sys.stdin.read() if source == "-" else Path(source).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise UsageError(f"{source}: cannot read: {reason}") from error
    try:
        data = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise UsageError(f"{source}: not JSON: {error}") from error
    except ValueError as error:  # Python reads no integer of more than 4,300 digits
        raise UsageError(f"{source}: an integer in it has too many digits") from error
    if not isinstance(data, dict):
        raise UsageError(
            f"{source}: expected a JSON object with parent, size, cost, requests, k and h"
        )
    try:
        instance = instance_from_mapping(data)
    except InstanceError as error:
        raise UsageError(f"{source}: {error}") from error
    capacity: dict[str, int] = {}
    for name in ("k", "h"):
        value = data.get(name)
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise UsageError(f"{source}: {name} = {value!r}: expected an integer >= 1")
        capacity[name] = value
    k, h = capacity["k"], capacity["h"]
    if not max(instance.floor, 1) <= h <= k:
        raise UsageError(
            f"{source}: h = {h}, k = {k}: expected {max(instance.floor, 1)} <= h <= k, because "
            f"the largest requested path has size {instance.floor}"
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
    optimum = optimal_cost(
        case.instance,
        case.h,
        lambda t, states: progress.step(
            f"exhaustive optimum: request {t + 1:,} of {total:,}, {states:,} states"
        ),
    )
    limit = bound(case.k, case.h)
    policies = {}
    for name, cost in costs.items():
        policies[name] = Paid(
            cost=cost,
            ratio=divide(cost, optimum) if optimum else None,
            exceeds=cost > limit * optimum,
        )
    return Check(optimal_cost=optimum, bound=limit, policies=policies)


def _check_printable(report: Check, source: str) -> None:
    # Python prints no integer of more than 4,300 digits, and costs with many different
    # denominators add up to such numbers.
    numbers = [report.optimal_cost]
    for row in report.policies.values():
        numbers += [row.cost, row.ratio or 0]
    for number in numbers:
        for part in Fraction(number).as_integer_ratio():
            if part.bit_length() > LONGEST_BITS:
                raise UsageError(
                    f"{source}: an exact result has more than 4,000 digits; use costs with fewer "
                    "digits or with a common denominator"
                )


def _words(report: Check, case: Case) -> list[Part]:
    size = f"{case.instance.n} nodes, {len(case.instance.requests)} requests"
    facts = (
        ("instance", f"{size}, k = {case.k}, h = {case.h}, ties: {case.tie}"),
        ("optimum at h", str(report.optimal_cost)),
        ("k/(k-h+1)", str(report.bound)),
    )
    rows = (
        (
            name,
            one_line(str(row.cost), LONG_NUMBER),
            "-" if row.ratio is None else f"{float(row.ratio):.4f}",
            "exceeds the bound" if row.exceeds else "",
        )
        for name, row in report.policies.items()
    )
    heads = ("policy", "cost", "ratio", Column("", words=True))
    return [Facts("instance", facts), table("policies", "", columns=heads, rows=rows)]
