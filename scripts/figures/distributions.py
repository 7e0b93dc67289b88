"""Pictures of the structure of the traces at hand.

    python scripts/figures/distributions.py [--traces DIR] [--out DIR]

Writes figs/node_sizes.png, figs/cost_spread.png and figs/subtrees.png; ``scripts/check/structure.py``
has their figures.

Exit codes: 0 drawn, 2 no trace.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from mooncake import load_forest, node_costs, node_sizes
from published import CONSTRUCTED, ROOT, arguments, at_hand, require_traces

from cache_worthy.report.lines import Axis, Chart, Line, lines_picture
from cache_worthy.sim.cost import DEFAULT_MODEL

Series = dict[str, list[float]]


def draw(path: Path, title: str, xlabel: str, series: Series) -> None:
    """The share of nodes at or above each value, both axes logarithmic."""
    lines = []
    for colour, (label, values) in enumerate(series.items()):
        ordered = sorted(values)
        steps: list[tuple[float, float]] = []
        for i, value in enumerate(ordered):
            if not steps or value != steps[-1][0]:
                share = 1 - i / len(ordered)
                steps += [(value, steps[-1][1]), (value, share)] if steps else [(value, share)]
        lines.append(Line(tuple(steps), label, colour))
    up = Axis("share of nodes at or above", log=True)
    chart = Chart(title, across=Axis(xlabel, log=True), up=up, lines=tuple(lines))
    path.write_bytes(lines_picture([chart], str(path)))
    print(f"wrote {path}")


def main(argv: Sequence[str] | None = None) -> int:
    """Draw; see the module's text."""
    parser = arguments(__doc__, check=False)
    parser.add_argument("--out", type=Path, default=ROOT / "figs", metavar="DIR")
    args = parser.parse_args(argv)
    require_traces(args.traces)
    args.out.mkdir(parents=True, exist_ok=True)
    sizes: Series = {}
    spread: Series = {}
    subtrees: Series = {}
    for trace in at_hand(args.traces):
        forest = load_forest(args.traces, trace)
        label = f"{trace} (constructed)" if trace in CONSTRUCTED else trace
        costs, blocks = node_costs(forest, DEFAULT_MODEL), node_sizes(forest)
        density = [cost / size for cost, size in zip(costs, blocks, strict=True)]
        spread[f"{label}, cost"] = [c / min(costs) for c in costs]
        spread[f"{label}, cost per byte"] = [d / min(density) for d in density]
        sizes[label] = [float(s) for s in blocks]
        subtrees[label] = [float(b) for b in forest.subtree_blocks]
    draw(
        args.out / "node_sizes.png",
        "Sizes of radix nodes",
        "blocks of 512 tokens in the node",
        sizes,
    )
    draw(
        args.out / "cost_spread.png",
        f"Recomputation cost of radix nodes, {DEFAULT_MODEL.name} (analytic FLOPs)",
        "multiple of the smallest",
        spread,
    )
    draw(
        args.out / "subtrees.png",
        "What must leave before a node can: blocks at or below it",
        "blocks",
        subtrees,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
