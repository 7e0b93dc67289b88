"""Time and memory of the certified bound, compared with the same linear program written densely.

    python scripts/bench/bound.py [--traces DIR] [--fraction F] [--full]

Conversation at 2 percent, from the file to a certificate that the stand-alone checker accepts, and
beside it in the same run the same program in PuLP with one capacity row per request written out over
all groups that span it. Then, on constructed data (16 interleaved copies of the trace, 192,496
requests; no finding about traffic; with --full only), window ascent against the whole program. Each measurement runs
in a process of its own, so that its peak memory is its own.

Exit codes: 0 measured, 1 a bound was not certified or the two forms disagree, 2 no trace.
"""

from __future__ import annotations

import multiprocessing
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from copies import read_native, scaled
from measuring import Results, arguments, conversation
from published import ROOT

COPIES = 16

#: Llama-3.1-8B: (e - s)(104 + s + e) in units of b * 512^2 FLOPs.
UNIT = 2 * 32 * 4096 * 512**2

Figures = dict[str, float]


def cost(depth: int) -> int:
    """FLOPs of the first blocks of a path."""
    return UNIT * depth * (104 + depth)


def read(file: Path, copies: int = 1) -> list[list[int]]:
    """The requests of a native trace; copies are interleaved request by request."""
    with open(file, "rb") as lines:
        records = read_native(lines, file.name)
    return [r["hash_ids"] for r in scaled(records, copies, interleave=True)]


def certified(file: Path, fraction: float) -> Figures:
    """From the file to a certificate the checker accepts."""
    from cache_worthy.oracles.bound.certificate import to_json
    from cache_worthy.oracles.bound.groups import trace_of_requests
    from cache_worthy.oracles.bound.offline import offline_bound

    began = time.perf_counter()
    trace = trace_of_requests(read(file), cost)
    bound = offline_bound(trace, int(fraction * len(trace.parent)))
    with tempfile.TemporaryDirectory() as folder:
        certificate = Path(folder) / "certificate.json"
        certificate.write_text(to_json(trace, bound.capacity, bound.certified), encoding="utf-8")
        made = time.perf_counter()
        done = subprocess.run(
            [
                sys.executable,
                "-I",
                str(ROOT / "proofs" / "check_certificate.py"),
                str(file),
                str(certificate),
            ],
            capture_output=True,
            text=True,
            check=False,
        )
    accepted = done.stdout.startswith(f"certified lower bound {bound.lower}\n")
    return {
        "certificate, s": made - began,
        "checker, s": time.perf_counter() - made,
        "accepted": float(done.returncode == 0 and accepted),
        "bound / compulsory": bound.lower / bound.compulsory,
    }


def dense(file: Path, fraction: float) -> Figures:
    """The chain program with a capacity row a request over every group that spans it."""
    from cache_worthy.oracles.bound.groups import group_references, trace_of_requests
    from cache_worthy.oracles.solver import Program, solve

    began = time.perf_counter()
    trace = trace_of_requests(read(file), cost)
    grouped = group_references(trace)
    capacity = int(fraction * len(trace.parent))
    program = Program()
    spanning: list[list[tuple[int, float]]] = [[] for _ in grouped.pinned]
    for g in grouped.groups:
        y = program.column(-g.value / g.size, 0.0, float(g.size))
        for t in range(g.start + 1, g.end):
            spanning[t].append((y, 1.0))
    for pairs, pinned in zip(spanning, grouped.pinned, strict=True):
        if pairs:
            program.row(pairs, "<=", float(capacity - pinned))
    solution = solve(program, "highs")
    saved = -sum(c * x for c, x in zip(program.cost, solution.values, strict=True))
    return {
        "program solved, s": time.perf_counter() - began,
        "nonzeros": float(sum(map(len, spanning))),
        "bound / compulsory": (grouped.ceiling - saved) / grouped.compulsory,
    }


