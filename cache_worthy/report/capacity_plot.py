"""The capacity figure of an analysis for slides and papers. Needs matplotlib (the ``plot`` extra)."""

from __future__ import annotations

import importlib.util
import io
from pathlib import Path

from cache_worthy.advise.analysis import Analysis
from cache_worthy.errors import UsageError
from cache_worthy.report.charts import log_ticks, lower_steps
from cache_worthy.report.layout import gib, percent
from cache_worthy.report.words.sample import least_name

SUFFIXES = (".png", ".svg")
WIDTH, HEIGHT, DPI = 7.2, 4.4, 150


def require_plot(target: str) -> None:
    """Refuse early what :func:`draw` could not draw.

    Raises
    ------
    UsageError
        For another suffix, or without matplotlib.
    """
    if Path(target).suffix.lower() not in SUFFIXES:
        raise UsageError(f"--plot {target}: expected a name that ends in {' or '.join(SUFFIXES)}")
    if importlib.util.find_spec("matplotlib") is None:
        raise UsageError("--plot: needs matplotlib; pip install 'cache-worthy[plot]'")


def draw(a: Analysis, target: str) -> bytes | None:
    """The figure as a file of the kind that ``target`` ends in; None without a curve to draw."""
    if a.capacity is None or a.policy is None:
        return None
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt
    from matplotlib.ticker import NullFormatter

    curve, w = a.capacity, a.workload
    settings = {"svg.hashsalt": "cache-worthy", "svg.fonttype": "none", "font.size": 9}
    with mpl.rc_context(settings):
        fig, axes = plt.subplots(figsize=(WIDTH, HEIGHT), layout="constrained")
        sizes = [p.bytes / 2**30 for p in curve.points]
        if a.bound is not None:
            steps = lower_steps(w.floor_bytes, w.working_set_bytes, a.bound)
            at, values = [c / 2**30 for c, _ in steps], [v for _, v in steps]
            axes.fill_between(at, 1, values, color="tab:green", alpha=0.12, linewidth=0)
            axes.plot(at, values, "--", color="tab:green", linewidth=1.5)
            rows = a.bound.rows
            axes.plot(
                [r.bytes / 2**30 for r in rows],
                [r.lower_bound_ratio for r in rows],
                "s",
                color="tab:green",
                markersize=5,
                label="certified lower bound",
            )
        errors = None if a.sample is None else [e.error for e in a.sample.curve]
        axes.errorbar(
            sizes,
            [p.cost_ratio for p in curve.points],
            yerr=errors,
            fmt="o-",
            color="tab:blue",
            markersize=4,
            elinewidth=0.8,
            label=curve.policy if errors is None else f"{curve.policy}, from a sample",
        )
        cheapest = [(r.bytes, c) for r in a.policy.rows for c in r.cells if c.policy == r.best]
        axes.plot(
            [size / 2**30 for size, _ in cheapest],
            [c.cost_ratio for _, c in cheapest],
            "D",
            color="tab:orange",
            markeredgecolor="white",
            zorder=3,
            markersize=7,
            label="cheapest policy, where all were replayed",
        )
        marks = [
            (least_name(a.sample), curve.points[0].bytes),
            ("recommended", curve.recommended_bytes),
        ]
        if a.parameters.capacity_bytes is not None:
            marks.append(("yours", a.parameters.capacity_bytes))
        for n, (name, size) in enumerate(marks):
            where, height = size / 2**30, 1.01 + 0.05 * n  # above the axes, where no curve can be
            across = axes.get_xaxis_transform()  # x in GiB, y in heights of the axes
            axes.plot(
                [where, where],
                [0, height + 0.03],
                transform=across,
                clip_on=False,
                color="black",
                linewidth=0.8,
                linestyle=":",
            )
            left = size**2 < curve.points[0].bytes * w.working_set_bytes
            axes.text(
                where,
                height,
                f" {name}: {gib(size)} ",
                transform=across,
                ha="left" if left else "right",
                fontsize=8,
            )
        axes.set(
            xscale="log",
            xlabel="KV cache, GiB",
            ylabel="recompute over the compulsory minimum",
        )
        title = f"{Path(a.input.source).name}: {w.requests} requests, {a.parameters.model.name}"
        axes.set_title(
            f"{title}\ncaching removes at most {percent(a.worth.ceiling)} of prefill recompute",
            fontsize=9,
            pad=6 + 14 * len(marks),
            parse_math=False,
        )
        axes.set_xticks(log_ticks(sizes[0], max(sizes[-1], 1.01 * sizes[0]), 9))
        axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set_ylim(bottom=1)
        axes.grid(alpha=0.25)
        fig.legend(fontsize=8, frameon=False, loc="outside lower center", ncols=3)
        out = io.BytesIO()
        metadata = {"Date": None} if target.lower().endswith(".svg") else {"Software": None}
        kind = Path(target).suffix.lower()[1:]
        fig.savefig(out, format=kind, dpi=DPI, metadata=metadata)
        plt.close(fig)
    return out.getvalue()
