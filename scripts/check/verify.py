"""Every check that needs the real traces, cumulative: a later change that breaks one fails here.

    python scripts/check/verify.py [--traces DIR] [--full]

Runs each step below in a process of its own and goes on after a failure, so that one run shows all
that is broken. It fails loudly, before anything runs, when the traces are absent; it never skips.
--full adds what takes minutes. To add a check, add a line to STEPS (a script with --check) or mark a
test ``traces``.

Exit codes: 0 everything holds, 1 a step failed, 2 the traces are absent.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from published import ROOT, missing_from, trace_file

#: Without these two there is nothing to verify; toolagent is checked where it is.
REQUIRED = ("conversation", "synthetic")

#: Scripts that take --traces DIR --check.
STEPS: tuple[tuple[str, ...], ...] = (
    ("characterize.py",),
    ("plot_distributions.py", "--no-figures"),
    ("replay_check.py",),
    ("h1_check.py",),
    ("oracle_check.py",),
    ("blocks_check.py",),
    ("capture_check.py", "--requests", "1000"),
)

#: What --full runs in the place of a step.
FULL: dict[tuple[str, ...], tuple[str, ...]] = {
    ("replay_check.py",): ("replay_check.py", "--full"),
    ("capture_check.py", "--requests", "1000"): ("capture_check.py",),
}


def commands(traces: Path, *, full: bool) -> list[list[str]]:
    """The command lines of all steps, the tests last."""
    lines = []
    for step in STEPS:
        script, *options = FULL.get(step, step) if full else step
        path = str(ROOT / "scripts" / script)
        lines.append([sys.executable, path, "--traces", str(traces), "--check", *options])
    marks = "traces or slow" if full else "traces and not slow"
    lines.append([sys.executable, "-m", "pytest", "-rs", "-m", marks])
    return lines


def name_of(command: Sequence[str]) -> str:
    """A step as the summary shows it."""
    return " ".join(Path(word).name if word.endswith(".py") else word for word in command[1:])


def main(argv: Sequence[str] | None = None) -> int:
    """Run every step; see the module's text."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--traces", type=Path, default=ROOT / "data" / "raw", metavar="DIR")
    parser.add_argument("--full", action="store_true", help="also what takes minutes")
    args = parser.parse_args(argv)
    traces = args.traces.resolve()
    absent = [t for t in REQUIRED if t in missing_from(traces)]
    if absent:
        print(
            f"verify: cannot run: {traces} lacks "
            f"{', '.join(trace_file(traces, t).name for t in absent)}; run "
            "scripts/make/fetch_traces.py, or pass make verify TRACES=DIR",
            file=sys.stderr,
        )
        return 2
    results: list[tuple[str, int, float]] = []
    for command in commands(traces, full=args.full):
        name = name_of(command)
        print(f"== {name}", flush=True)
        began = time.monotonic()
        done = subprocess.run(
            command, cwd=ROOT, env={**os.environ, "TRACES": str(traces)}, check=False
        )
        results.append((name, done.returncode, time.monotonic() - began))
    print("== summary")
    for name, code, seconds in results:
        print(f"{'ok' if code == 0 else f'FAILED ({code})':>11}  {seconds:6.1f} s  {name}")
    for trace in missing_from(traces):
        print(f"{trace}: not at hand; its published figures are not checked")
    return 1 if any(code for _, code, _ in results) else 0


if __name__ == "__main__":
    sys.exit(main())
