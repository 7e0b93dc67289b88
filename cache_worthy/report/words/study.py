"""The words of ``study``: the constructed workload, and a log."""

from __future__ import annotations

from cache_worthy.numbers import percent
from cache_worthy.report.model import Facts, Heading, Part, Prose, table_of
from cache_worthy.study.results import Comparison, LogStudy, Probe, Study

REPEAT_WARNING = (
    "The second request is a cache hit and nothing else: a harness that sends the same prompt twice "
    "measures this, and says nothing about a cold start."
)

BY_LUCK = (
    "NOT SHOWN: in some run the gap is not above twice the difference, so rounding could have "
    "decided a token, and identical answers would be luck; fewer --requests or other --prefix-lens"
)


def study_words(s: Study) -> list[Part]:
    """Times and tokens with the cache off and on."""
    model = f"{s.model.layers} layers, width {s.model.d_model}"
    setting = (
        ("requests", f"{s.requests} at {s.rate:g}/s, {s.tenants} system prompts"),
        ("engine", f"{model}, {s.model.parameters / 1e6:.1f} million weights"),
        ("pool", f"{s.pool_blocks} blocks of {s.block_size} tokens"),
        ("BLAS threads", s.blas_threads),
        ("output", f"{s.answer_tokens} tokens each; median of {s.repeats}"),
    )
    times = table_of(
        "times",
        s.comparisons,
        caption="Time to first token, cache off -> on",
        columns={
            "shared prefix": _prefix,
            "TTFT p50, ms": lambda c: _times(c.ttft_p50_off_s, c.ttft_p50_on_s),
            "TTFT p99, ms": lambda c: _times(c.ttft_p99_off_s, c.ttft_p99_on_s),
        },
    )
    tokens = table_of(
        "tokens",
        s.comparisons,
        caption="Prompt tokens prefilled, and throughput",
        columns={
            "shared prefix": _prefix,
            "off": lambda c: f"{c.prefilled_off:,}",
            "on": lambda c: f"{c.prefilled_on:,}",
            "skipped": lambda c: percent(c.skipped_share),
            "tokens/s generated": _throughput,
        },
    )
    return [
        Heading("Prefix-cache study"),
        Facts("setting", setting),
        times,
        tokens,
        Facts("answers", tuple(_answers(s))),
        *((Prose(BY_LUCK, note=True),) if s.by_luck else ()),
        *_probes(s),
    ]


def _answers(s: Study) -> list[tuple[str, str]]:
    same = "identical, token by token" if s.identical else "DIFFERENT: the cache changed answers"
    logits = (
        f"largest difference {s.logit_difference:.1e}, smallest gap of the two leading ones "
        f"{s.margin:.1e}"
    )
    if s.margin_ratio is not None:
        logits += f"; in one run {s.margin_ratio:.1f} times"
    return [("answers", f"{same}; {s.distinct_answers} different answers"), ("logits", logits)]


def _probes(s: Study) -> list[Part]:
    if not s.probes:
        return []
    rows = table_of(
        "probes",
        s.probes,
        columns={
            "repeat probe": _prefix,
            "TTFT, first -> second, ms": lambda p: _times(p.first_s, p.second_s),
            "cached of the prompt": lambda p: f"{p.second_cached_tokens:,} of {p.prompt_tokens:,}",
        },
    )
    return [rows, Prose(REPEAT_WARNING)]


def _prefix(row: Comparison | Probe) -> str:
    return f"{row.prefix_tokens} tokens"


def _throughput(c: Comparison) -> str:
    return f"{c.tokens_per_s_off:.0f} -> {c.tokens_per_s_on:.0f} ({c.throughput_ratio:.2f}x)"


def _times(off: float, on: float) -> str:
    return f"{1e3 * off:.1f} -> {1e3 * on:.1f} ({off / on:.2f}x)"


def log_words(s: LogStudy) -> list[Part]:
    """Prefill of a log, measured against predicted FLOPs."""
    left_out = f" ({s.empty_prompts} empty left out)" if s.empty_prompts else ""
    equal = "equal for every request" if s.skips_agree else "NOT equal for every request"
    pool = f"{s.pool_blocks:,} blocks of {s.block_size} tokens; {s.evicted_blocks:,} evicted"
    rows = [
        ("log", s.source),
        ("requests", f"{s.requests:,} one at a time, cache on{left_out}; median of {s.repeats}"),
        ("pool", pool),
        ("prompt tokens", f"{s.prompt_tokens:,}"),
        ("skipped, engine", f"{s.skipped_tokens:,}"),
        ("skipped, vllm_lru", f"{s.simulated_skipped_tokens:,} ({equal})"),
    ]
    head = Heading("Prefill measured against predicted FLOPs")
    if s.fit is None:
        rows.append(("fit", "none: fewer than three requests, or all of equal work"))
        return [head, Facts("log", tuple(rows))]
    f = s.fit
    squared = "--" if f.r_squared is None else f"{f.r_squared:.3f}"
    line = f"seconds = {f.intercept_s:.2e} + {f.slope_s_per_flop:.2e} * FLOPs"
    shares = f"median {percent(f.residual_p50, 0)}, p90 {percent(f.residual_p90, 0)}"
    rows += [
        ("fit", f"{line}, R^2 {squared}"),
        ("scatter", f"|residual| / measured: {shares}, largest {percent(f.residual_max, 0)}"),
    ]
    note = "The fit is of this model, machine and run; no other figure uses it."
    return [head, Facts("log", tuple(rows)), Prose(note)]
