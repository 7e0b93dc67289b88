"""Replay and advisor figures, beside json.loads over the same file in the same run.

    python scripts/bench_replay.py --traces data/raw

Each figure is the median of interleaved repeats (these machines are noisy); the ratio to the
yardstick is what to quote. Nothing here passes or fails.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from cache_worthy.sim.cost import BlockSize
from cache_worthy.sim.forest import build_forest
from cache_worthy.sim.policies import POLICIES
from cache_worthy.sim.replay import replay
from cache_worthy.sim.trace import load_trace, paths_of

ROOT = Path(__file__).resolve().parents[1]
REPEATS = 15


def timed(jobs: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Median seconds a job, the jobs taken in turn."""
    seconds: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(repeats):
        for name, job in jobs.items():
            begun = time.perf_counter()
            job()
            seconds[name].append(time.perf_counter() - begun)
    return {name: statistics.median(values) for name, values in seconds.items()}


def main(argv: list[str] | None = None) -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--traces", type=Path, default=ROOT / "data" / "raw")
    args = parser.parse_args(argv)
    file = args.traces / "conversation_trace.jsonl"
    if not file.exists():
        print(f"{file} is missing; run scripts/fetch_traces.py or give --traces", file=sys.stderr)
        return 2
    lines = file.read_text(encoding="utf-8").splitlines()
    paths = paths_of(load_trace(file))
    forest = build_forest(paths)
    capacity = int(0.02 * forest.distinct * BlockSize().block)

    def run(policy: str) -> Callable[[], object]:
        return lambda: replay(forest, POLICIES[policy](), capacity)

    jobs: dict[str, Callable[[], object]] = {
        "json.loads over the lines": lambda: [json.loads(line) for line in lines],
        "load_trace": lambda: load_trace(file),
        "build_forest": lambda: build_forest(paths),
    }
    jobs |= {
        f"replay {p} at 2%, {'interned' if rule.key_rule else 'nodes'}": run(p)
        for p, rule in POLICIES.items()
    }
    found = timed(jobs, REPEATS)
    heap = timed(
        {
            "replay lru at 2%, nodes + heap": lambda: replay(
                paths, POLICIES["lru"](), capacity, engine="heap"
            )
        },
        3,
    )
    yardstick = found["json.loads over the lines"]
    print(f"conversation: {forest.requests} requests, {forest.references} block references")
    for name, seconds in {**found, **heap}.items():
        print(f"  {name:<34}{1000 * seconds:9.1f} ms {seconds / yardstick:8.2f} x json.loads")

    begun = time.perf_counter()
    command = [sys.executable, "-m", "cache_worthy.cli", "analyze", str(file), "--no-bound"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    seconds = time.perf_counter() - begun
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    megabytes = peak / (2**20 if sys.platform == "darwin" else 2**10)
    print(
        f"  {'analyze --no-bound, whole process':<34}{1000 * seconds:9.1f} ms "
        f"{seconds / yardstick:8.2f} x json.loads, {megabytes:.0f} MB"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
