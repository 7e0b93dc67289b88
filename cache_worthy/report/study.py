"""The figures of a study, drawn from its CSV."""

from __future__ import annotations

from collections.abc import Sequence

from cache_worthy.report.lines import Axis, Chart, Line, lines_picture
from cache_worthy.study.results import LogPoint, Run, fit_line, medians


def study_picture(rows: Sequence[Run] | Sequence[LogPoint], target: str) -> bytes:
    """The results of a study, or of a log, as a file of the kind that ``target`` ends in."""
    runs = [r for r in rows if isinstance(r, Run)]
    points = [r for r in rows if isinstance(r, LogPoint)]
    return lines_picture(_study(runs) if runs else [_log(points)], target)


def _study(runs: Sequence[Run]) -> list[Chart]:
    found = sorted(medians(runs), key=lambda c: c.prefix_tokens)
    unit = found[0].ttft_p50_off_s
    times, work = [], []
    for colour, name in enumerate(("off", "on")):
        for percentile in ("p50", "p99"):
            points = tuple(
                (float(c.prefix_tokens), getattr(c, f"ttft_{percentile}_{name}_s") / unit)
                for c in found
            )
            label = f"cache {name}, {percentile}"
            times.append(Line(points, label, colour, dashed=percentile == "p99", mark=3))
        done = tuple(
            (float(c.prefix_tokens), float(getattr(c, f"prefilled_{name}"))) for c in found
        )
        work.append(Line(done, f"cache {name}", colour, mark=3))
    across = Axis("shared prefix, tokens", ticks=tuple(float(c.prefix_tokens) for c in found))
    ttft = f"TTFT, times the p50 at prefix {found[0].prefix_tokens}, cache off"
    title = f"Time to first token (median of {len({r.repeat for r in runs})})"
    skipped = tuple(
        (float(c.prefix_tokens), float(c.prefilled_on), f"{100 * c.skipped_share:.0f} % skipped")
        for c in found
        if c.skipped_share
    )
    return [
        Chart(title, across=across, up=Axis(ttft, log=True), lines=tuple(times)),
        Chart(
            "Work: prompt tokens computed",
            across=across,
            up=Axis("prompt tokens prefilled"),
            lines=tuple(work),
            notes=skipped,
        ),
    ]


def _log(points: Sequence[LogPoint]) -> Chart:
    lines = []
    for colour, label, cached in ((1, "nothing cached", False), (0, "prefix cached", True)):
        chosen = tuple(
            (p.predicted_flops / 1e9, 1e3 * p.prefill_s)
            for p in points
            if bool(p.cached_tokens) == cached
        )
        lines.append(Line(chosen, label, colour, joined=False, mark=3))
    title = "Measured prefill against predicted FLOPs, one request at a time"
    fit = fit_line(points)
    if fit is not None:
        work = [p.predicted_flops for p in points]
        ends = tuple(
            (flops / 1e9, 1e3 * (fit.intercept_s + fit.slope_s_per_flop * flops))
            for flops in (min(work), max(work))
        )
        squared = "--" if fit.r_squared is None else f"{fit.r_squared:.3f}"
        scatter = f"median {100 * fit.residual_p50:.0f} %, p90 {100 * fit.residual_p90:.0f} %"
        label = f"least squares: R² {squared}; |residual| / measured: {scatter}"
        lines.append(Line(ends, label, 4))
    return Chart(
        title,
        across=Axis("predicted GFLOPs of the computed tokens"),
        up=Axis("measured prefill, ms"),
        lines=tuple(lines),
    )
