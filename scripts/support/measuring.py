"""What every script of ``bench/`` shares: figures with their yardsticks, and where they are kept.

A :class:`Results` prints its figures as they come and writes ``bench/results/NAME.json``: the
machine (CPU model, cores, memory; no name of it and no path), its load, Python, the versions of
what took part, the commit (and whether the tree had changes), and each figure with the yardstick of
the same run, their ratio and, of several rounds, the smallest and the largest.
Only ratios travel between machines, and those with care.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import published
from published import ROOT, trace_file

RESULTS = ROOT / "bench" / "results"

#: Packages whose version belongs beside a figure, where they are installed.
PACKAGES = (
    "numpy", "numba", "orjson", "pulp", "highspy", "kvcache-simulator", "libcachesim", "aiohttp",
    "uvicorn",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Usage:
    """What a process took.

    Attributes
    ----------
    seconds, cpu : float
        Clock and CPU time, start of the interpreter included; CPU of its children too.
    megabytes : float
        Peak resident memory (2**20 bytes) of the process or of its largest child, whichever is
        more: for a program that works in a child beside its own data this is less than the sum.
    stdout : str
    rounds : tuple of Usage
        Where these are medians: what they are medians of.
    """

    seconds: float
    cpu: float
    megabytes: float
    stdout: str
    rounds: tuple[Usage, ...] = ()


#: Starts the command from a process of a few megabytes: Linux puts the peak of whoever starts a
#: process on the account of that process.
_LAUNCHER = """
import os, sys, time
began = time.perf_counter()
child = os.posix_spawnp(sys.argv[2], sys.argv[2:], os.environ)
_, status, used = os.wait4(child, 0)
seconds = time.perf_counter() - began
with open(sys.argv[1], "w") as out:
    print(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss, file=out)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def measured(command: Sequence[str]) -> Usage:
    """Run a command in a process of its own.

    Raises
    ------
    RuntimeError
        If it fails; with the last lines it wrote.
    """
    with TemporaryDirectory() as folder:
        figures = Path(folder) / "figures"
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", _LAUNCHER, str(figures), *command],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            said = done.stderr.strip().splitlines()[-5:]
            raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}: {said}")
        seconds, cpu, peak = map(float, figures.read_text(encoding="utf-8").split())
    return Usage(seconds, cpu, peak / (2**20 if sys.platform == "darwin" else 2**10), done.stdout)


def growth(sizes: Sequence[float], values: Sequence[float]) -> float:
    """The exponent ``k`` of ``value ~ size ** k``: least squares on logarithms.

    Examples
    --------
    >>> round(growth([1, 10, 100], [3, 30, 300]), 6), round(growth([1, 2, 4], [5, 20, 80]), 6)
    (1.0, 2.0)
    """
    x = [math.log(s) for s in sizes]
    y = [math.log(v) for v in values]
    mean = sum(x) / len(x)
    level = sum(y) / len(y)
    over = sum((a - mean) * (b - level) for a, b in zip(x, y, strict=True))
    return over / sum((a - mean) ** 2 for a in x)


def _processor() -> str:
    """The CPU's model where the system says it."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor() or platform.machine()
    names = [v.strip() for k, _, v in (ln.partition(":") for ln in text.splitlines())
             if k.strip() == "model name"]  # fmt: skip
    return names[0] if names else platform.machine()


def _memory_gib() -> float | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    except (AttributeError, OSError, ValueError):
        return None


def _load() -> list[float] | None:
    try:
        return [round(value, 2) for value in os.getloadavg()]
    except (AttributeError, OSError):
        return None


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def _changes() -> str | None:
    """What is not committed, new files too; results written before are no change of it."""
    return _git("status", "--porcelain", "--", ".", ":!bench/results")


def _versions() -> dict[str, str]:
    found = {}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def positive(text: str) -> int:
    """A number of rounds, for argparse."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text}: expected 1 or more")
    return int(text)


def arguments(description: str | None) -> argparse.ArgumentParser:
    """A parser with the options that ``bench/all.py`` hands to every script."""
    parser = published.arguments(description, check=False)
    parser.add_argument(
        "--results", type=Path, metavar="DIR", help="write NAME.json there (default: print only)"
    )
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="the sizes of make bench (default)")
    size.add_argument("--full", action="store_true", help="the sizes of make bench-full")
    return parser


