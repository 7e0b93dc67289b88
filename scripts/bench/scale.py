"""How time and memory grow with the log, compared with kvcache-simulator on the same files.

    python scripts/bench/scale.py [--traces DIR] [--full] [--rounds N] [--results DIR]

Work grows by ``make/scaled_trace.py``: 1, 10 and (with --full) 100 interleaved copies of the
conversation trace, 12 thousand, 120 thousand and 1.2 million requests. The copies are CONSTRUCTED:
they have the shape of their source, and nothing here is a finding about traffic. Capacities are the
20 of the advisor's curve, fractions of the working set, so they grow with the log.

Every measurement runs in a process of its own, from the file to the result, and its peak memory is
its own; rounds alternate and the median counts. CPU seconds are given with wall-clock seconds, which a busy
machine stretches. Ours, in three widths:

* ``curve``: reading, interning, and the LRU curve, nothing else;
* ``analyze --no-bound`` with every other section that can be skipped left out as well;
* ``analyze --no-bound``.

Beside it kvcache-simulator (PyPI; an optional extra, skipped loudly), with ``--policies lru`` and
the very same capacities in blocks. It is not the same work in every detail: its LRU evicts blocks
where ours evicts radix nodes, which are fewer (our gain); it counts hits over the second half of
the log only, and gives up at half time on a capacity that has not filled by then, while we replay
every capacity to the end (its gain). Its replay runs in a child process beside the Python process
that read the log; the memory given is that of the larger of the two, not of both.

At every size but the largest also the optimal curve: its ``--policies optimal`` beside our
``belady_curve`` at the same capacities, with bypass, which is the same work: the hit tokens of its
half of the log must be the same at every capacity it answers, or the run fails; and without, which
is the policy ``flat_belady``. At one copy our certified lower bound at three capacities stands beside
the curve, a heavier thing: a linear program and a certificate that a checker accepts.

A yardstick that needs no extra: ``json.loads`` of every line in the same run.

The exponents are fitted over the sizes (value ~ requests ** k). The start of the interpreter and of
the imports is in every value and draws them down, most where all sizes are small: json.loads, which is
linear, comes out at a third over the first two. With --full that of the last two sizes is beside them.

Exit codes: 0 measured, 1 the two disagree on hits, 2 no trace.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from measuring import (
    Results,
    Usage,
    arguments,
    commands_in_turn,
    conversation,
    growth,
    measured,
    positive,
)
from peer import PEER, different_hits, has_peer, peer_command

SCALED = Path(__file__).resolve().parents[1] / "make" / "scaled_trace.py"
COPIES = (1, 10, 100)
"""12,031, 120,310 and 1,203,100 requests of the conversation trace."""

MANY = 10
"""Copies beyond which one round has to do, and --full is needed."""

BOUND_FRACTIONS = (0.02, 0.05, 0.10)

UNITS: dict[str, Callable[[Usage], float]] = {
    "s": lambda used: used.seconds,
    "CPU s": lambda used: used.cpu,
    "MB peak": lambda used: used.megabytes,
}


def our_commands(file: Path) -> dict[str, list[str]]:
    """Our measurements by name."""
    from cache_worthy.advise.sections import skippable

    command = [sys.executable, "-m", "cache_worthy.cli", "analyze", str(file), "--quiet", "--json"]
    return {
        "curve": [sys.executable, __file__, "--curve", str(file)],
        "analyze, sections skipped": [*command, "--skip", ",".join(skippable())],
        "analyze --no-bound": [*command, "--no-bound"],
    }


def curve(file: Path) -> int:
    """Print the LRU curve of a log as JSON: blocks, cost ratio and matched share."""
    from cache_worthy.advise.capacity import measure_curve
    from cache_worthy.logs.session import read_log
    from cache_worthy.measure.replays import Replays
    from cache_worthy.sim.cost import BlockCost, BlockSize
    from cache_worthy.sim.forest import build_forest
    from cache_worthy.sim.trace import paths_of

    log = read_log(file)
    forest = build_forest(paths_of(log.requests))
    size, cost = BlockSize(block_tokens=log.block_tokens), BlockCost(block_tokens=log.block_tokens)
    points = measure_curve(Replays(forest, size, cost)).points
    found = {
        "requests": forest.requests,
        "references": forest.references,
        "distinct": forest.distinct,
        "blocks": [p.blocks for p in points],
        "cost_ratio": [p.cost_ratio for p in points],
        "block_hit_rate": [p.block_hit_rate for p in points],
    }
    print(json.dumps(found))
    return 0


def belady(file: Path, blocks: Sequence[int], *, bypass: bool) -> int:
    """Print Belady's MIN as JSON: by capacity, misses, and hit tokens of the second half."""
    from cache_worthy.logs.session import read_log
    from cache_worthy.sim.blocks import BlockLog, belady_curve
    from cache_worthy.sim.columns import RequestTable

    log = read_log(file)
    table = RequestTable.of(log.requests)
    trace = BlockLog.intern(table.paths, table.lengths, block_size=log.block_tokens, by_path=bypass)
    half = len(log.requests) // 2
    found = {
        capacity: {"misses": r.block_misses, "hit_tokens": sum(r.hit_tokens[half:])}
        for capacity, r in belady_curve(trace, blocks, bypass=bypass).items()
    }
    print(json.dumps(found))
    return 0


