"""The published figures that this repository is held against, as data.

Every cell is here once, as the text that was published, so that a check compares what is
printed and a change of one unit in the last digit is a difference. Sources: the trace table of
Mooncake FAST'25 (requests, blocks, lengths), and the reference study of the same traces (structure
and replay). Figures for a trace that is not at hand stay unchecked, and every script says so.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

#: Real traces first; ``synthetic`` is constructed and left out of every verdict.
TRACES = ("conversation", "toolagent", "synthetic")
CONSTRUCTED = ("synthetic",)

Cells = Mapping[str, str]

TRACE_TABLE: Mapping[str, Cells] = {
    "conversation": {
        "requests": "12031",
        "span, hours": "0.98",
        "blocks": "288500",
        "distinct blocks": "182790",
        "block reuse, percent": "36.6",
        "mean input, tokens": "12035",
    },
    "toolagent": {
        "requests": "23608",
        "span, hours": "0.98",
        "blocks": "409616",
        "distinct blocks": "183300",
        "block reuse, percent": "55.3",
        "mean input, tokens": "8596",
    },
    "synthetic": {
        "requests": "3993",
        "span, hours": "0.28",
        "blocks": "121877",
        "distinct blocks": "43924",
        "block reuse, percent": "64.0",
        "mean input, tokens": "15325",
    },
}

STRUCTURE_TABLE: Mapping[str, Cells] = {
    "conversation": {
        "radix nodes": "15787",
        "node size p50, blocks": "2",
        "node size p90, blocks": "31",
        "node size max, blocks": "246",
        "cost per node, p90/p10": "41.3",
        "cost per node, max/min": "825",
        "cost per byte, max/min, 8B": "5.6",
        "cost per byte, max/min, 70B": "3.3",
    },
    "toolagent": {
        "radix nodes": "27253",
        "node size p50, blocks": "2",
        "node size p90, blocks": "17",
        "node size max, blocks": "246",
        "cost per node, p90/p10": "19.8",
        "cost per node, max/min": "825",
        "cost per byte, max/min, 8B": "5.6",
        "cost per byte, max/min, 70B": "3.3",
    },
    "synthetic": {
        "radix nodes": "4177",
        "node size p50, blocks": "1",
        "node size p90, blocks": "37",
        "node size max, blocks": "373",
        "cost per node, p90/p10": "49.7",
        "cost per node, max/min": "1695",
        "cost per byte, max/min, 8B": "8.1",
        "cost per byte, max/min, 70B": "4.6",
    },
}

_POLICIES = ("cost_only", "gdsf", "landlord", "lru", "size_only")
_ROWS: Mapping[tuple[str, int], tuple[str, ...]] = {
    ("conversation", 2): ("1.4113", "1.4197", "1.4288", "1.4413", "1.4368"),
    ("conversation", 10): ("1.2027", "1.1192", "1.1259", "1.1432", "1.2451"),
    ("conversation", 25): ("1.0779", "1.0263", "1.0232", "1.0224", "1.0946"),
    ("toolagent", 2): ("1.3823", "1.3894", "1.3943", "1.4178", "1.4374"),
    ("toolagent", 10): ("1.1635", "1.0799", "1.0855", "1.1049", "1.2519"),
    ("toolagent", 25): ("1.0538", "1.0090", "1.0078", "1.0036", "1.1123"),
    ("synthetic", 2): ("2.6513", "2.6879", "2.7014", "2.7302", "2.8373"),
    ("synthetic", 25): ("1.4706", "1.5022", "1.4926", "1.5621", "2.0462"),
}

#: (trace, percent of the working set, policy) -> cost as a multiple of the compulsory cost.
REPLAY_TABLE: Mapping[tuple[str, int, str], str] = {
    (trace, percent, policy): cell
    for (trace, percent), row in _ROWS.items()
    for policy, cell in zip(_POLICIES, row, strict=True)
}

#: The deepest request in blocks: the least capacity that serves the trace.
FLOORS: Mapping[str, int] = {"conversation": 247, "synthetic": 374}

COMPULSORY_FLOPS: Mapping[str, int] = {
    "conversation": 2170010167351967744,
    "synthetic": 501241100262965248,
}

#: Percent of distinct blocks that are referenced more than once.
REREFERENCED: Mapping[str, str] = {"conversation": "24.2", "toolagent": "21.5"}

#: Percent of the nodes evicted at 2 percent capacity whose only use was their insertion.
EVICTED_ONCE: Mapping[tuple[str, str], str] = {
    ("conversation", "gdsf"): "97.63",
    ("conversation", "freq_landlord"): "97.62",
    ("conversation", "landlord"): "97.42",
    ("conversation", "lru"): "95.73",
}


@dataclass(frozen=True, slots=True)
class BlockFigure:
    """One published value of a replay block by block.

    Parameters
    ----------
    trace, policy : str
        ``ideal`` is the cache that never evicts.
    capacity : int
        Blocks; 0 for ``ideal``.
    quantity : str
        Attribute of `Outcome`.
    cell : str
        As printed: a count, or a rate to its last digit.
    """

    trace: str
    policy: str
    capacity: int
    quantity: str
    cell: str


BLOCK_FIGURES: tuple[BlockFigure, ...] = tuple(
    BlockFigure(*row)
    for row in (
        ("conversation", "ideal", 0, "block_hit_rate", "0.3664"),
        ("conversation", "ideal", 0, "token_hit_rate", "0.3736"),
        ("conversation", "ideal", 0, "request_hit_rate", "0.4094"),
        ("synthetic", "ideal", 0, "block_hit_rate", "0.6396"),
        ("synthetic", "ideal", 0, "token_hit_rate", "0.6512"),
        ("synthetic", "ideal", 0, "request_hit_rate", "0.4315"),
        ("conversation", "vllm_lru", 1000, "token_hit_rate", "0.0454"),
        ("conversation", "vllm_lru", 10000, "token_hit_rate", "0.2157"),
        ("conversation", "vllm_lru", 50000, "token_hit_rate", "0.3615"),
        ("synthetic", "vllm_lru", 1000, "token_hit_rate", "0.0857"),
        ("synthetic", "vllm_lru", 10000, "token_hit_rate", "0.4318"),
        ("synthetic", "vllm_lru", 50000, "token_hit_rate", "0.6512"),
        ("conversation", "vllm_lru", 1000, "block_hit_rate", "0.0445"),
        ("conversation", "vllm_lru", 10000, "block_hit_rate", "0.2116"),
        ("conversation", "vllm_lru", 50000, "block_hit_rate", "0.3546"),
        ("synthetic", "vllm_lru", 1000, "block_hit_rate", "0.0841"),
        ("synthetic", "vllm_lru", 10000, "block_hit_rate", "0.4239"),
        ("synthetic", "vllm_lru", 50000, "block_hit_rate", "0.6396"),
        ("conversation", "vllm_lru", 3656, "block_misses", "265631"),
        ("conversation", "flat_lru", 3656, "block_misses", "265797"),
        ("conversation", "flat_fifo", 3656, "block_misses", "266495"),
        ("conversation", "flat_belady", 3656, "block_misses", "197842"),
        ("conversation", "flat_belady", 3656, "block_references", "288500"),
        ("conversation", "s3fifo", 4096, "total_hit_tokens", "15168640"),
        ("conversation", "s3fifo", 4096, "total_prompt_tokens", "144793823"),
        ("conversation", "s3fifo", 4096, "resident_size", "4096"),
    )
)


def trace_file(folder: Path, trace: str) -> Path:
    """The file of a trace in a folder of traces."""
    return folder / f"{trace}_trace.jsonl"


def at_hand(folder: Path) -> tuple[str, ...]:
    """The traces that the folder holds, in the order of ``TRACES``."""
    return tuple(t for t in TRACES if trace_file(folder, t).is_file())


def missing_from(folder: Path) -> tuple[str, ...]:
    """The traces that the folder lacks."""
    here = at_hand(folder)
    return tuple(t for t in TRACES if t not in here)


def arguments(doc: str | None, *, check: bool = True) -> argparse.ArgumentParser:
    """The options that every script over the traces shares; ``check`` of those that compare."""
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    default = Path(os.environ.get("TRACES", ROOT / "data" / "raw"))
    parser.add_argument(
        "--traces", type=Path, default=default, metavar="DIR", help="default $TRACES or data/raw"
    )
    if check:
        parser.add_argument("--check", action="store_true", help="compare with what was published")
    return parser


def require_traces(folder: Path) -> None:
    """Stop with exit code 2 and one clear message when the folder holds no trace."""
    if not at_hand(folder):
        print(
            f"error: no trace in {folder}: expected {trace_file(folder, TRACES[0]).name} or another"
            " Mooncake trace; run scripts/make/fetch_traces.py or pass --traces DIR",
            file=sys.stderr,
        )
        raise SystemExit(2)


def open_traces(doc: str | None, argv: Sequence[str] | None) -> argparse.Namespace:
    """Parse the shared options alone; the folder holds one trace at least."""
    args = arguments(doc).parse_args(argv)
    require_traces(args.traces)
    return args


class Checks:
    """Comparisons of a script, printed as they are made.

    Examples
    --------
    >>> checks = Checks()
    >>> checks.equal("cells", "1.4413", "1.4413")
    >>> checks.equal("floor", 247, 246)
    FAIL  floor: 247, expected 246
    >>> checks.made, checks.failed, checks.exit_code
    (2, 1, 1)
    """

    def __init__(self) -> None:
        self.made = 0
        self.failed = 0

    def equal(self, what: str, got: object, expected: object) -> None:
        """Compare; a difference is printed and counted."""
        self.made += 1
        if got != expected:
            self.failed += 1
            print(f"FAIL  {what}: {got}, expected {expected}")

    def holds(self, what: str, truth: bool) -> None:
        """A statement that must be true."""
        self.equal(what, truth, True)

    def cells(self, where: str, got: Cells, expected: Cells) -> None:
        """Compare a row of a table cell by cell; both must have the same cells."""
        for name in dict.fromkeys((*expected, *got)):
            self.equal(f"{where}: {name}", got.get(name), expected.get(name))

    @property
    def exit_code(self) -> int:
        """0 if every comparison held, else 1; a script that compared nothing holds nothing."""
        return 1 if self.failed or not self.made else 0

    def summary(self, missing: Iterable[str] = ()) -> None:
        """The last line: how much was compared, and what was not."""
        held = "all hold" if not self.failed else f"{self.failed} FAIL"
        print(f"{self.made} comparisons, {held}" if self.made else "nothing was compared: FAIL")
        for trace in missing:
            print(f"{trace}: not at hand, its published figures are not checked")
