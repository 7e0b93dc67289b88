"""Measured seconds against predicted FLOPs: the least squares line."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cache_worthy.measure.quantiles import quantile
from cache_worthy.study.results import Fit, LogPoint


def fit_line(points: Sequence[LogPoint]) -> Fit | None:
    """Ordinary least squares, every point with the same weight.

    Examples
    --------
    >>> line = fit_line([LogPoint(i, 9, 0, 10 * i, 1.0 + 2 * i) for i in range(4)])
    >>> round(line.intercept_s, 6), round(line.slope_s_per_flop, 6), round(line.r_squared, 6)
    (1.0, 0.2, 1.0)
    """
    if len(points) < 3 or len({p.predicted_flops for p in points}) < 2:
        return None
    flops = np.array([float(p.predicted_flops) for p in points])
    seconds = np.array([p.prefill_s for p in points])
    dx, dy = flops - flops.mean(), seconds - seconds.mean()
    slope = float((dx @ dy) / (dx @ dx))
    intercept = float(seconds.mean() - slope * flops.mean())
    residual = seconds - (intercept + slope * flops)
    total = float(dy @ dy)
    relative = sorted((np.abs(residual) / seconds).tolist())
    return Fit(
        intercept_s=intercept,
        slope_s_per_flop=slope,
        r_squared=1 - float(residual @ residual) / total if total else None,
        residual_p50=quantile(relative, 0.5),
        residual_p90=quantile(relative, 0.9),
        residual_max=relative[-1],
    )
