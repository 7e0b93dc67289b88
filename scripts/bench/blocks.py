"""Speed of block replay beside libCacheSim's Python binding, in block references a second.

    python scripts/bench/blocks.py [--traces DIR] [--capacity BLOCKS] [--rounds N]

Replays the conversation trace (default 3,656 blocks) through every block policy and the same
references through the binding, alternating in one run; the best of the rounds counts. The binding
is measured three ways: at its defaults with a new request object for each reference, at its
defaults with one object reused, and with a hash table sized for the trace (its default table of
2^24 buckets costs it cache misses), which is the fastest we could make it. Reading the log and
renumbering its ids come before the clock starts, and both sides get the renumbered ids.

The binding is an optional extra: pip install -e '.[bench]'. Without it the comparison is skipped,
loudly. Its LRU, FIFO and Belady must miss exactly as often as ours, or the run fails: a speed is
worth nothing on different work. Its Belady is told when each block comes next; ours finds that out
on the clock. Its S3-FIFO departs from ours and from the paper's algorithm in when it
evicts, so its misses are printed, not compared.

Exit codes: 0 measured, 1 the two disagree on misses, 2 no trace.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence

from measuring import Results, arguments, positive

from cache_worthy.sim.blocks import POLICIES, BlockTrace, replay_blocks
from cache_worthy.sim.trace import load_trace

#: Our policy, and the class of the binding that plays the same role.
PEERS = {
    "vllm_lru": "LRU",
    "s3fifo": "S3FIFO",
    "s3fifo_paper": "S3FIFO",
    "flat_lru": "LRU",
    "flat_fifo": "FIFO",
    "flat_belady": "Belady",
}
MUST_AGREE = {"flat_lru": "LRU", "flat_fifo": "FIFO", "flat_belady": "Belady"}


def binding_runs(
    references: Sequence[int], next_uses: Sequence[int], capacity: int
) -> dict[str, Callable[[], int]]:
    """The binding's replays by label; each returns its misses. Empty when it is not installed."""
    try:
        import libcachesim
    except ImportError:
        return {}

    def fresh(name: str) -> int:
        make = libcachesim.Request
        get = getattr(libcachesim, name)(capacity).get
        misses = 0
        for block in references:
            request = make()
            request.obj_id = block
            request.obj_size = 1
            misses += not get(request)
        return misses

    def reused(name: str, **options: int) -> int:
        get = getattr(libcachesim, name)(capacity, **options).get
        request = libcachesim.Request()
        request.obj_size = 1
        misses = 0
        for block in references:
            request.obj_id = block
            misses += not get(request)
        return misses

    def told(**options: int) -> int:
        get = libcachesim.Belady(capacity, **options).get
        request = libcachesim.Request()
        request.obj_size = 1
        misses = 0
        for block, upcoming in zip(references, next_uses, strict=True):
            request.obj_id = block
            request.next_access_vtime = upcoming
            misses += not get(request)
        return misses

    runs: dict[str, Callable[[], int]] = {
        "libcachesim Belady, one request object": told,
        "libcachesim Belady, that and a table of 2^16": lambda: told(hashpower=16),
    }
    for name in ("LRU", "S3FIFO", "FIFO"):
        runs[f"libcachesim {name}, defaults"] = lambda name=name: fresh(name)  # type: ignore[misc]
        runs[f"libcachesim {name}, one request object"] = lambda name=name: reused(name)  # type: ignore[misc]
        runs[f"libcachesim {name}, that and a table of 2^16"] = lambda name=name: reused(  # type: ignore[misc]
            name, hashpower=16
        )
    return runs


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print; see the module's text."""
    parser = arguments(__doc__)
    parser.add_argument("--capacity", type=int, default=3656)
    parser.add_argument("--rounds", type=positive, default=5)
    args = parser.parse_args(argv)
    file = args.traces / "conversation_trace.jsonl"
    if not file.exists():
        print(f"{file} is not there; run scripts/make/fetch_traces.py or give --traces", file=sys.stderr)
        return 2
    results = Results(
        "blocks",
        f"block references a second on the conversation trace at {args.capacity} blocks, beside "
        "the libCacheSim binding in the same run",
    )
    trace = BlockTrace.from_requests(load_trace(file))
    references = [b for path in trace.blocks for b in path]
    runs: dict[str, Callable[[], int]] = {
        name: lambda name=name: replay_blocks(trace, name, args.capacity).block_misses  # type: ignore[misc]
        for name in POLICIES
    }
    # Its mark for a block that is not referenced again is the largest integer.
    next_uses = [t if t < len(references) else 2**63 - 1 for t in trace.next_uses()]
    theirs = binding_runs(references, next_uses, args.capacity)
    if not theirs:
        results.skip(
            "the comparison with libCacheSim, which is not installed (pip install -e '.[bench]')"
        )
    runs.update(theirs)
    best = dict.fromkeys(runs, float("inf"))
    misses: dict[str, int] = {}
    for _ in range(args.rounds):
        for label, replay in runs.items():
            start = time.perf_counter()
            misses[label] = replay()
            best[label] = min(best[label], time.perf_counter() - start)
    print(
        f"conversation, {args.capacity} blocks, {len(references)} references, "
        f"best of {args.rounds} rounds"
    )
    for label, count in misses.items():
        print(f"  {label:<58}{count:12} misses")
    code = 0
    for ours, name in MUST_AGREE.items() if theirs else ():
        for label in (n for n in theirs if n.startswith(f"libcachesim {name},")):
            if misses[ours] != misses[label]:
                print(f"{ours} and {label}: {misses[ours]} and {misses[label]}", file=sys.stderr)
                code = 1
    if code:
        return code
    speed = {label: len(references) / seconds / 1e6 for label, seconds in best.items()}
    results.facts |= {"references": len(references), "misses": misses}
    for label in runs:
        binding = [n for n in speed if n.startswith(f"libcachesim {PEERS.get(label)},")]
        fastest = max(binding, key=speed.__getitem__, default="")
        results.figure(
            label,
            speed[label],
            "M refs/s",
            yardstick=fastest,
            yardstick_value=speed.get(fastest),
            more_is_better=True,
        )
    results.write(args.results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