def yardstick(file: Path) -> int:
    """``json.loads`` of every line."""
    with open(file, encoding="utf-8") as lines:
        print(sum(len(json.loads(line)["hash_ids"]) for line in lines))
    return 0


def one_size(
    results: Results, file: Path, copies: int, rounds: int, peer: bool
) -> tuple[int, dict[str, Usage]]:
    """Measure one size and keep its figures; the requests, and what each command took."""
    commands = our_commands(file)
    commands["json.loads of the lines"] = [
        sys.executable,
        __file__,
        "--yardstick",
        str(file),
    ]
    points = json.loads(measured(commands["curve"]).stdout)
    requests, blocks = points["requests"], points["blocks"]
    if peer:
        commands[f"{PEER} lru"] = peer_command(file, blocks, "lru")
    found = commands_in_turn(commands, rounds)
    beside = f"{PEER} lru" if peer else "json.loads of the lines"
    base = found[beside]
    results.facts[f"{requests} requests"] = {
        "references": points["references"],
        "distinct_blocks": points["distinct"],
        "capacities_in_blocks": blocks,
        "constructed": copies > 1,
    }
    for name, usage in found.items():
        if name == beside and peer:
            continue
        label = f"{requests:,} requests: {name}"
        for unit, value in UNITS.items():
            results.figure(
                label,
                value(usage),
                unit,
                yardstick=beside,
                yardstick_value=value(base),
                spread=[value(u) for u in usage.rounds],
            )
    if peer:
        theirs = json.loads(found[beside].stdout)["points"]
        results.facts[f"{requests} requests"]["capacities_the_peer_answers"] = len(theirs)
    return requests, found


def cold(results: Results, file: Path, warm: dict[str, Usage]) -> None:
    """The first run of an installation, which compiles its machine code, and a later one."""
    name = "analyze, sections skipped"
    with tempfile.TemporaryDirectory() as empty:
        first = measured(["env", f"NUMBA_CACHE_DIR={empty}", *our_commands(file)[name]])
    for value, base, unit in (
        (first.seconds, warm[name].seconds, "s"),
        (first.megabytes, warm[name].megabytes, "MB peak"),
    ):
        results.figure(
            f"first run of an installation: {name}",
            value,
            unit,
            yardstick="a later run",
            yardstick_value=base,
        )


def belady_command(file: Path, blocks: Sequence[int], *, bypass: bool) -> list[str]:
    """Our curve of Belady's MIN."""
    return [
        sys.executable, __file__, "--belady", str(file),
        "--blocks", ",".join(map(str, blocks)), *(["--bypass"] if bypass else []),
    ]  # fmt: skip


def optimal(
    results: Results, file: Path, requests: int, blocks: Sequence[int], peer: bool, rounds: int
) -> bool:
    """The optimal curve at one size; whether both sides have the same hits."""
    same = "belady_curve with bypass"
    commands = {
        same: belady_command(file, blocks, bypass=True),
        "belady_curve, flat_belady": belady_command(file, blocks, bypass=False),
    }
    beside = f"{PEER} optimal" if peer else ""
    if peer:
        commands[beside] = peer_command(file, blocks, "optimal")
    found = commands_in_turn(commands, rounds)
    base = found.pop(beside, None)
    for name, usage in found.items():
        label = f"{requests:,} requests: {name}"
        for unit, value in UNITS.items():
            results.figure(
                label,
                value(usage),
                unit,
                yardstick=beside,
                yardstick_value=value(base) if base else None,
                spread=[value(u) for u in usage.rounds],
            )
    if base is None:
        return True
    compared, wrong = different_hits(found[same].stdout, base.stdout)
    results.facts[f"{requests} requests"]["capacities_of_the_same_optimal_hits"] = compared
    for line in wrong:
        print(line, file=sys.stderr)
    return not wrong


