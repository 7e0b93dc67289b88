"""Every check that needs the real traces, cumulative: a later change that breaks one fails here.

    python scripts/check/verify.py [--traces DIR] [--full] [--list]

Runs each step below in a process of its own and goes on after a failure, so that one run shows all
that is broken. It fails loudly, before anything runs, when the traces are absent; it never skips.
--full adds what takes minutes. To add a check, add a line to STEPS (a script with --check) or mark a
test ``traces``.

Exit codes: 0 everything holds, 1 a step failed, 2 the traces are absent.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from published import ROOT, arguments, missing_from, trace_file
from running import run_all

#: Without these two there is nothing to verify; toolagent is checked where it is.
REQUIRED = ("conversation", "synthetic")

#: Scripts of this folder that take --traces DIR --check.
STEPS: tuple[tuple[str, ...], ...] = (
    ("traces.py",),
    ("structure.py",),
    ("replay.py",),
    ("h1.py",),
    ("oracles.py",),
    ("blocks.py",),
    ("capture.py", "--requests", "1000"),
)

#: What --full runs in the place of a step.
FULL: dict[tuple[str, ...], tuple[str, ...]] = {
    ("replay.py",): ("replay.py", "--full"),
    ("capture.py", "--requests", "1000"): ("capture.py",),
}


def commands(traces: Path, *, full: bool) -> list[list[str]]:
    """The command lines of all steps, the tests last."""
    lines = []
    for step in STEPS:
        script, *options = FULL.get(step, step) if full else step
        path = str(Path(__file__).with_name(script))
        lines.append([sys.executable, path, "--traces", str(traces), "--check", *options])
    marks = "traces or slow" if full else "traces and not slow"
    lines.append([sys.executable, "-m", "pytest", "-rs", "-m", marks])
    return lines


def main(argv: Sequence[str] | None = None) -> int:
    """Run every step; see the module's text."""
    parser = arguments(__doc__, check=False)
    parser.add_argument("--full", action="store_true", help="also what takes minutes")
    parser.add_argument("--list", action="store_true", help="print the commands, run nothing")
    args = parser.parse_args(argv)
    traces = args.traces.resolve()
    steps = commands(traces, full=args.full)
    if args.list:
        print(*map(shlex.join, steps), sep="\n")
        return 0
    absent = [t for t in REQUIRED if t in missing_from(traces)]
    if absent:
        print(
            f"verify: cannot run: {traces} lacks "
            f"{', '.join(trace_file(traces, t).name for t in absent)}; run "
            "scripts/make/fetch_traces.py, or pass make verify TRACES=DIR",
            file=sys.stderr,
        )
        return 2
    worst = run_all(steps, {"TRACES": str(traces)}, folder=ROOT)
    for trace in missing_from(traces):
        print(f"{trace}: not at hand; its published figures are not checked")
    return 1 if worst else 0


if __name__ == "__main__":
    sys.exit(main())
