"""The published figures of block-level replay, measured on the traces at hand.

    python scripts/check/blocks.py [--traces DIR] [--check]

Prints ideal hit rates, the misses of the flat policies and of vLLM's queue, and S3-FIFO's hit
tokens, each beside its published value. With --check every one must be equal to its last digit.
All replays are cold and whole, and partial last blocks are kept as blocks. Evidence: rank 1.

Exit codes: 0 every figure holds (or --check was not asked for), 1 one differs, 2 no trace.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cache_worthy.sim.blocks import BlockReplay, BlockTrace, ideal, replay_blocks
from cache_worthy.sim.trace import load_trace

CONVERSATION = "conversation_trace.jsonl"
SYNTHETIC = "synthetic_trace.jsonl"


@dataclass(frozen=True, slots=True)
class Figure:
    """One published value.

    Parameters
    ----------
    trace, policy : str
        File and policy; ``ideal`` is the cache that never evicts.
    capacity : int
        Blocks; 0 for ``ideal``.
    quantity : str
        Attribute of `BlockReplay`.
    published : str
        As printed: a count, or a rate to its last digit.
    """

    trace: str
    policy: str
    capacity: int
    quantity: str
    published: str


FIGURES = (
    Figure(CONVERSATION, "ideal", 0, "block_hit_rate", "0.3664"),
    Figure(CONVERSATION, "ideal", 0, "token_hit_rate", "0.3736"),
    Figure(CONVERSATION, "ideal", 0, "request_hit_rate", "0.4094"),
    Figure(SYNTHETIC, "ideal", 0, "block_hit_rate", "0.6396"),
    Figure(SYNTHETIC, "ideal", 0, "token_hit_rate", "0.6512"),
    Figure(SYNTHETIC, "ideal", 0, "request_hit_rate", "0.4315"),
    Figure(CONVERSATION, "vllm_lru", 1000, "token_hit_rate", "0.0454"),
    Figure(CONVERSATION, "vllm_lru", 10000, "token_hit_rate", "0.2157"),
    Figure(CONVERSATION, "vllm_lru", 50000, "token_hit_rate", "0.3615"),
    Figure(SYNTHETIC, "vllm_lru", 1000, "token_hit_rate", "0.0857"),
    Figure(SYNTHETIC, "vllm_lru", 10000, "token_hit_rate", "0.4318"),
    Figure(SYNTHETIC, "vllm_lru", 50000, "token_hit_rate", "0.6512"),
    Figure(CONVERSATION, "vllm_lru", 1000, "block_hit_rate", "0.0445"),
    Figure(CONVERSATION, "vllm_lru", 10000, "block_hit_rate", "0.2116"),
    Figure(CONVERSATION, "vllm_lru", 50000, "block_hit_rate", "0.3546"),
    Figure(SYNTHETIC, "vllm_lru", 1000, "block_hit_rate", "0.0841"),
    Figure(SYNTHETIC, "vllm_lru", 10000, "block_hit_rate", "0.4239"),
    Figure(SYNTHETIC, "vllm_lru", 50000, "block_hit_rate", "0.6396"),
    Figure(CONVERSATION, "vllm_lru", 3656, "block_misses", "265631"),
    Figure(CONVERSATION, "flat_lru", 3656, "block_misses", "265797"),
    Figure(CONVERSATION, "flat_fifo", 3656, "block_misses", "266495"),
    Figure(CONVERSATION, "flat_belady", 3656, "block_misses", "197842"),
    Figure(CONVERSATION, "flat_belady", 3656, "block_references", "288500"),
    Figure(CONVERSATION, "s3fifo", 4096, "total_hit_tokens", "15168640"),
    Figure(CONVERSATION, "s3fifo", 4096, "total_prompt_tokens", "144793823"),
    Figure(CONVERSATION, "s3fifo", 4096, "final_cache_blocks", "4096"),
)


def measure(figures: Sequence[Figure], folder: Path) -> list[tuple[Figure, str]]:
    """Each figure with its measured value, printed the way the published one is."""
    traces = {
        name: BlockTrace.from_requests(load_trace(folder / name))
        for name in dict.fromkeys(f.trace for f in figures)
    }
    replays: dict[tuple[str, str, int], BlockReplay] = {}
    rows: list[tuple[Figure, str]] = []
    for f in figures:
        key = (f.trace, f.policy, f.capacity)
        if key not in replays:
            trace = traces[f.trace]
            replays[key] = (
                ideal(trace) if f.policy == "ideal" else replay_blocks(trace, f.policy, f.capacity)
            )
        value = getattr(replays[key], f.quantity)
        rows.append((f, f"{value:.4f}" if isinstance(value, float) else str(value)))
    return rows


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table and compare; see the module's text."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--traces", type=Path, default=Path(os.environ.get("TRACES", "data/raw")))
    parser.add_argument("--check", action="store_true", help="exit 1 when a figure differs")
    args = parser.parse_args(argv)
    missing = [n for n in (CONVERSATION, SYNTHETIC) if not (args.traces / n).exists()]
    if missing:
        print(f"{args.traces} lacks {', '.join(missing)}", file=sys.stderr)
        return 2
    wrong = 0
    print(f"{'trace':13} {'policy':12} {'blocks':>6} {'quantity':20} {'measured':>10} published")
    for f, measured in measure(FIGURES, args.traces):
        differs = measured != f.published
        wrong += differs
        print(
            f"{f.trace.split('_')[0]:13} {f.policy:12} {f.capacity or '-':>6} {f.quantity:20} "
            f"{measured:>10} {f.published}{'  DIFFERS' if differs else ''}"
        )
    print(f"{len(FIGURES) - wrong} of {len(FIGURES)} figures reproduced")
    return 1 if args.check and wrong else 0


if __name__ == "__main__":
    sys.exit(main())
