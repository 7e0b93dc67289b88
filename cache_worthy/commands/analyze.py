"""Answer six questions about a request log, each gating the next.

1 is prefix caching worth it, 2 the least memory that serves the log, 3 how much to give,
4 how much any policy could still recover, 5 which policy, 6 which prefixes to pin.
"""

from __future__ import annotations

import argparse
import os

from cache_worthy.advise.memory import ENGINES
from cache_worthy.advise.request import COMPARED, requested
from cache_worthy.advise.sections import skippable
from cache_worthy.commands import options as arg
from cache_worthy.console import Progress, check_output, note, write_output
from cache_worthy.documents import document, to_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    arg.add_log(parser)
    arg.add_model(parser)
    arg.add_dtypes(parser)
    arg.add_capacity(parser, required=False, blocks=False)
    arg.add_policy(parser, required=False)
    parser.add_argument(
        "--policies",
        choices=COMPARED,
        default="default",
        help="shipped policies to compare; default: without recursive_lru, which equals lru, and "
        "cosigned, which takes longest and gains least",
    )
    parser.add_argument(
        "--pins", type=arg.positive_int, default=5, metavar="N", help="prefixes to list (5)"
    )
    parser.add_argument(
        "--skip",
        action="append",
        default=[],
        metavar="NAME[,NAME]",
        help="sections to leave out, each of which takes time: "
        + "; ".join(f"{name}, {what}" for name, what in skippable().items()),
    )
    parser.add_argument(
        "--no-bound", dest="skip", action="append_const", const="bound", help="as --skip bound"
    )
    parser.add_argument(
        "--cost-curve",
        metavar="FILE",
        help="measured prefill cost by prompt length as a member of the sensitivity band: CSV or "
        "JSON pairs of tokens and cost, in any unit",
    )
    parser.add_argument(
        "--sample",
        type=arg.share,
        metavar="F",
        help="estimate questions 2 to 5 from this share of the log's subtrees, 0 < F <= 1, with "
        "the error of each figure; for logs too large to replay whole. Sections of --skip are left "
        "out",
    )
    parser.add_argument(
        "--no-text",
        dest="show_text",
        action="store_false",
        help="never show characters of prompts (WHY shows where near-identical ones diverge)",
    )
    _add_server(parser)
    arg.add_workers(parser)
    parser.add_argument(
        "--html", metavar="FILE", help="also write the report as one self-contained page"
    )
    parser.add_argument(
        "--plot",
        metavar="FILE",
        help="also draw the capacity curve, as .svg or .png (the second needs the extra plot)",
    )
    arg.add_output(parser)


def _add_server(parser: argparse.ArgumentParser) -> None:
    """The server whose words the report speaks."""
    parser.add_argument(
        "--engine",
        choices=ENGINES,
        default="generic",
        help="speak of this server: its own options first, the flag to type, memory flags, what "
        "it can pin (default generic)",
    )
    parser.add_argument(
        "--gpu-gib",
        type=arg.gibibytes,
        metavar="G",
        help="with --engine: memory of the GPUs of one replica together, for the memory flags",
    )
    arg.add_sglang_version(parser)


def _check_files(args: argparse.Namespace) -> None:
    """Refuse before the work what could not be written after it."""
    check_output(args.output, args.force)
    taken = {} if args.output == "-" else {os.path.realpath(args.output): "-o"}
    for flag, target in (("--html", args.html), ("--plot", args.plot)):
        if target is None:
            continue
        other = taken.setdefault(os.path.realpath(target), flag)
        arg.require(
            target != "-" and other == flag,
            f"{flag} {target}: needs a file of its own"
            + (f", {other} names it too" if other != flag else ", apart from the result's"),
        )
        check_output(target, args.force, flag)
    if args.plot is not None:
        from cache_worthy.report.picture import require_plot

        require_plot(args.plot)


def run(args: argparse.Namespace) -> int:
    """Analyse and print."""
    from cache_worthy.advise.analysis import analyze
    from cache_worthy.report.build import build, plot
    from cache_worthy.report.terminal import render

    _check_files(args)
    options = requested(
        model=arg.model(args),
        capacity=arg.capacity(args),
        policy=args.policy,
        policies=args.policies,
        pins=args.pins,
        skip=args.skip,
        cost_curve=args.cost_curve,
        sample=args.sample,
        show_text=args.show_text,
        engine=args.engine,
        gpu_gib=args.gpu_gib,
        sglang_version=args.sglang_version,
    )
    progress = Progress(args.quiet, args.verbose)
    with arg.workers(args) as workers:
        for spec in options.own_policies:
            workers.carry(spec.partition(":")[0])
        log = arg.read_log(args)
        try:
            analysis = analyze(log, options, progress.step, workers=workers)
        finally:
            progress.done()
    report = None if args.json and args.html is None else build(analysis)
    if args.html is not None and report is not None:
        from cache_worthy.report.html import render_html

        write_output(render_html(report), args.html, args.force, flag="--html")
    if args.plot is not None:
        figure = plot(analysis, args.plot)
        if figure is None:
            note(f"--plot {args.plot}: not drawn, as question 1 ended the run", args.quiet)
        else:
            write_output(figure, args.plot, args.force, flag="--plot")
    text = to_json(document("analyze", analysis)) if args.json or report is None else render(report)
    write_output(text, args.output, args.force)
    return 0
