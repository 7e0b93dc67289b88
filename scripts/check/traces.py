"""The published trace table, measured on the traces at hand.

    python scripts/check/traces.py [--traces DIR] [--check]

Prints requests, span, blocks, reuse and mean input of every trace in DIR (default data/raw), and
how coarse its timestamps are. With --check every cell must equal the published one to its last
digit. Evidence: rank 1, figures that Mooncake FAST'25 publishes about its own traces.

Exit codes: 0 all cells hold, 1 a cell differs, 2 no trace is there.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from mooncake import trace_cells
from published import TRACE_TABLE, Checks, at_hand, missing_from, open_traces, trace_file


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table and compare; see the module's text."""
    args = open_traces(__doc__, argv)
    checks = Checks()
    for trace in at_hand(args.traces):
        cells, stamps = trace_cells(trace_file(args.traces, trace))
        print(f"{trace}: " + ", ".join(f"{name} {cell}" for name, cell in cells.items()))
        print(f"{trace}: {stamps} distinct timestamps in {cells['requests']} requests")
        if args.check:
            checks.cells(trace, cells, TRACE_TABLE[trace])
    if not args.check:
        return 0
    checks.summary(missing_from(args.traces))
    return checks.exit_code


if __name__ == "__main__":
    sys.exit(main())
