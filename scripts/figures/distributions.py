"""Pictures of the structure of the traces at hand.

    python scripts/figures/distributions.py [--traces DIR] [--out DIR]

Writes figs/node_sizes.png, figs/cost_spread.png and figs/subtrees.png; ``scripts/check/structure.py``
has their figures. The bytes depend on the traces and on matplotlib's version.

Exit codes: 0 drawn, 2 no trace.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from mooncake import load_forest, node_costs, node_sizes
from published import CONSTRUCTED, ROOT, arguments, at_hand, require_traces

from cache_worthy.sim.cost import DEFAULT_MODEL

Series = dict[str, list[float]]


def draw(path: Path, title: str, xlabel: str, series: Series) -> None:
    """The share of nodes at or above each value, both axes logarithmic."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    fig, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
    for label, values in series.items():
        ordered = sorted(values)
        share = [1 - i / len(ordered) for i in range(len(ordered))]
        ax.step(ordered, share, where="post", label=label, linewidth=1.3)
    ax.set(xscale="log", yscale="log", xlabel=xlabel, ylabel="share of nodes at or above")
    ax.set_title(title, fontsize=11)
    ax.grid(alpha=0.25)
    ax.legend(fontsize=8, frameon=False)
    fig.savefig(path, dpi=130, metadata={"Software": None})
    plt.close(fig)
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
