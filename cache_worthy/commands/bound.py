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
from dataclasses import fields

from cache_worthy.commands import options as arg
from cache_worthy.console import Progress, check_output, note, write_output
from cache_worthy.errors import UsageError
from cache_worthy.measure.bound import ROWS, SOLVERS, BoundDocument, bound_log, require_solver
from cache_worthy.report.model import Facts, Part, Prose

INTERRUPTED = 130


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    arg.add_log(parser)
    arg.add_capacity(parser, required=True, blocks=True)
    arg.add_model(parser)
    arg.add_dtypes(parser)
    parser.add_argument(
        "--costs",
        metavar="FILE",
        help="measured costs instead of the model's: a JSON list of integers, the cost of the "
        "first 0, 1, 2, ... blocks of a path; must not fall",
    )
    parser.add_argument(
        "--rows",
        choices=ROWS,
        default="A3",
        help="dependency rows: chain none, A2 hits by prefix, A3 ancestor-closed (default)",
    )
    parser.add_argument(
        "--solver", choices=SOLVERS, help="default HiGHS, CBC where it is not installed"
    )
    parser.add_argument("--certificate", metavar="FILE", help="write the certificate, JSON")
    arg.add_output(parser)


def run(args: argparse.Namespace) -> int:
    """Bound and print."""
    check_output(args.output, args.force)
    if args.certificate is not None:
        if args.certificate == args.output or args.certificate == "-":
            raise UsageError(
                f"--certificate {args.certificate}: needs a file of its own, apart from the result's"
            )
        check_output(args.certificate, args.force, flag="--certificate")
    model = arg.model(args)
    require_solver(args.solver)
    log = arg.read_log(args)
    progress = Progress(args.quiet, args.verbose)
    try:
        result = bound_log(
            log,
            arg.capacity(args),
            model=model,
            costs=args.costs,
            rows=args.rows,
            solver=args.solver,
            step=progress.step,
        )
    finally:
        progress.done()
    if args.certificate is not None:
        write_output(result.proof.to_json(), args.certificate, args.force, flag="--certificate")
        if not log.order.startswith("file order"):
            note(
                "the requests were put in order of arrival; check the certificate against the "
                "trace that cache-worthy convert writes, not against the log",
                args.quiet,
            )
    arg.write_result(args, result, lambda: _words(result))
    if result.interrupted:
        note("interrupted: this is the best certificate so far, not the best there is", False)
        return INTERRUPTED
    return 0


def _words(result: BoundDocument) -> list[Part]:
    shown = [f.name for f in fields(result) if f.name not in ("input", "model", "proof")]
    return [
        Facts("bound", tuple((name, _cell(getattr(result, name))) for name in shown)),
        Prose(
            "No schedule of that class, even one that knows the future, recomputes less than "
            "lower_bound; a schedule that knows the future reaches feasible_cost. "
            "recoverable_fraction is the share of lru's cost that lies above the bound.",
            note=True,
        ),
    ]


def _cell(value: object) -> str:
    if value is None:
        return "--"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.6f}" if isinstance(value, float) else str(value)
