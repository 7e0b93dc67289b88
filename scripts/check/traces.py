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
from decimal import ROUND_HALF_EVEN, Decimal
from pathlib import Path

from published import TRACE_TABLE, Checks, at_hand, missing_from, open_traces, trace_file

from cache_worthy.sim.forest import build_forest
from cache_worthy.sim.trace import load_trace, paths_of


def fixed(numerator: int, denominator: int, digits: int) -> str:
    """A quotient of integers as text with ``digits`` decimals, rounded exactly.

    Examples
    --------
    >>> fixed(2, 3, 2), fixed(5, 1, 0)
    ('0.67', '5')
    """
    unit = Decimal(1).scaleb(-digits)
    quotient = Decimal(numerator) / Decimal(denominator)
    return str(quotient.quantize(unit, ROUND_HALF_EVEN))


def measure(file: Path) -> tuple[dict[str, str], int]:
    """The cells of one trace, and its number of distinct timestamps. Time: linear."""
    requests = load_trace(file)
    forest = build_forest(paths_of(requests))
    if forest.reinterned:
        raise SystemExit(f"{file}: an id occurs under two parents; this is no Mooncake trace")
    times = [int(r.timestamp) for r in requests if r.timestamp is not None]
    cells = {
        "requests": str(len(requests)),
        "span, hours": fixed(max(times) - min(times), 3_600_000, 2),
        "blocks": str(forest.references),
        "distinct blocks": str(forest.distinct),
        "block reuse, percent": fixed(
            100 * (forest.references - forest.distinct), forest.references, 1
        ),
        "mean input, tokens": fixed(sum(r.input_length for r in requests), len(requests), 0),
    }
    return cells, len(set(times))


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table and compare; see the module's text."""
    args = open_traces(__doc__, argv)
    checks = Checks()
    for trace in at_hand(args.traces):
        cells, stamps = measure(trace_file(args.traces, trace))
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