def conversation(folder: Path) -> Path:
    """The conversation trace, which the figures are measured on.

    Raises
    ------
    SystemExit
        With exit code 2 and one line on stderr where the folder lacks it.
    """
    file = trace_file(folder, "conversation")
    if not file.exists():
        print(
            f"{file} is missing; run scripts/make/fetch_traces.py or give --traces", file=sys.stderr
        )
        raise SystemExit(2)
    return file


def in_turn(jobs: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Seconds of every round of each job, the jobs taken in turn."""
    seconds: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(rounds):
        for name, job in jobs.items():
            begun = time.perf_counter()
            job()
            seconds[name].append(time.perf_counter() - begun)
    return seconds


def commands_in_turn(
    commands: Mapping[str, Sequence[str]],
    rounds: int,
    run: Callable[[Sequence[str]], Usage] = measured,
) -> dict[str, Usage]:
    """Every command ``rounds`` times, in turn; medians of time and memory by name."""
    found: dict[str, list[Usage]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            found[name].append(run(command))
    return {
        name: Usage(
            median(u.seconds for u in usages),
            median(u.cpu for u in usages),
            median(u.megabytes for u in usages),
            usages[-1].stdout,
            tuple(usages),
        )
        for name, usages in found.items()
    }


@dataclass(slots=True)
class Results:
    """The figures of one script.

    Parameters
    ----------
    name : str
        Of the file, ``NAME.json``.
    about : str
        What was measured, in a sentence.
    """

    name: str
    about: str
    figures: list[dict[str, Any]] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)
    load_before: list[float] | None = field(default_factory=_load)
    # As it was before the measurement: a commit may be made while it runs.
    commit: str | None = field(default_factory=lambda: _git("rev-parse", "HEAD"))
    changes: str | None = field(default_factory=_changes)

    def figure(
        self,
        name: str,
        value: float,
        unit: str,
        *,
        yardstick: str = "",
        yardstick_value: float | None = None,
        more_is_better: bool = False,
        spread: Sequence[float] = (),
    ) -> None:
        """Keep and print one figure; of ``spread``, all that was measured, the smallest and the largest.

        The ratio is over the yardstick's value, in the direction that makes more than 1 better
        than the yardstick: how many times faster, or smaller.
        """
        ratio = None
        if yardstick_value is not None and value and yardstick_value:
            ratio = value / yardstick_value if more_is_better else yardstick_value / value
        row: dict[str, Any] = {"name": name, "value": _rounded(value), "unit": unit}
        if len(spread) > 1:
            row["spread"] = [_rounded(min(spread)), _rounded(max(spread))]
        text = f"  {name:<58}{value:12.4g} {unit:<10}"
        if yardstick_value is not None:
            row["yardstick"] = {"name": yardstick, "value": _rounded(yardstick_value)}
            row["ratio"] = None if ratio is None else _rounded(ratio)
            shown = "" if ratio is None else f", ratio {ratio:.3g}"
            text += f" {yardstick} {yardstick_value:.4g}{shown}"
        self.figures.append(row)
        print(text, flush=True)

    def skip(self, what: str) -> None:
        """Say loudly that a comparison is left out."""
        self.skipped.append(what)
        print(f"SKIPPED: {what}", file=sys.stderr, flush=True)

    def document(self) -> dict[str, Any]:
        """All that is written."""
        own = asdict(self)
        return {
            "bench": self.name,
            "about": self.about,
            "commit": self.commit,
            "uncommitted_changes": None if self.changes is None else bool(self.changes),
            "python": platform.python_version(),
            "versions": _versions(),
            "machine": {
                "processor": _processor(),
                "architecture": platform.machine(),
                "cores": os.cpu_count(),
                "memory_gib": _memory_gib(),
                "system": platform.system(),
            },
            "load": {"before": own["load_before"], "after": _load()},
            "skipped": own["skipped"],
            "facts": own["facts"],
            "figures": own["figures"],
        }

    def write(self, folder: Path | None) -> None:
        """Write ``NAME.json`` into ``folder``, whole or not at all; None writes nothing.

        Raises
        ------
        SystemExit
            If it cannot be written; the figures are printed by then.
        """
        if folder is None:
            return
        text = json.dumps(self.document(), indent=1, ensure_ascii=False)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with TemporaryDirectory(dir=folder) as beside:
                new = Path(beside) / "new.json"
                new.write_text(text + "\n", encoding="utf-8")
                os.replace(new, folder / f"{self.name}.json")
        except OSError as error:
            raise SystemExit(f"{folder}: {self.name}.json not written: {error.strerror}") from None


def _rounded(value: float) -> float:
    """Five significant digits: more would be noise."""
    return float(f"{value:.5g}")
