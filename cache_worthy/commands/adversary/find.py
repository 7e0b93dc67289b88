"""``cache-worthy adversary find``: search for an instance on which a policy beats Young's bound.

The search itself is ``cache_worthy.theory.search.find``; this adds workers, a state to resume from, the
check of the witness against the exhaustive optimum of ``oracles``, and the words.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from cache_worthy.commands import options as arg
from cache_worthy.commands.adversary.state import SearchState, open_state
from cache_worthy.console import Progress, check_output, note, to_json, write_output
from cache_worthy.errors import UsageError
from cache_worthy.workers import Workers

if TYPE_CHECKING:
    from cache_worthy.commands.adversary.documents import FoundInstance
    from cache_worthy.theory.instance import Number
    from cache_worthy.theory.search.find import Runner, SearchResult
    from cache_worthy.theory.search.task import Outcome, Task, Witness

SUMMARY = "search for an instance on which a policy beats k/(k-h+1)"
EXIT = {"sat": 1, "unsat": 0, "timeout": 3}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the action."""
    from cache_worthy.theory.algorithms import ALGORITHMS
    from cache_worthy.theory.steps import TIES

    parser.add_argument(
        "--policy",
        required=True,
        choices=tuple(ALGORITHMS),
        metavar="P",
        help=", ".join(ALGORITHMS),
    )
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
    parser.add_argument(
        "--tie",
        choices=tuple(TIES),
        default="lru",
        help="order of equal candidates: least or most recently touched, first or last loaded, "
        "lowest number (default lru)",
    )
    parser.add_argument(
        "--ratio",
        type=_ratio,
        metavar="R",
        help="beat R, an integer or p/q of at least 1, instead of k/(k-h+1)",
    )
    parser.add_argument(
        "--falling",
        action="store_true",
        help="only costs per size that never rise from root to leaf",
    )
    parser.add_argument(
        "--cycle",
        action="store_true",
        help="look for request cycles repeated for ever, against the exact minimum cycle mean",
    )
    arg.add_workers(parser)
    parser.add_argument(
        "--state",
        metavar="FILE",
        help="keep the finished pieces of the search here and go on from them: a search that was "
        "interrupted or ran out of time then ends as if it had not been",
    )
    parser.add_argument(
        "--timeout", type=float, metavar="S", help="give up after S seconds with exit code 3"
    )
    arg.add_output(parser)


def run(args: argparse.Namespace) -> int:
    """Search; 1 with a witness, 0 when the range holds none, 3 when time ran out."""
    from cache_worthy.commands.adversary.documents import Find, SearchRange
    from cache_worthy.documents import document
    from cache_worthy.theory.search.find import cycle_scope, find

    check_output(args.output, args.force)
    if args.state is not None and os.path.realpath(args.state) == os.path.realpath(args.output):
        raise UsageError(f"--state {args.state}: -o names it too; give each a file of its own")
    if args.k is not None and args.h is not None and args.h > args.k:
        raise UsageError(f"--h {args.h}: expected 1..{args.k}, because --k is {args.k}")
    if args.timeout is not None and not args.timeout > 0:
        raise UsageError(f"--timeout {args.timeout:g}: expected a number > 0")
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
                runner=_runner(workers, state, progress.step),
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
    scope = cycle_scope(args.policy) if args.cycle else None
    witness = None if result.witness is None else _judged(result.witness, args.ratio)
    report = Find(
        status=result.status,
        qualification=scope,
        policy=args.policy,
        range=SearchRange(**asked),
        complete_nodes=result.complete_nodes,
        coverage=result.coverage,
        witness=witness,
    )
    text = (
        to_json(document("adversary-find", report))
        if args.json
        else _words(args, result, witness, scope)
    )
    write_output(text, args.output, args.force)
    return EXIT[result.status]


def _ratio(text: str) -> Number:
    from cache_worthy.theory.instance import InstanceError, parse_number

    try:
        ratio = parse_number(text, "--ratio")
    except InstanceError:
        raise argparse.ArgumentTypeError(f"{text[:40]!r}: expected an integer or p/q") from None
    if ratio < 1:
        raise argparse.ArgumentTypeError(
            f"{text[:40]!r}: expected at least 1, because no policy pays less than the optimum"
        )
    return ratio


