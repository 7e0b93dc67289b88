"""Search for an instance on which a policy exceeds Young's bound, k/(k-h+1).

A witness is checked against the exhaustive optimum before it is printed. Exit code 1 with a witness, 0
if the range has none, 3 if time ran out.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from cache_worthy.commands import options as arg
from cache_worthy.commands.adversary.options import add_policy, add_tie
from cache_worthy.commands.adversary.search import FoundInstance, judged, runner
from cache_worthy.commands.adversary.state import open_state
from cache_worthy.console import Progress, check_output, note
from cache_worthy.errors import UsageError
from cache_worthy.report.model import Facts
from cache_worthy.theory.instance import InstanceError, Number, parse_number
from cache_worthy.theory.search.find import cycle_scope, find
from cache_worthy.theory.search.task import Coverage

EXIT = {"sat": 1, "unsat": 0, "timeout": 3}


@dataclass(frozen=True, slots=True)
class SearchRange:
    """What was searched; ``k`` and ``h`` None for all."""

    max_nodes: int
    max_requests: int
    max_size: int
    k: int | None
    h: int | None
    tie: str
    cycle: bool
    ratio: Number | None
    falling: bool


@dataclass(frozen=True, slots=True)
class Find:
    """The result of a search.

    Attributes
    ----------
    status : str
        "sat", "unsat" or "timeout".
    qualification : str or None
        What a search for cycles can see.
    complete_nodes : int
        Every forest of up to so many nodes was searched to the end.
    """

    status: str
    qualification: str | None
    policy: str
    range: SearchRange
    complete_nodes: int
    coverage: Coverage
    witness: FoundInstance | None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the action."""
    add_policy(parser)
    count = arg.positive_int
    parser.add_argument("--max-nodes", type=count, required=True, metavar="N", help="nodes, 1..N")
    parser.add_argument(
        "--max-requests", type=count, required=True, metavar="T", help="requests, 1..T"
    )
    parser.add_argument("--k", type=count, metavar="K", help="online capacity (default: all)")
    parser.add_argument("--h", type=count, metavar="H", help="offline capacity (default: all)")
    parser.add_argument(
        "--max-size", type=count, default=1, metavar="S", help="sizes, 1..S (default 1)"
    )
    add_tie(parser)
    parser.add_argument(
        "--ratio",
        type=_ratio,
        metavar="R",
        help="exceed R, an integer or p/q of at least 1, instead of k/(k-h+1)",
    )
    parser.add_argument(
        "--falling",
        action="store_true",
        help="only costs per size that never rise from root to leaf",
    )
    parser.add_argument(
        "--cycle",
        action="store_true",
        help="search for cycles of requests, repeated for ever, against the exact minimum cycle mean",
    )
    arg.add_workers(parser)
    parser.add_argument(
        "--state",
        metavar="FILE",
        help="keep the finished pieces of the search here and continue from them: the result is that "
        "of a search that was never interrupted",
    )
    parser.add_argument(
        "--timeout", type=float, metavar="S", help="give up after S seconds with exit code 3"
    )
    arg.add_output(parser)


def run(args: argparse.Namespace) -> int:
    """Search; 1 with a witness, 0 when the range holds none, 3 when time ran out."""
    check_output(args.output, args.force)
    if args.state is not None and os.path.realpath(args.state) == os.path.realpath(args.output):
        raise UsageError(f"--state {args.state}: -o names it too; give each a file of its own")
    if args.k is not None and args.h is not None and args.h > args.k:
        raise UsageError(f"--h {args.h}: expected 1..{args.k}, because --k is {args.k}")
    if args.timeout is not None and not args.timeout > 0:
        raise UsageError(f"--timeout {args.timeout:g}: expected a number > 0")
    if find_spec("z3") is None:
        raise UsageError("adversary find: needs z3; pip install z3-solver")
    progress = Progress(args.quiet, args.verbose)
    asked: dict[str, Any] = {f.name: getattr(args, f.name) for f in dataclasses.fields(SearchRange)}
    with (
        open_state(args.state, {"policy": args.policy, **asked}) as state,
        arg.workers(args) as workers,
    ):
        try:
            result = find(
                args.policy,
                timeout=args.timeout,
                runner=runner(workers, state, progress.step),
                **asked,
            )
        except KeyboardInterrupt:
            # Objects of z3 that were interrupted half made would complain when they go.
            sys.unraisablehook = lambda _: None
            if args.state is not None:
                note(f"--state {args.state}: the same command goes on from here", args.quiet)
            raise
        finally:
            progress.done()
    report = Find(
        status=result.status,
        qualification=cycle_scope(args.policy) if args.cycle else None,
        policy=args.policy,
        range=SearchRange(**asked),
        complete_nodes=result.complete_nodes,
        coverage=result.coverage,
        witness=None if result.witness is None else judged(result.witness, args.ratio),
    )
    arg.write_result(args, report, lambda: [_words(report)])
    return EXIT[result.status]


def _ratio(text: str) -> Number:
    try:
        ratio = parse_number(text, "--ratio")
    except InstanceError:
        raise argparse.ArgumentTypeError(f"{text[:40]!r}: expected an integer or p/q") from None
    if ratio < 1:
        raise argparse.ArgumentTypeError(
            f"{text[:40]!r}: expected at least 1; a smaller ratio is exceeded wherever nothing is "
            "evicted, and the search leaves such capacities out"
        )
    return ratio


def _words(report: Find) -> Facts:
    asked, c = report.range, report.coverage
    requests = f"{'cycles of ' if asked.cycle else ''}at most {asked.max_requests} requests"
    searched = (
        f"{report.policy}, k = {asked.k or 'all'}, h = {asked.h or 'all'}: at most "
        f"{asked.max_nodes} nodes of size 1..{asked.max_size}, {requests}, ties: {asked.tie}"
    )
    if asked.falling:
        searched += ", cost per size never rising with depth"
    if report.status == "unsat" and not c.forests:
        covered = "every forest of the range fits in k, so that nothing is ever evicted"
    else:
        covered = (
            f"{c.forests:,} forests with capacities, {c.sequences:,} request sequences, "
            f"{c.runs:,} courses over all real costs ({c.vacuous:,} without an eviction), "
            f"{c.checks:,} z3 calls"
        )
    return Facts("find", (("searched", searched), *_result(report), ("covered", covered)))


def _result(report: Find) -> list[tuple[str, str]]:
    witness = report.witness
    if witness is not None:
        mean = " per cycle" if report.range.cycle else ""
        ratio = "unbounded" if witness.ratio is None else witness.ratio
        shown = ("parent", "size", "cost", "requests")
        return [
            ("exceeded", f"{report.policy} pays {witness.online_cost}{mean}"),
            ("optimum", f"{witness.optimal_cost}{mean}, ratio {ratio}, bound {witness.bound}"),
            *((name, str(list(getattr(witness, name)))) for name in shown),
            ("capacities", f"k = {witness.k}, h = {witness.h}"),
        ]
    if report.status == "timeout":
        return [
            ("found", "no instance that exceeds the bound so far"),
            ("time ran out", f"every forest of up to {report.complete_nodes} nodes was searched"),
        ]
    if report.qualification is not None:
        return [("found", f"no cycle that exceeds the bound in the range: {report.qualification}")]
    return [("found", "no instance exceeds the bound; the whole range was searched")]