def bound(results: Results, file: Path) -> None:
    """The certified lower bound beside one optimal curve, which it tells more than."""
    found = [
        measured([
            sys.executable, "-m", "cache_worthy.cli", "bound", str(file), "--quiet", "--json",
            "--capacity-fraction", str(fraction),
        ])
        for fraction in BOUND_FRACTIONS
    ]  # fmt: skip
    curve = next(f for f in results.figures if "belady_curve with bypass" in f["name"])
    results.figure(
        f"certified lower bound, {len(found)} capacities",
        sum(u.seconds for u in found),
        "s",
        yardstick=curve["name"],
        yardstick_value=curve["value"],
    )


def every_size(
    results: Results, file: Path, rounds: int, *, full: bool, peer: bool
) -> dict[str, dict[int, Usage]] | None:
    """Measure every size: what each command took, by name and requests. None if hits differ."""
    everything: dict[str, dict[int, Usage]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for copies in COPIES if full else [n for n in COPIES if n <= MANY]:
            trace = file
            if copies > 1:
                trace = Path(folder) / f"copies_{copies}.jsonl"
                measured([
                    sys.executable, str(SCALED), str(file),
                    "--copies", str(copies), "--interleave", "-o", str(trace),
                ])  # fmt: skip
            some = 1 if copies > MANY else rounds
            requests, found = one_size(results, trace, copies, some, peer)
            for name, usage in found.items():
                everything.setdefault(name, {})[requests] = usage
            blocks = json.loads(found["curve"].stdout)["blocks"]
            if copies <= MANY and not optimal(results, trace, requests, blocks, peer, some):
                return None
            if copies == 1:
                cold(results, trace, found)
                bound(results, trace)
            else:
                trace.unlink()
    return everything


def exponents(results: Results, everything: dict[str, dict[int, Usage]]) -> None:
    """How every command's time and memory grow with the requests."""
    for name, by_size in everything.items():
        sizes = list(by_size)
        for unit, value in UNITS.items():
            values = [value(u) for u in by_size.values()]
            label = f"growth of {unit} with requests: {name}"
            results.figure(f"{label}, {len(sizes)} sizes", growth(sizes, values), "exponent")
            if len(sizes) > 2:
                last = growth(sizes[-2:], values[-2:])
                results.figure(f"{label}, the last two sizes", last, "exponent")


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print; see the module's text."""
    parser = arguments(__doc__)
    parser.add_argument(
        "--rounds", type=positive, default=3, help="of the sizes up to 120 thousand (3)"
    )
    parser.add_argument("--curve", type=Path, metavar="FILE", help="print the LRU curve of FILE")
    parser.add_argument("--yardstick", type=Path, metavar="FILE", help="parse FILE and stop")
    parser.add_argument("--belady", type=Path, metavar="FILE", help="Belady's MIN at --blocks")
    parser.add_argument("--bypass", action="store_true", help="of --belady, see belady_curve")
    parser.add_argument("--blocks", default="", metavar="N,...", help="capacities for --belady")
    args = parser.parse_args(argv)
    if args.curve:
        return curve(args.curve)
    if args.yardstick:
        return yardstick(args.yardstick)
    if args.belady:
        blocks = [int(b) for b in args.blocks.split(",")]
        return belady(args.belady, blocks, bypass=args.bypass)
    file = conversation(args.traces)
    results = Results(
        "scale-full" if args.full else "scale",
        "time and peak memory from file to result over interleaved copies (CONSTRUCTED) of the "
        "conversation trace, beside kvcache-simulator at the same capacities",
    )
    peer = has_peer(results, file)
    for command in our_commands(file).values():
        measured(command)  # what compiles, compiles now; what that takes is measured apart
    everything = every_size(results, file, args.rounds, full=args.full, peer=peer)
    if everything is None:
        return 1
    exponents(results, everything)
    results.write(args.results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
