"""Write examples/scenarios/*.jsonl: constructed logs, each made to show one thing.

    python scripts/make/scenarios.py            # rewrites the files
    python scripts/make/scenarios.py --check    # exit 1 when a committed file differs

The logs are CONSTRUCTED, not recorded, and every record says so. Each is the smallest traffic we
know that makes deployed policies differ in one way that users report; the expected order of the
policies is a test (tests/scripts/make/test_scenarios.py). Nothing measured on them says how often
real traffic looks like this.

Only ``random.Random(seed).random()`` is used: it is the one generator whose sequence the Python
documentation promises to keep between versions.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "examples" / "scenarios"
SEED = 20261130
BLOCK = 512

Record = dict[str, object]


class Writer:
    """Collects records; block ids are handed out so that an id names its whole prefix."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self._ids = count(1)

    def prompt(self, blocks: int) -> list[int]:
        """Ids of a prompt that nothing else shares."""
        return [next(self._ids) for _ in range(blocks)]

    def ask(self, ids: Sequence[int], tokens: int | None = None, **more: object) -> None:
        """One request for a path of blocks, full unless ``tokens`` says otherwise."""
        self.records.append(
            {
                "constructed": True,
                "timestamp": 1000 * len(self.records),
                "input_length": BLOCK * len(ids) if tokens is None else tokens,
                "hash_ids": list(ids),
                **more,
            }
        )


def scan_flood(rng: random.Random) -> list[Record]:
    """Four hot prefixes; a scan of one-off prompts, larger than the cache, passes again and again.

    Twelve rounds: each hot prefix is asked for twice, in a random order, then ten prompts of eight
    blocks come once and never again.
    """
    w = Writer()
    hot = [w.prompt(6) for _ in range(4)]
    for _ in range(12):
        for prefix in sorted(hot * 2, key=lambda _: rng.random()):
            w.ask([*prefix, *w.prompt(1)])
        for _ in range(10):
            w.ask(w.prompt(8))
    return w.records


def priority(rng: random.Random) -> list[Record]:
    """A tenant of priority 1 comes back rarely, through traffic of priority 0 that reuses nothing.

    The important prefix has ten blocks and is asked for every sixteenth request.
    """
    w = Writer()
    important = w.prompt(10)
    for n in range(320):
        if n % 16 == 0:
            w.ask([*important, *w.prompt(1)], priority=1)
        else:
            w.ask(w.prompt(2 + int(4 * rng.random())), priority=0)
    return w.records


def dying_burst(rng: random.Random) -> list[Record]:
    """A burst of requests for large prefixes that nobody asks for again, then ordinary sessions.

    Six prefixes of eight blocks are asked for twenty times each. Afterwards sessions of four turns
    run, three at a time, each turn extending the one before.
    """
    w = Writer()
    for _ in range(6):
        prefix = w.prompt(8)
        for _ in range(20):
            w.ask(prefix)
    running = [w.prompt(3) for _ in range(3)]
    turns = [0, 0, 0]
    for _ in range(240):
        k = int(3 * rng.random())
        w.ask(running[k])
        turns[k] += 1
        running[k] = [*running[k], *w.prompt(2)]
        if turns[k] == 4:
            running[k], turns[k] = w.prompt(3), 0
    return w.records


def alternating_prompts(rng: random.Random) -> list[Record]:
    """Five system prompts in strict rotation, one more than fit.

    Every request is a prompt of eight blocks that was asked for exactly five requests ago.
    """
    del rng  # the order is the point: nothing is drawn
    w = Writer()
    prompts = [w.prompt(8) for _ in range(5)]
    for n in range(200):
        w.ask(prompts[n % 5])
    return w.records


def short_prompts(rng: random.Random) -> list[Record]:
    """Prompts shorter than a block, repeated; one in ten is longer and has a full block.

    A cache of whole blocks finds nothing of the short ones, whatever its size and policy.
    """
    w = Writer()
    short = [w.prompt(1) for _ in range(6)]
    longer = w.prompt(2)
    for n in range(200):
        if n % 10 == 0:
            w.ask(longer, tokens=BLOCK + 100)
        else:
            w.ask(short[int(6 * rng.random())], tokens=300)
    return w.records


SCENARIOS: dict[str, Callable[[random.Random], list[Record]]] = {
    f.__name__: f for f in (scan_flood, priority, dying_burst, alternating_prompts, short_prompts)
}


def render(name: str) -> bytes:
    """The bytes of one file."""
    records = SCENARIOS[name](random.Random(SEED))
    return "".join(json.dumps(r) + "\n" for r in records).encode()


def main(argv: Sequence[str] | None = None) -> int:
    """Write or compare; see the module's text."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    parser.add_argument("--to", type=Path, default=OUT, metavar="DIR", help="another folder")
    args = parser.parse_args(argv)
    differing = []
    for name in SCENARIOS:
        file = args.to / f"{name}.jsonl"
        data = render(name)
        if args.check:
            if not file.exists() or file.read_bytes() != data:
                differing.append(file.name)
        else:
            args.to.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
    if differing:
        print(f"differ from their script: {', '.join(differing)}", file=sys.stderr)
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
