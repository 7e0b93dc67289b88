"""Headline numbers: the advisor pointed at the traces at hand, and figs/capacity_curve.png.

    python scripts/figures/capacity_curve.py --traces data/raw [--out figs]

The curve drawn is the very object that ``cache-worthy analyze`` prints (``capacity`` of the
analysis), so the two cannot drift.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from published import (
    CONSTRUCTED,
    ROOT,
    arguments,
    at_hand,
    missing_from,
    require_traces,
    trace_file,
)

from cache_worthy.advise.analysis import Analysis, Options, analyze
from cache_worthy.logs.session import read_log
from cache_worthy.report.lines import Axis, Chart, Line, lines_picture


def table(found: dict[str, Analysis]) -> str:
    """The two levers, trace by trace."""
    out = []
    for name, a in found.items():
        if a.capacity is None or a.policy is None:
            continue
        rows = {round(r.fraction, 2): {c.policy: c for c in r.cells} for r in a.policy.rows}
        low, high = rows[0.02]["lru"], rows[0.25]["lru"]
        best = min(rows[0.02].values(), key=lambda c: c.total_cost)
        mark = " (constructed)" if name in CONSTRUCTED else ""
        out += [
            f"{name}{mark}",
            (
                f"  capacity, 2% to 25%, under lru   {low.cost_ratio:.4f} to {high.cost_ratio:.4f}: "
                f"{1 - high.total_cost / low.total_cost:.1%} of lru's cost at 2%"
            ),
            (
                f"  policy, lru to {best.policy} at 2%   {low.cost_ratio:.4f} to "
                f"{best.cost_ratio:.4f}: {1 - best.total_cost / low.total_cost:.1%}"
            ),
            (
                f"  recommended   {a.capacity.recommended_fraction:.2%} of the working set, "
                f"{a.capacity.recommended_cost_ratio:.4f}"
            ),
        ]
    return "\n".join(out)


def draw(found: dict[str, Analysis], file: Path) -> None:
    """The capacity curves with their recommended capacities."""
    lines, notes = [], []
    for colour, (name, a) in enumerate(found.items()):
        if a.capacity is None:
            continue
        points = tuple((100 * p.fraction, p.cost_ratio or 0) for p in a.capacity.points)
        constructed = name in CONSTRUCTED
        label = f"{name} (constructed)" if constructed else name
        lines.append(Line(points, label, colour, dashed=constructed, mark=2.5))
        best = a.capacity.recommended
        there = (100 * best.fraction, best.cost_ratio or 0)
        lines.append(Line((there,), "", colour, mark=5))
        notes.append((*there, f"{best.fraction:.0%}"))
    chart = Chart(
        "Cost against capacity under LRU; large dots: recommended",
        across=Axis(
            "KV cache, percent of the working set", log=True, ticks=(0.2, 1, 2, 5, 10, 25, 100)
        ),
        up=Axis("recomputed FLOPs / compulsory"),
        lines=tuple(lines),
        notes=tuple(notes),
    )
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(lines_picture([chart], str(file)))


def main(argv: list[str] | None = None) -> int:
    """Print the table and draw the figure."""
    parser = arguments(__doc__, check=False)
    parser.add_argument("--out", type=Path, default=ROOT / "figs")
    args = parser.parse_args(argv)
    require_traces(args.traces)
    for trace in missing_from(args.traces):
        print(f"{trace}: not at hand, left out", file=sys.stderr)
    found = {
        trace: analyze(read_log(trace_file(args.traces, trace)), Options())
        for trace in at_hand(args.traces)
    }
    print(table(found))
    draw(found, args.out / "capacity_curve.png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
