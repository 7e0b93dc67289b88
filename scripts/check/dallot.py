"""Recursive LRU equals LRU on path requests: the check beside ``proofs/dallot.md``.

    python scripts/check/dallot.py [--traces DIR] [--nodes N] [--length N] [--drawn N] [--json]

Exit code: 0 all hold (and the control fails as it must), 1 otherwise.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from itertools import islice, product
from pathlib import Path

from cache_worthy.logs.session import read_log
from cache_worthy.sim.cost import BlockSize
from cache_worthy.sim.forest import build_forest
from cache_worthy.sim.radix.policies import POLICIES
from cache_worthy.sim.radix.replay import replay
from cache_worthy.sim.trace import paths_of

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from campaigns import Case, forest_cases

from cache_worthy.theory.algorithms.keyed import Key, Lru, RecursiveLru
from cache_worthy.theory.forests import forests
from cache_worthy.theory.instance import Instance
from cache_worthy.theory.steps import Event

TRACES = ("conversation", "synthetic")
PERCENTS = (2, 5, 10, 25, 50)


class AncestorsFirst(Lru):
    """LRU with the opposite tie-break: ancestors count as older."""

    def _key(self, u: int) -> Key:
        return (self.clock, self.depth[u])


class _Slow:
    """A clock that ticks every second request, so that two requests share a time."""

    def _key(self, u: int) -> Key:
        clock, *rest = super()._key(u)  # type: ignore[misc]
        return (clock // 2, *rest)


class SlowRecursiveLru(_Slow, RecursiveLru):
    """The control, descendants first."""


class SlowAncestorsFirst(_Slow, AncestorsFirst):
    """The control, ancestors first."""


def moves(kind: type[Lru], instance: Instance, k: int) -> tuple[list[tuple[Event, ...]], int, int]:
    """Events of a run, its evictions, and how often two evictable nodes shared a last touch."""
    algorithm = kind(instance, k)
    events, shared = [], 0
    for v in instance.requests:
        events.append(algorithm.step(v))
        touches = [algorithm.touched[u] for u in algorithm.evictable()]
        shared += len(touches) != len(set(touches))
    return events, algorithm.evictions, shared


def compare(cases: Iterable[Case], kinds: tuple[type[Lru], ...]) -> tuple[int, int, int, int]:
    """Runs, evictions, runs on which the kinds differ, and shared touches."""
    runs = evictions = differ = shared = 0
    for case in cases:
        found = [moves(kind, case.instance, case.k) for kind in kinds]
        runs += 1
        evictions += found[0][1]
        differ += any(f[0] != found[0][0] for f in found)
        shared += found[0][2]
    return runs, evictions, differ, shared


def small_cases(nodes: int, length: int) -> Iterable[Case]:
    """Every forest of up to ``nodes`` unit nodes, every sequence, every capacity that evicts."""
    for n in range(2, nodes + 1):
        for parent in forests(n):
            for requests in product(range(n), repeat=length):
                instance = Instance(parent, (1,) * n, (1,) * n, requests)
                for k in range(instance.floor, len(instance.touched())):
                    yield Case("small", instance, k, k)


def main(argv: list[str] | None = None) -> int:
    """Run the checks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--traces", type=Path)
    parser.add_argument("--drawn", type=int, default=2000, metavar="N")
    parser.add_argument("--nodes", type=int, default=4, metavar="N", help="of all small forests")
    parser.add_argument("--length", type=int, default=5, metavar="N", help="of their requests")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args(argv)
    kinds = (Lru, RecursiveLru, AncestorsFirst)
    lines: list[tuple[bool, str]] = []
    parted = 0
    for name, cases in (
        (f"{args.drawn} drawn forests", islice(forest_cases(7), args.drawn)),
        (
            f"all forests of up to {args.nodes} unit nodes, all sequences of {args.length}",
            small_cases(args.nodes, args.length),
        ),
    ):
        runs, evictions, differ, shared = compare(cases, kinds)
        parted += differ + shared
        text = (
            f"{name}: {runs} runs, {evictions} evictions, {differ} differ, {shared} shared touches"
        )
        lines.append((evictions > 0 and differ == 0 and shared == 0, text))
    runs, _, control, _ = compare(
        islice(forest_cases(7), args.drawn), (SlowRecursiveLru, SlowAncestorsFirst)
    )
    lines.append((control > 0, f"control, a slow clock: {control} of {runs} differ"))
    for trace in TRACES if args.traces is not None else ():
        forest = build_forest(paths_of(read_log(args.traces / f"{trace}_trace.jsonl").requests))
        for percent in PERCENTS:
            capacity = percent * forest.distinct * BlockSize().block // 100
            pair = [replay(forest, POLICIES[p](), capacity) for p in ("lru", "recursive_lru")]
            text = f"{trace} at {percent} percent: every field, {pair[0].evictions} evictions"
            lines.append((pair[0] == pair[1] and pair[0].evictions > 0, text))
    ok = all(good for good, _ in lines)
    if args.json:
        print(json.dumps({"ok": ok, "differ": parted, "control": control}))
    else:
        for good, text in lines:
            print(f"{'ok    ' if good else 'FAILED'} {text}")
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
