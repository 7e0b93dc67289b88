"""Replay of the conversation trace under cosigned, as a multiple of lru's in the same run.

    python scripts/bench/cosigned.py --traces data/raw

lru runs on the interned engine (the default) and on the node engine that cosigned uses. Medians of
interleaved rounds; the multiple is what to quote. The accounts changed per event are counted too:
they do not grow with the resident tree. Nothing here passes or fails.
"""

from __future__ import annotations

import statistics
import sys
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from measuring import Results, arguments, conversation, in_turn, positive

from cache_worthy.logs.session import read_log
from cache_worthy.sim.cost import BlockSize
from cache_worthy.sim.forest import Forest, build_forest
from cache_worthy.sim.outcome import Outcome
from cache_worthy.sim.radix.policies import EvictionPolicy
from cache_worthy.sim.radix.policies.cosigned import Cosigned
from cache_worthy.sim.radix.policies.lru import LRU
from cache_worthy.sim.radix.replay import Engine, replay
from cache_worthy.sim.trace import paths_of

REPEATS = 7
PERCENTS = (2, 5, 10, 25)


def fresh(forest: Forest, policy: type[EvictionPolicy], capacity: int, engine: Engine) -> Outcome:
    """One replay under a new policy."""
    return replay(forest, policy(), capacity, engine=engine)


def main(argv: list[str] | None = None) -> int:
    """Print the figures."""
    parser = arguments(__doc__)
    parser.add_argument("--repeats", type=positive, default=REPEATS)
    args = parser.parse_args(argv)
    file = conversation(args.traces)
    forest = build_forest(paths_of(read_log(file).requests))
    print(f"conversation: {forest.requests} requests, {forest.distinct} distinct blocks")
    results = Results(
        "cosigned", "replay of the conversation trace under cosigned, beside lru in the same run"
    )
    for percent in PERCENTS:
        capacity = max(percent * forest.distinct // 100, forest.depth) * BlockSize().block
        counted = Cosigned()
        result = replay(forest, counted, capacity, engine="heap")

        seconds = in_turn(
            {
                "interned": partial(fresh, forest, LRU, capacity, "interned"),
                "nodes": partial(fresh, forest, LRU, capacity, "heap"),
                "cosigned": partial(fresh, forest, Cosigned, capacity, "heap"),
            },
            args.repeats,
        )
        events = len(result.matched) + result.evictions
        for engine in ("interned", "nodes"):
            results.figure(
                f"cosigned at {percent} percent",
                1000 * statistics.median(seconds["cosigned"]),
                "ms",
                yardstick=f"lru, {engine} engine",
                yardstick_value=1000 * statistics.median(seconds[engine]),
                spread=[1000 * s for s in seconds["cosigned"]],
            )
        results.figure(
            f"accounts changed per event at {percent} percent", counted.entries / events, "accounts"
        )
    results.write(args.results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
