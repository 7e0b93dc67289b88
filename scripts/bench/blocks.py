"""Speed of block replay compared with libCacheSim's Python binding, in block references per second.

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
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from measuring import Results, arguments, conversation, in_turn, positive
from mooncake import block_log

from cache_worthy.sim.blocks import POLICIES, replay_blocks

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
        "libcachesim Belady, that and a table of 2^16": partial(told, hashpower=16),
    }
    for name in ("LRU", "S3FIFO", "FIFO"):
        runs[f"libcachesim {name}, defaults"] = partial(fresh, name)
        runs[f"libcachesim {name}, one request object"] = partial(reused, name)
        runs[f"libcachesim {name}, that and a table of 2^16"] = partial(reused, name, hashpower=16)
    return runs


def disagreements(misses: Mapping[str, int]) -> list[str]:
    """Where a policy of the binding misses other than ours must."""
    return [
        f"{ours} and {label}: {misses[ours]} and {count}"
        for ours, name in MUST_AGREE.items()
        for label, count in misses.items()
        if label.startswith(f"libcachesim {name},") and count != misses[ours]
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print; see the module's text."""
    parser = arguments(__doc__)
    parser.add_argument("--capacity", type=int, default=3656)
    parser.add_argument("--rounds", type=positive, default=5)
    args = parser.parse_args(argv)
    file = conversation(args.traces)
    results = Results(
        "blocks",
        f"block references per second on the conversation trace at {args.capacity} blocks, beside "
        "the libCacheSim binding in the same run",
    )
    trace = block_log(file)
    references = [b for path in trace.blocks for b in path]
    misses: dict[str, int] = {}

    def counted(label: str, run: Callable[[], int]) -> None:
        misses[label] = run()

    def ours(policy: str) -> int:
        return replay_blocks(trace, policy, args.capacity).block_misses

    # Its mark for a block that is not referenced again is the largest integer.
    next_uses = [t if t < len(references) else 2**63 - 1 for t in trace.next_uses()]
    theirs = binding_runs(references, next_uses, args.capacity)
    if not theirs:
        results.skip(
            "the comparison with libCacheSim, which is not installed (pip install -e '.[bench]')"
        )
    runs = {name: partial(ours, name) for name in POLICIES} | theirs
    seconds = in_turn(
        {name: partial(counted, name, run) for name, run in runs.items()}, args.rounds
    )
    print(
        f"conversation, {args.capacity} blocks, {len(references)} references, "
        f"best of {args.rounds} rounds"
    )
    for label, count in misses.items():
        print(f"  {label:<58}{count:12} misses")
    if wrong := disagreements(misses):
        print(*wrong, sep="\n", file=sys.stderr)
        return 1
    speed = {label: len(references) / min(took) / 1e6 for label, took in seconds.items()}
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
