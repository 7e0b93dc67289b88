"""What the study finds: single runs, their medians, the served requests of a log, the fit.

Times are wall-clock seconds of this machine and this small model. They are compared with each
other, never carried over; what carries over is counted (tokens prefilled) or a ratio.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

from cache_worthy.measure.quantiles import quantile
from cache_worthy.sim.cost import Model


@dataclass(frozen=True, slots=True)
class Run:
    """One run of the workload: a line of results.csv."""

    prefix_tokens: int
    """Length of the shared system prompts."""
    prefix_cache: bool
    repeat: int
    """From 1."""
    ttft_p50_s: float
    """Time to first token over the requests, in seconds (Hyndman and Fan's definition 7)."""
    ttft_p99_s: float
    """The same, 99th percentile."""
    tokens_per_s: float
    """Tokens generated over the time from the start to the last finish."""
    prompt_tokens: int
    """Given."""
    prefilled_tokens: int
    """Computed."""
    evicted_blocks: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """Medians over the repeats at one prefix length, cache off and on."""

    prefix_tokens: int
    ttft_p50_off_s: float
    ttft_p50_on_s: float
    ttft_p50_ratio: float
    """Off over on: how many times sooner."""
    ttft_p99_off_s: float
    ttft_p99_on_s: float
    ttft_p99_ratio: float
    """Off over on."""
    tokens_per_s_off: float
    tokens_per_s_on: float
    throughput_ratio: float
    """On over off."""
    prefilled_off: int
    prefilled_on: int
    skipped_share: float
    """Share of the prompt tokens computed without the cache that it saved."""


@dataclass(frozen=True, slots=True)
class Probe:
    """Prompts sent for the first time and then again: medians."""

    prefix_tokens: int
    first_s: float
    second_s: float
    ratio: float
    second_cached_tokens: int
    prompt_tokens: int


@dataclass(frozen=True, slots=True)
class Study:
    """The whole result."""

    model: Model
    requests: int
    tenants: int
    rate: float
    answer_tokens: int
    block_size: int
    pool_blocks: int
    repeats: int
    blas_threads: str
    identical: bool
    """Every answer has the same tokens with the cache off and on, in every repeat."""
    logit_difference: float
    """Largest difference of a logit between the two, over all runs."""
    margin: float
    """Smallest gap between the two leading logits of any token, over all runs."""
    margin_ratio: float | None
    """The smallest gap of a run over its largest difference, least over the runs: above 2 rounding
    cannot have decided a token. None when no logit differs."""
    by_luck: bool
    """Rounding could have decided a token in some run, so that ``identical`` says nothing."""
    distinct_answers: int
    """Fewest different answers in a run; were there but one, ``identical`` would say little."""
    comparisons: list[Comparison]
    probes: list[Probe]
    runs: list[Run] = field(repr=False)


@dataclass(frozen=True, slots=True)
class LogPoint:
    """One request of a log, served alone: a line of log_results.csv."""

    request: int
    """Position in the log, from 1."""
    prompt_tokens: int
    cached_tokens: int
    predicted_flops: int
    """Of the cost model, for the tokens that were computed."""
    prefill_s: float
    """Median over the repeats."""


@dataclass(frozen=True, slots=True)
class Fit:
    """Least squares ``seconds = intercept + slope * FLOPs``, and how far the points lie off."""

    intercept_s: float
    slope_s_per_flop: float
    r_squared: float | None
    """None when all points have the same time."""
    residual_p50: float
    """Quantiles of ``|measured - fitted| / measured``."""
    residual_p90: float
    """Of the same."""
    residual_max: float
    """Of the same."""


@dataclass(frozen=True, slots=True)
class LogStudy:
    """A log through the engine, one request at a time, the cache on."""

    source: str
    sha256: str
    format: str
    model: Model
    requests: int
    empty_prompts: int
    """Requests left out."""
    block_size: int
    pool_blocks: int
    repeats: int
    blas_threads: str
    prompt_tokens: int
    skipped_tokens: int
    """Prompt tokens not computed by the engine."""
    simulated_skipped_tokens: int
    """Those that ``vllm_lru`` skips at the same pool."""
    skips_agree: bool
    """Equal for every request."""
    evicted_blocks: int
    fit: Fit | None
    """None with fewer than three requests or only one amount of work."""
    points: list[LogPoint] = field(repr=False)


@dataclass(frozen=True, slots=True)
class StudyDocument:
    """What ``--json`` writes: of generated requests, or of a log."""

    result: Study | LogStudy


def medians(runs: Sequence[Run]) -> list[Comparison]:
    """Medians over the repeats, by prefix length in the order of first appearance."""
    return [_comparison(prefix, runs) for prefix in dict.fromkeys(r.prefix_tokens for r in runs)]


def _comparison(prefix: int, runs: Sequence[Run]) -> Comparison:
    names = ("ttft_p50_s", "ttft_p99_s", "tokens_per_s", "prefilled_tokens")
    sides = (
        [r for r in runs if (r.prefix_tokens, r.prefix_cache) == (prefix, on)]
        for on in (False, True)
    )
    off, on = ({n: float(median(getattr(r, n) for r in side)) for n in names} for side in sides)
    return Comparison(
        prefix_tokens=prefix,
        ttft_p50_off_s=off["ttft_p50_s"],
        ttft_p50_on_s=on["ttft_p50_s"],
        ttft_p50_ratio=off["ttft_p50_s"] / on["ttft_p50_s"],
        ttft_p99_off_s=off["ttft_p99_s"],
        ttft_p99_on_s=on["ttft_p99_s"],
        ttft_p99_ratio=off["ttft_p99_s"] / on["ttft_p99_s"],
        tokens_per_s_off=off["tokens_per_s"],
        tokens_per_s_on=on["tokens_per_s"],
        throughput_ratio=on["tokens_per_s"] / off["tokens_per_s"],
        prefilled_off=int(off["prefilled_tokens"]),
        prefilled_on=int(on["prefilled_tokens"]),
        skipped_share=1 - on["prefilled_tokens"] / off["prefilled_tokens"],
    )


def fit_line(points: Sequence[LogPoint]) -> Fit | None:
    """Ordinary least squares, every point with the same weight.

    Examples
    --------
    >>> line = fit_line([LogPoint(i, 9, 0, 10 * i, 1.0 + 2 * i) for i in range(4)])
    >>> round(line.intercept_s, 6), round(line.slope_s_per_flop, 6), round(line.r_squared, 6)
    (1.0, 0.2, 1.0)
    """
    import numpy as np

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
