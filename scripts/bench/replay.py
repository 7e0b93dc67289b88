"""Replay figures, compared with json.loads over the same file in the same run.

    python scripts/bench/replay.py --traces data/raw

Each figure is the median of interleaved rounds (these machines are noisy); the ratio to the
yardstick is what to quote. Before the clock starts the compiled engine has its machine code and the
tables that it keeps of a forest and its costs, as in all but the first replay of an analysis. Nothing
here passes or fails.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from measuring import Results, arguments, conversation, in_turn

from cache_worthy.logs.session import read_log
from cache_worthy.sim.cost import BlockSize
from cache_worthy.sim.forest import build_forest
from cache_worthy.sim.radix import choose as fast
from cache_worthy.sim.radix.policies import POLICIES
from cache_worthy.sim.radix.replay import Engine, replay
from cache_worthy.sim.trace import paths_of

REPEATS = 15


def main(argv: list[str] | None = None) -> int:
    """Print the figures."""
    args = arguments(__doc__).parse_args(argv)
    file = conversation(args.traces)
    results = Results(
        "replay",
        "reading, interning and replay of the conversation trace, compared with json.loads",
    )
    lines = file.read_text(encoding="utf-8").splitlines()
    paths = paths_of(read_log(file).requests)
    forest = build_forest(paths)
    capacity = int(0.02 * forest.distinct * BlockSize().block)

    def run(policy: str, engine: Engine) -> Callable[[], object]:
        return lambda: replay(forest, POLICIES[policy](), capacity, engine=engine)

    jobs: dict[str, Callable[[], object]] = {
        "json.loads over the lines": lambda: [json.loads(line) for line in lines],
        "read_log": lambda: read_log(file).requests,
        "build_forest": lambda: build_forest(paths),
    }
    for name, policy in POLICIES.items():
        engine: Engine = "interned" if policy.key_rule else "heap"
        jobs[f"replay {name} at 2%, {engine}"] = run(name, engine)
    if fast.available():
        for name in POLICIES:
            jobs[f"replay {name} at 2%, compiled"] = run(name, "compiled")
            run(name, "compiled")()  # loads it, or compiles it
    found = in_turn(jobs, REPEATS)
    heap = in_turn(
        {
            "replay lru at 2%, nodes + heap": lambda: replay(
                paths, POLICIES["lru"](), capacity, engine="heap"
            )
        },
        3,
    )
    yardstick = statistics.median(found["json.loads over the lines"])
    print(f"conversation: {forest.requests} requests, {forest.references} block references")
    if not fast.available():
        results.skip("the compiled engine: numba is not installed (pip install numba)")
    for name, seconds in {**found, **heap}.items():
        results.figure(
            name,
            1000 * statistics.median(seconds),
            "ms",
            yardstick="json.loads",
            yardstick_value=1000 * yardstick,
            spread=[1000 * s for s in seconds],
        )
    results.write(args.results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