def ascent(file: Path, fraction: float) -> Figures:
    """Window ascent on the copies, certified."""
    from cache_worthy.oracles.bound.groups import trace_of_requests
    from cache_worthy.oracles.bound.offline import offline_bound

    began = time.perf_counter()
    trace = trace_of_requests(read(file, COPIES), cost)
    bound = offline_bound(trace, int(fraction * len(trace.parent)))
    return {
        "certificate, s": time.perf_counter() - began,
        "requests": float(len(trace.terminal)),
        "bound / compulsory": bound.lower / bound.compulsory,
        "feasible / compulsory": bound.feasible / bound.compulsory,
    }


def whole(file: Path, fraction: float) -> Figures:
    """The whole program on the copies."""
    from cache_worthy.oracles.bound.groups import group_references, trace_of_requests
    from cache_worthy.oracles.bound.lp import relax

    began = time.perf_counter()
    trace = trace_of_requests(read(file, COPIES), cost)
    grouped = group_references(trace)
    answer = relax(trace, grouped, int(fraction * len(trace.parent)))
    return {
        "program solved, s": time.perf_counter() - began,
        "bound / compulsory": (grouped.ceiling - answer.saved) / grouped.compulsory,
    }


def measure(run: Callable[[Path, float], Figures], file: Path, fraction: float) -> Figures:
    """Run in a process of its own; adds its peak memory."""
    context = multiprocessing.get_context("spawn")
    mine, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_child, args=(theirs, run, file, fraction))
    child.start()
    theirs.close()
    try:
        figures: Figures = mine.recv()
    finally:
        child.join()
    return figures


def _child(pipe: Any, run: Callable[[Path, float], Figures], file: Path, fraction: float) -> None:
    figures = run(file, fraction)
    mine, below = (resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    # The clock of a busy machine says little; CPU seconds include the checker's.
    figures["CPU, s"] = mine.ru_utime + mine.ru_stime + below.ru_utime + below.ru_stime
    figures["peak, MB"] = mine.ru_maxrss / 1024
    pipe.send(figures)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print; see the module's text."""
    parser = arguments(__doc__)
    parser.add_argument("--fraction", type=float, default=0.02, metavar="F")
    parser.add_argument(
        "--no-large", action="store_true", help="leave out the 192,496 requests, even with --full"
    )
    args = parser.parse_args(argv)
    large = args.full and not args.no_large
    file = conversation(args.traces)
    runs: dict[str, Callable[[Path, float], Figures]] = {
        "conversation, certified": certified,
        "conversation, dense PuLP": dense,
    }
    if large:
        runs |= {"16 copies, window ascent": ascent, "16 copies, whole program": whole}
    results = Results(
        "bound-full" if large else "bound",
        f"certified lower bound at {args.fraction:g} of the working set, conversation, beside the "
        "same program written densely in PuLP",
    )
    found: dict[str, Figures] = {}
    for name, run in runs.items():
        found[name] = measure(run, file, args.fraction)
        text = ", ".join(f"{k} {v:.6g}" for k, v in found[name].items())
        print(f"{name:<26}{text}", flush=True)
    key = "bound / compulsory"
    one, two = found["conversation, certified"], found["conversation, dense PuLP"]
    wrong = not one["accepted"] or abs(one[key] - two[key]) > 1e-4
    if large:
        gap = found["16 copies, whole program"][key] - found["16 copies, window ascent"][key]
        print(f"the ascent is {gap:.6f} below the whole program")
        wrong = wrong or not -1e-9 <= gap <= 1e-3
    results.facts |= found
    pairs = [("conversation, certified", "conversation, dense PuLP")]
    if large:
        pairs.append(("16 copies, window ascent", "16 copies, whole program"))
    for ours, theirs in pairs:
        for unit in ("CPU, s", "peak, MB"):
            results.figure(
                ours,
                found[ours][unit],
                unit,
                yardstick=theirs,
                yardstick_value=found[theirs][unit],
            )
    results.write(args.results)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
