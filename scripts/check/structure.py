"""Structure and cost spread of the traces at hand beside the published figures.

    python scripts/check/structure.py [--traces DIR] [--check]

Prints the structure table: radix nodes, their sizes, how far cost per node and cost per byte
spread. With --check every cell must equal the published one. ``scripts/figures/distributions.py``
draws the same.

Evidence: rank 1, the published structure table. Exit codes: 0 holds, 1 a cell differs, 2 no trace.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from mooncake import load_forest, node_sizes, rereferenced, structure_cells
from published import REREFERENCED, STRUCTURE_TABLE, Checks, at_hand, missing_from, open_traces


def main(argv: Sequence[str] | None = None) -> int:
    """Print and compare; see the module's text."""
    args = open_traces(__doc__, argv)
    checks = Checks()
    for trace in at_hand(args.traces):
        forest = load_forest(args.traces, trace)
        cells = structure_cells(forest)
        print(f"{trace}: " + "; ".join(f"{name} {cell}" for name, cell in cells.items()))
        again = rereferenced(forest)
        top = max(forest.subtree_blocks)
        print(
            f"{trace}: {again} percent of distinct blocks referenced again; largest subtree "
            f"{top} of {forest.distinct} blocks; most shared node in {max(forest.refs)} requests"
        )
        if args.check:
            checks.cells(trace, cells, STRUCTURE_TABLE[trace])
            if trace in REREFERENCED:
                checks.equal(f"{trace}: referenced again, percent", again, REREFERENCED[trace])
            blocks = sum(node_sizes(forest))
            checks.equal(f"{trace}: node sizes summed", blocks, forest.distinct)
    if not args.check:
        return 0
    checks.summary(missing_from(args.traces))
    return checks.exit_code


if __name__ == "__main__":
    sys.exit(main())
