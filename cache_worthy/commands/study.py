"""Measure what a prefix cache does, on a small engine that really computes attention.

The same requests go through the engine with the cache off and on: a few system prompts, each
followed by many short, unique user turns. Answers must be the same; times and tokens computed are
compared. With --log a request log goes through it one request at a time, and measured prefill
seconds are set beside predicted FLOPs. Times are this machine's, of a model of two million
weights; only their ratios mean anything, and other load on the machine spoils them.

Exit code 1 if the cache changed an answer, if rounding could have decided a token (the smallest gap
of two leading logits is not above twice the largest difference between off and on, so that identical
answers would be luck), or if the tokens the engine skipped on a log are not those the simulator's
vllm_lru predicts.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cache_worthy.commands import options as arg
from cache_worthy.console import Progress, check_output, note, write_output
from cache_worthy.errors import UsageError

if TYPE_CHECKING:
    from cache_worthy.study.results import LogStudy, Study

RESULTS = "outputs/results.csv"
LOG_RESULTS = "outputs/log_results.csv"
PREFIX_LENS = (0, 64, 128, 256)
REPEATS = 3

_THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.add_argument(
        "--prefix-lens",
        type=_lengths,
        metavar="N,N,...",
        help="shared system prompt lengths in tokens (default 0,64,128,256)",
    )
    parser.add_argument("--tenants", type=arg.positive_int, metavar="N", help="system prompts (3)")
    parser.add_argument(
        "--requests",
        type=arg.positive_int,
        metavar="N",
        help="requests (32), or how many of the log to take (all)",
    )
    parser.add_argument("--rate", type=arg.gibibytes, metavar="R", help="requests a second (20)")
    parser.add_argument(
        "--pool-blocks",
        type=arg.positive_int,
        metavar="N",
        help="KV pool in blocks of 16 tokens (1024; more for a log whose longest prompt needs it)",
    )
    parser.add_argument(
        "--repeats",
        type=arg.positive_int,
        metavar="N",
        help="repeats, medians count (3)",
    )
    parser.add_argument(
        "--repeat-probe",
        action="store_true",
        help="also time a second identical request (a pure cache hit, no cold start)",
    )
    arg.add_log(parser, "--log")
    parser.add_argument(
        "--results",
        metavar="CSV",
        help=f"every run as CSV (default {RESULTS}, with --log {LOG_RESULTS}; rewritten)",
    )
    parser.add_argument(
        "--plot", action="store_true", help="run nothing, redraw the figure from --results"
    )
    parser.add_argument(
        "--figure",
        metavar="FILE",
        help="where --plot draws, as .svg or .png (default: --results with .png)",
    )
    arg.add_output(parser)


#: Options of a run, and those of them that only the constructed requests have.
_OF_A_RUN = ("prefix_lens", "tenants", "requests", "rate", "pool_blocks", "repeats", "repeat_probe")
_OF_CONSTRUCTED = ("prefix_lens", "tenants", "rate", "repeat_probe")


def run(args: argparse.Namespace) -> int:
    """Run, or redraw."""
    for name in ("results", "figure"):
        given = getattr(args, name)
        arg.require(given not in ("", "-"), f"--{name} {given!r}: expected a file name")
    _refuse_unused(args)
    results = args.results or (LOG_RESULTS if args.log is not None else RESULTS)
    return _redraw(args, results) if args.plot else _measure(args, results)


def _redraw(args: argparse.Namespace, results: str) -> int:
    from cache_worthy.report.picture import require_plot
    from cache_worthy.report.study import study_picture
    from cache_worthy.study.csv_file import from_csv

    measurements = from_csv(Path(results))
    figure = args.figure or str(Path(results).with_suffix(".png"))
    arg.require(
        not _same_target(figure, results), f"--figure {figure}: is --results; expected another name"
    )
    # The figure beside the default results is the command's own, like the results.
    force = args.force or (args.figure is None and args.results is None)
    check_output(figure, force, "--figure")
    require_plot(figure, "--figure")
    write_output(study_picture(measurements, figure), figure, force, flag="--figure")
    note(f"drew {figure} from {results}", args.quiet)
    return 0


def _measure(args: argparse.Namespace, results: str) -> int:
    own = args.results is None
    check_output(args.output, args.force)
    arg.require(
        args.output == "-" or not _same_target(args.output, results),
        f"-o {args.output}: is --results; expected another name",
    )
    arg.require(
        args.log is None or not any(_same_target(results, source) for source in args.log),
        f"--results {results}: is the log itself; expected another name",
    )
    if own:
        _make_folder(Path(results).parent)
    check_output(results, args.force or own, "--results")

    threads = _one_blas_thread()
    from cache_worthy.report.words.study import log_words, study_words
    from cache_worthy.study.csv_file import to_csv
    from cache_worthy.study.results import Study, StudyDocument

    progress = Progress(args.quiet, args.verbose)
    try:
        made = _on_workload if args.log is None else _on_log
        result = made(args, threads, progress.step)
    finally:
        progress.done()
    if isinstance(result, Study):
        words, rows = study_words(result), to_csv(result.runs)
        holds = result.identical and not result.by_luck
    else:
        words, rows = log_words(result), to_csv(result.points)
        holds = result.skips_agree
    write_output(rows, results, args.force or own, flag="--results")
    note(f"wrote {results}; --plot draws it", args.quiet)
    arg.write_result(args, StudyDocument(result), lambda: words)
    return 0 if holds else 1


def _on_workload(
    args: argparse.Namespace, threads: str, step: Callable[[str], None]
) -> Study | LogStudy:
    from cache_worthy.sim.serving.server import BLOCK_SIZE
    from cache_worthy.study.limits import DEFAULT_POOL_BLOCKS
    from cache_worthy.study.on_workload import Plan, measure

    pool = args.pool_blocks or DEFAULT_POOL_BLOCKS
    lengths = args.prefix_lens or PREFIX_LENS
    arg.require(
        max(lengths) <= pool * BLOCK_SIZE,
        f"--prefix-lens {max(lengths)}: does not fit a pool of {pool} blocks of {BLOCK_SIZE} tokens; "
        "expected less, or give --pool-blocks",
    )
    plan = Plan(
        prefix_lens=lengths,
        requests=args.requests or 32,
        tenants=args.tenants or 3,
        rate=args.rate or 20.0,
        pool_blocks=pool,
        repeats=args.repeats or REPEATS,
        probe=args.repeat_probe,
        blas_threads=threads,
    )
    return measure(plan, step)


def _on_log(
    args: argparse.Namespace, threads: str, step: Callable[[str], None]
) -> Study | LogStudy:
    from cache_worthy.study.on_log import measure_log

    return measure_log(
        arg.read_log(args),
        limit=args.requests,
        pool_blocks=args.pool_blocks,
        repeats=args.repeats or REPEATS,
        blas_threads=threads,
        step=step,
    )


def _refuse_unused(args: argparse.Namespace) -> None:
    """An option that would be ignored is a misunderstanding."""

    def refuse(names: Sequence[str], why: str) -> None:
        for name in names:
            given = getattr(args, name)
            option = f"--{name.replace('_', '-')}"
            arg.require(given is None or given is False, f"{option}: {why}")

    if args.plot:
        refuse(_OF_A_RUN, "is of no use with --plot, which runs nothing")
        refuse(("json",), "is of no use with --plot, which draws --figure")
        arg.require(args.output == "-", "-o: is of no use with --plot; --figure names the file")
    else:
        refuse(("figure",), "draws only with --plot")
    if args.log is not None:
        refuse(_OF_CONSTRUCTED, "is of no use with --log, whose requests are those to serve")
    if args.log is None or args.plot:
        reading = argparse.ArgumentParser()
        arg.add_log(reading, "--log")
        for name, default in vars(reading.parse_args([])).items():
            if name != "log" and getattr(args, name) != default:
                raise UsageError(
                    f"--{name.replace('_', '-')}: says how to read a log; there is none"
                )


def _same_target(a: str, b: str) -> bool:
    """Whether two names are one file, be it there already or not."""
    try:
        return os.path.samefile(a, b)
    except OSError:
        return os.path.realpath(a) == os.path.realpath(b)


def _lengths(text: str) -> tuple[int, ...]:
    try:
        lengths = tuple(int(part) for part in text.split(","))
    except ValueError:
        lengths = ()
    if not lengths or min(lengths) < 0 or len(set(lengths)) < len(lengths):
        raise argparse.ArgumentTypeError(
            f"{text!r}: expected different lengths >= 0 with commas between, such as 0,64,256"
        )
    return lengths


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"{folder}: cannot make the folder: {error.strerror or error}; give --results"
        ) from error


def _one_blas_thread() -> str:
    """Ask for one BLAS thread, so that times do not depend on how many cores happen to be idle.

    BLAS reads these variables when numpy loads; what the user has set stays.
    """
    if "numpy" in sys.modules:
        return "as numpy was loaded with"
    for name in _THREADS:
        os.environ.setdefault(name, "1")
    return os.environ["OPENBLAS_NUM_THREADS"]
