"""The published figures of block-level replay, measured on the traces at hand.

    python scripts/check/blocks.py [--traces DIR] [--check]

Prints ideal hit rates, the misses of the flat policies and of vLLM's queue, and S3-FIFO's hit
tokens, each beside its published value. With --check every one must be equal to its last digit.
All replays are cold and whole, and partial last blocks are kept as blocks. Evidence: rank 1.

Exit codes: 0 every figure holds (or --check was not asked for), 1 one differs, 2 no trace.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from mooncake import block_log
from published import BLOCK_FIGURES, BlockFigure, arguments, trace_file

from cache_worthy.sim.blocks import ideal, replay_blocks
from cache_worthy.sim.outcome import Outcome


def measure(figures: Sequence[BlockFigure], folder: Path) -> list[str]:
    """The value of each figure, printed as the published one is."""
    traces = {
        name: block_log(trace_file(folder, name))
        for name in dict.fromkeys(f.trace for f in figures)
    }
    replays: dict[tuple[str, str, int], Outcome] = {}
    cells = []
    for f in figures:
        key = (f.trace, f.policy, f.capacity)
        if key not in replays:
            trace = traces[f.trace]
            replays[key] = (
                ideal(trace) if f.policy == "ideal" else replay_blocks(trace, f.policy, f.capacity)
            )
        value = getattr(replays[key], f.quantity)
        cells.append(f"{value:.4f}" if isinstance(value, float) else str(value))
    return cells


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table and compare; see the module's text."""
    args = arguments(__doc__).parse_args(argv)
    files = [trace_file(args.traces, t) for t in dict.fromkeys(f.trace for f in BLOCK_FIGURES)]
    missing = [file.name for file in files if not file.exists()]
    if missing:
        print(f"{args.traces} lacks {', '.join(missing)}", file=sys.stderr)
        return 2
    wrong = 0
    print(f"{'trace':13} {'policy':12} {'blocks':>6} {'quantity':20} {'measured':>10} published")
    for f, measured in zip(BLOCK_FIGURES, measure(BLOCK_FIGURES, args.traces), strict=True):
        differs = measured != f.cell
        wrong += differs
        print(
            f"{f.trace:13} {f.policy:12} {f.capacity or '-':>6} {f.quantity:20} "
            f"{measured:>10} {f.cell}{'  DIFFERS' if differs else ''}"
        )
    print(f"{len(BLOCK_FIGURES) - wrong} of {len(BLOCK_FIGURES)} figures reproduced")
    return 1 if args.check and wrong else 0


if __name__ == "__main__":
    sys.exit(main())
