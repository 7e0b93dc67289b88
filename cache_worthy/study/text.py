"""A study as text for the terminal."""

from __future__ import annotations

from cache_worthy.study.results import LogStudy, Study

REPEAT_WARNING = (
    "The second request is a cache hit and nothing else: a harness that sends the same\n"
    "prompt twice measures this, and says nothing about a cold start."
)

BY_LUCK = (
    "NOT SHOWN: in some run the gap is not above twice the difference, so rounding could have decided\n"
    "a token, and identical answers would be luck; fewer --requests or other --prefix-lens"
)


def study_text(study: Study) -> str:
    """The study as text."""
    s = study
    setting = (
        f"engine: {s.model.layers} layers, width {s.model.d_model}, "
        f"{s.model.parameters / 1e6:.1f} million weights; pool of {s.pool_blocks} blocks of "
        f"{s.block_size} tokens; BLAS threads {s.blas_threads}"
    )
    out = [
        f"Prefix-cache study: {s.requests} requests at {s.rate:g}/s, {s.tenants} system prompts",
        setting,
        f"{s.answer_tokens} output tokens each; median of {s.repeats}, off -> on",
        "",
        f"{'shared prefix':<13} | {'TTFT p50, ms':<28} | {'TTFT p99, ms':<28} | tokens/s",
    ]
    for c in s.comparisons:
        cells = (
            f"{c.prefix_tokens:>6} tokens",
            _times(c.ttft_p50_off_s, c.ttft_p50_on_s),
            _times(c.ttft_p99_off_s, c.ttft_p99_on_s),
            f"{c.tokens_per_s_off:.0f} -> {c.tokens_per_s_on:.0f} ({c.throughput_ratio:.2f}x)",
        )
        out.append(" | ".join(cells))
    out += ["", "shared prefix | prompt tokens prefilled, off |      on | skipped"]
    for c in s.comparisons:
        cells = (
            f"{c.prefix_tokens:>6} tokens",
            f"{c.prefilled_off:>28,}",
            f"{c.prefilled_on:>7,}",
            f"{100 * c.skipped_share:>5.1f} %",
        )
        out.append(" | ".join(cells))
    same = "identical, token by token" if s.identical else "DIFFERENT: the cache changed answers"
    out += ["", f"answers off and on: {same}; {s.distinct_answers} different answers"]
    out.append(
        f"largest logit difference {s.logit_difference:.1e}, smallest gap of the two leading "
        f"logits {s.margin:.1e}"
    )
    if s.margin_ratio is not None:
        out[-1] += f"; in one run {s.margin_ratio:.1f} times"
    if s.by_luck:
        out.append(BY_LUCK)
    if s.probes:
        out += ["", f"repeat probe  | {'TTFT, first -> second, ms':<28} | cached of the prompt"]
        for p in s.probes:
            cached = f"{p.second_cached_tokens:,} of {p.prompt_tokens:,}"
            times = _times(p.first_s, p.second_s)
            out.append(f"{p.prefix_tokens:>6} tokens | {times} | {cached}")
        out.append(REPEAT_WARNING)
    return "\n".join(out) + "\n"


def _times(off: float, on: float) -> str:
    return f"{1e3 * off:>8.1f} -> {1e3 * on:<7.1f} {f'({off / on:.2f}x)':<8}"


def log_text(study: LogStudy) -> str:
    """The study of a log as text."""
    s = study
    left_out = f" ({s.empty_prompts} empty left out)" if s.empty_prompts else ""
    equal = "equal for every request" if s.skips_agree else "NOT equal for every request"
    rows = [
        ("requests", f"{s.requests:,} one at a time, cache on{left_out}; median of {s.repeats}"),
        (
            "pool",
            f"{s.pool_blocks:,} blocks of {s.block_size} tokens; {s.evicted_blocks:,} evicted",
        ),
        ("prompt tokens", f"{s.prompt_tokens:,}"),
        ("skipped, engine", f"{s.skipped_tokens:,}"),
        ("skipped, vllm_lru", f"{s.simulated_skipped_tokens:,} ({equal})"),
    ]
    if s.fit is None:
        rows.append(("fit", "none: fewer than three requests, or all of equal work"))
    else:
        f = s.fit
        squared = "--" if f.r_squared is None else f"{f.r_squared:.3f}"
        line = f"seconds = {f.intercept_s:.2e} + {f.slope_s_per_flop:.2e} * FLOPs"
        shares = f"median {100 * f.residual_p50:.0f} %, p90 {100 * f.residual_p90:.0f} %"
        rows += [
            ("fit", f"{line}, R^2 {squared}"),
            ("scatter", f"|residual| / measured: {shares}, largest {100 * f.residual_max:.0f} %"),
        ]
    out = [f"Prefill measured against predicted FLOPs: {s.source}"]
    out += [f"{name:<18}{text}" for name, text in rows]
    if s.fit is not None:
        out.append("The fit is of this model, machine and run; no other figure uses it.")
    return "\n".join(out) + "\n"
