"""Run commands one after another, each in its own process, and continue after a failure."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path


def name_of(command: Sequence[str]) -> str:
    """A command as the summary shows it.

    Examples
    --------
    >>> name_of(["/bin/python", "/x/scripts/check/traces.py", "--check"])
    'traces.py --check'
    """
    return " ".join(Path(word).name if word.endswith(".py") else word for word in command[1:])


def run_all(
    commands: Sequence[Sequence[str]],
    environment: Mapping[str, str] | None = None,
    *,
    folder: Path | None = None,
) -> int:
    """Run every command and print a summary; the worst exit code, 1 for what a signal ended."""
    variables = {**os.environ, **(environment or {})}
    lines, worst = [], 0
    for command in commands:
        print(f"== {name_of(command)}", flush=True)
        began = time.monotonic()
        code = subprocess.run(command, env=variables, cwd=folder, check=False).returncode
        if code < 0:
            print(f"{name_of(command)}: ended by signal {-code}", file=sys.stderr)
        said = "ok" if code == 0 else f"FAILED ({code})"
        lines.append(f"{said:>11}  {time.monotonic() - began:6.1f} s  {name_of(command)}")
        worst = max(worst, 1 if code < 0 else code)
    print("== summary", *lines, sep="\n")
    return worst
