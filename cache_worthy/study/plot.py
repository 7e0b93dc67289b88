"""Figures of the study, redrawn from its CSV. Needs matplotlib (the ``plot`` extra)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cache_worthy.errors import UsageError
from cache_worthy.study.fit import fit_line
from cache_worthy.study.results import LogPoint, Run, medians


def plot(rows: Sequence[Run] | Sequence[LogPoint], figure: Path) -> None:
    """Draw the results of a study, or of a log.

    Raises
    ------
    UsageError
        Without matplotlib, or when the figure cannot be written.
    """
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise UsageError("--plot: needs matplotlib; pip install 'cache-worthy[plot]'") from error
    mpl.use("Agg")
    runs = [r for r in rows if isinstance(r, Run)]
    try:
        if runs:
            _plot_study(runs, figure)
        else:
            _plot_log([r for r in rows if isinstance(r, LogPoint)], figure)
    except (OSError, ValueError) as error:  # ValueError: a suffix matplotlib does not know
        raise UsageError(f"--figure {figure}: cannot write: {error}") from error


def _plot_study(runs: Sequence[Run], figure: Path) -> None:
    from matplotlib import pyplot as plt
    from matplotlib.ticker import LogLocator, NullFormatter

    comparisons = sorted(medians(runs), key=lambda c: c.prefix_tokens)
    repeats = len({r.repeat for r in runs})
    at = [c.prefix_tokens for c in comparisons]
    unit = comparisons[0].ttft_p50_off_s
    fig, (left, right) = plt.subplots(1, 2, figsize=(9.6, 4), layout="constrained")
    for name, color, marker in (("off", "tab:red", "o"), ("on", "tab:blue", "s")):
        for percentile, style in (("p50", "-"), ("p99", "--")):
            values = [getattr(c, f"ttft_{percentile}_{name}_s") / unit for c in comparisons]
            left.plot(
                at, values, style, color=color, marker=marker, label=f"cache {name}, {percentile}"
            )
        right.plot(
            at,
            [getattr(c, f"prefilled_{name}") for c in comparisons],
            color=color,
            marker=marker,
            label=f"cache {name}",
        )
    left.set(
        yscale="log",
        xlabel="shared prefix, tokens",
        ylabel=f"TTFT, times the p50 at prefix {at[0]}, cache off",
        title=f"Time to first token (median of {repeats})",
    )
    left.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    left.yaxis.set_major_formatter("{x:g}")
    left.yaxis.set_minor_formatter(NullFormatter())
    right.set(
        xlabel="shared prefix, tokens",
        ylabel="prompt tokens prefilled",
        title="Work: prompt tokens computed",
        ylim=(0, None),
    )
    for c in comparisons:
        if c.skipped_share:
            right.annotate(
                f"{100 * c.skipped_share:.0f} % skipped",
                (c.prefix_tokens, c.prefilled_on),
                textcoords="offset points",
                xytext=(0, 8),
                ha="right" if c is comparisons[-1] else "center",
                fontsize=8,
            )
    for axes in (left, right):
        axes.set_xticks(at)
        axes.grid(alpha=0.25)
        axes.legend(fontsize=8, frameon=False)
    fig.savefig(figure, dpi=130, metadata={"Software": None})
    plt.close(fig)


def _plot_log(points: Sequence[LogPoint], figure: Path) -> None:
    from matplotlib import pyplot as plt

    fig, axes = plt.subplots(figsize=(7, 4.4), layout="constrained")
    for label, marker, color, chosen in (
        ("nothing cached", "o", "tab:red", [p for p in points if not p.cached_tokens]),
        ("prefix cached", "s", "tab:blue", [p for p in points if p.cached_tokens]),
    ):
        axes.scatter(
            [p.predicted_flops / 1e9 for p in chosen],
            [1e3 * p.prefill_s for p in chosen],
            s=16,
            marker=marker,
            color=color,
            alpha=0.7,
            label=label,
        )
    fit = fit_line(points)
    title = "Measured prefill against predicted FLOPs, one request at a time"
    if fit is not None:
        ends = [min(p.predicted_flops for p in points), max(p.predicted_flops for p in points)]
        axes.plot(
            [e / 1e9 for e in ends],
            [1e3 * (fit.intercept_s + fit.slope_s_per_flop * e) for e in ends],
            color="black",
            linewidth=1,
            label="least squares",
        )
        squared = "--" if fit.r_squared is None else f"{fit.r_squared:.3f}"
        title += (
            f"\nR$^2$ {squared}; |residual| / measured: median {100 * fit.residual_p50:.0f} %, "
            f"p90 {100 * fit.residual_p90:.0f} %"
        )
    axes.set(xlabel="predicted GFLOPs of the computed tokens", ylabel="measured prefill, ms")
    axes.set_title(title, fontsize=10)
    axes.grid(alpha=0.25)
    axes.legend(fontsize=8, frameon=False)
    fig.savefig(figure, dpi=130, metadata={"Software": None})
    plt.close(fig)