def _runner(workers: Workers, state: SearchState, step: Callable[[str], None]) -> Runner:
    """Run on the workers what the state does not know, and let the state keep it."""

    def run_batch(tasks: Sequence[Task], deadline: float | None) -> list[Outcome]:
        known = {i: found for i, t in enumerate(tasks) if (found := state.outcome(t)) is not None}
        asked = [i for i in range(len(tasks)) if i not in known]
        # A clock that counts from boot means nothing on another machine.
        end = None if deadline is None else time.time() + deadline - time.monotonic()
        for position, outcome in workers.completed(
            _search, end, [tasks[i] for i in asked], step=step, label=_label
        ):
            known[asked[position]] = outcome
            state.keep(tasks[asked[position]], outcome)
        return [known[i] for i in range(len(tasks))]

    return run_batch


def _search(end: float | None, task: Task) -> Outcome:
    from cache_worthy.theory.search.explorer import search_task

    return search_task(task, None if end is None else time.monotonic() + end - time.time())


def _label(task: Task) -> str:
    return f"forest {list(task.parent)}, sizes {list(task.size)}, k {task.k}, h {task.h}"


def _judged(witness: Witness, ratio: Number | None) -> FoundInstance:
    """The witness with the optimum in place of its schedule, judged by independent code."""
    from cache_worthy.commands.adversary.documents import FoundInstance
    from cache_worthy.oracles.optimum.optimal import optimal_cost
    from cache_worthy.theory.search.task import SearchError
    from cache_worthy.theory.steps import bound, divide

    instance = witness.instance
    limit = bound(witness.k, witness.h) if ratio is None else ratio
    optimum = witness.offline if witness.cycle else optimal_cost(instance, witness.h)
    if optimum > witness.offline or not witness.online > limit * optimum:
        raise SearchError(
            f"{instance}: the search paid {witness.offline} offline, the optimum is {optimum}"
        )
    return FoundInstance(
        parent=instance.parent,
        size=instance.size,
        cost=instance.cost,
        requests=instance.requests,
        k=witness.k,
        h=witness.h,
        online_cost=witness.online,
        optimal_cost=optimum,
        ratio=divide(witness.online, optimum) if optimum else None,
        bound=limit,
    )


def _words(
    args: argparse.Namespace,
    result: SearchResult,
    witness: FoundInstance | None,
    cycle_scope: str | None,
) -> str:
    c = result.coverage
    capacities = f"k = {args.k or 'all'}, h = {args.h or 'all'}"
    what = "cycles of at most" if args.cycle else "at most"
    scope = (
        f"{args.policy}, {capacities}: at most {args.max_nodes} nodes of size "
        f"1..{args.max_size}, {what} {args.max_requests} requests, ties: {args.tie}"
    )
    if args.falling:
        scope += ", cost per size never rising with depth"
    covered = (
        f"covered: {c.forests:,} forests with capacities, {c.sequences:,} request sequences, "
        f"{c.runs:,} courses over all real costs ({c.vacuous:,} without an eviction), "
        f"{c.checks:,} z3 calls"
    )
    if result.status == "unsat" and not c.forests:
        covered = "every forest of the range fits in k, so that nothing is ever evicted"
    if witness is None and result.status == "unsat":
        whole = "no instance beats the bound; the whole range was searched"
        if cycle_scope is not None:
            whole = f"no cycle that beats the bound was found in the whole range: {cycle_scope}"
        lines = [scope, whole, covered]
    elif witness is None:
        lines = [
            scope,
            f"time ran out: every forest of up to {result.complete_nodes} nodes is done, not the rest",
            "no instance that beats the bound was found so far",
            covered,
        ]
    else:
        mean = " a cycle" if args.cycle else ""
        shown: dict[str, Sequence[object]] = {
            "parent": witness.parent,
            "size": witness.size,
            "cost": witness.cost,
            "requests": witness.requests,
        }
        ratio = "unbounded" if witness.ratio is None else witness.ratio
        lines = [
            scope,
            f"beaten: {args.policy} pays {witness.online_cost}{mean}",
            f"  optimum {witness.optimal_cost}{mean}, ratio {ratio}, bound {witness.bound}",
            *(f"  {key}: {list(values)}" for key, values in shown.items()),
            f"  k: {witness.k}, h: {witness.h}",
            covered,
        ]
    return "\n".join(lines) + "\n"
