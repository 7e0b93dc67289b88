"""Structure and cost spread of the traces at hand: the published figures, and pictures of them.

    python scripts/figures/distributions.py [--traces DIR] [--check] [--out DIR] [--no-figures]

Prints the structure table (radix nodes, their sizes, how far cost per node and cost per byte
spread) and writes figs/node_sizes.png, figs/cost_spread.png and figs/subtrees.png. With --check
every cell must equal the published one.

Ratios of integers are exact. Quantiles are nearest-rank (the smallest value that at least the
given share of the nodes do not exceed). "max/min" of the cost per node is rounded up: the
published 825 and 1,695 are 824.69 and 1694.49.

Evidence: rank 1, the published structure table. Exit codes: 0 holds, 1 a cell differs, 2 no trace.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from fractions import Fraction
from math import ceil
from pathlib import Path

from characterize import fixed
from published import (
    REREFERENCED,
    ROOT,
    STRUCTURE_TABLE,
    Checks,
    arguments,
    at_hand,
    missing_from,
    require_traces,
    trace_file,
)

from cache_worthy.sim.cost import DEFAULT_MODEL, MODELS, Model, segment_cost
from cache_worthy.sim.forest import PrefixForest, build_forest
from cache_worthy.sim.trace import BLOCK_SIZE_TOKENS, load_trace, paths_of


def quantile(ordered: Sequence[int], percent: int) -> int:
    """Nearest-rank quantile of a sorted sequence.

    Examples
    --------
    >>> quantile([1, 2, 3, 4], 50), quantile([1, 2, 3, 4], 51), quantile([1, 2, 3, 4], 100)
    (2, 3, 4)
    """
    return ordered[max(0, ceil(Fraction(percent * len(ordered), 100)) - 1)]


def node_sizes(forest: PrefixForest) -> list[int]:
    """Blocks of every radix node."""
    return [e - s for s, e in zip(forest.start, forest.end, strict=True)]


def node_costs(forest: PrefixForest, model: Model) -> list[int]:
    """FLOPs of recomputing every radix node below its cached ancestors."""
    b = BLOCK_SIZE_TOKENS
    return [
        segment_cost(s * b, e * b, model) for s, e in zip(forest.start, forest.end, strict=True)
    ]


def per_byte_spread(forest: PrefixForest, model: Model) -> Fraction:
    """Largest over smallest cost per byte of a radix node; bytes cancel to blocks."""
    pairs = zip(node_costs(forest, model), node_sizes(forest), strict=True)
    density = [Fraction(cost, size) for cost, size in pairs]
    return max(density) / min(density)


def measure(forest: PrefixForest) -> dict[str, str]:
    """The cells of the structure table for one trace."""
    sizes = sorted(node_sizes(forest))
    costs = sorted(node_costs(forest, DEFAULT_MODEL))
    spread = {name: per_byte_spread(forest, model) for name, model in MODELS.items()}
    return {
        "radix nodes": str(forest.nodes),
        "node size p50, blocks": str(quantile(sizes, 50)),
        "node size p90, blocks": str(quantile(sizes, 90)),
        "node size max, blocks": str(sizes[-1]),
        "cost per node, p90/p10": fixed(quantile(costs, 90), quantile(costs, 10), 1),
        "cost per node, max/min": str(ceil(Fraction(costs[-1], costs[0]))),
        "cost per byte, max/min, 8B": fixed(*spread["Llama-3.1-8B"].as_integer_ratio(), 1),
        "cost per byte, max/min, 70B": fixed(*spread["Llama-3.1-70B"].as_integer_ratio(), 1),
    }


def rereferenced(forest: PrefixForest) -> str:
    """Percent of the distinct blocks that more than one request asks for."""
    often = sum(
        size for size, refs in zip(node_sizes(forest), forest.refs, strict=True) if refs > 1
    )
    return fixed(100 * often, forest.distinct, 1)


def plot(forests: dict[str, PrefixForest], out: Path) -> list[Path]:
    """Write the three figures. The bytes depend on the trace and on matplotlib's version."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    def figure(name: str, title: str, xlabel: str, series: dict[str, list[float]]) -> Path:
        fig, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
        for label, values in series.items():
            ordered = sorted(values)
            share = [1 - i / len(ordered) for i in range(len(ordered))]
            ax.step(ordered, share, where="post", label=label, linewidth=1.3)
        ax.set(xscale="log", yscale="log", xlabel=xlabel, ylabel="share of nodes at or above")
        ax.set_title(title, fontsize=11)
        ax.grid(alpha=0.25)
        ax.legend(fontsize=8, frameon=False)
        path = out / name
        fig.savefig(path, dpi=130, metadata={"Software": None})
        plt.close(fig)
        return path

    def labelled(trace: str, what: str = "") -> str:
        kind = " (constructed)" if trace == "synthetic" else ""
        return f"{trace}{kind}{what}"

    out.mkdir(parents=True, exist_ok=True)
    spread: dict[str, list[float]] = {}
    for trace, forest in forests.items():
        costs = node_costs(forest, DEFAULT_MODEL)
        sizes = node_sizes(forest)
        density = [cost / size for cost, size in zip(costs, sizes, strict=True)]
        spread[labelled(trace, ", cost")] = [c / min(costs) for c in costs]
        spread[labelled(trace, ", cost per byte")] = [d / min(density) for d in density]
    return [
        figure(
            "node_sizes.png",
            "Sizes of radix nodes",
            "blocks of 512 tokens in the node",
            {labelled(t): [float(s) for s in node_sizes(f)] for t, f in forests.items()},
        ),
        figure(
            "cost_spread.png",
            f"Recomputation cost of radix nodes, {DEFAULT_MODEL.name} (analytic FLOPs)",
            "multiple of the smallest",
            spread,
        ),
        figure(
            "subtrees.png",
            "What must leave before a node can: blocks at or below it",
            "blocks",
            {labelled(t): [float(b) for b in f.subtree_blocks()] for t, f in forests.items()},
        ),
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Print, draw and compare; see the module's text."""
    parser = arguments(__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "figs", metavar="DIR")
    parser.add_argument("--no-figures", action="store_true", help="numbers only")
    args = parser.parse_args(argv)
    require_traces(args.traces)
    checks = Checks()
    forests = {
        trace: build_forest(paths_of(load_trace(trace_file(args.traces, trace))))
        for trace in at_hand(args.traces)
    }
    for trace, forest in forests.items():
        cells = measure(forest)
        print(f"{trace}: " + "; ".join(f"{name} {cell}" for name, cell in cells.items()))
        again = rereferenced(forest)
        top = max(forest.subtree_blocks())
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
    if not args.no_figures:
        for path in plot(forests, args.out):
            print(f"wrote {path}")
    if not args.check:
        return 0
    checks.summary(missing_from(args.traces))
    return checks.exit_code


if __name__ == "__main__":
    sys.exit(main())
