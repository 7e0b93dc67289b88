"""The prefix-cache study: the same requests through a real engine, the cache off and on.

Times are wall-clock seconds of this machine and this small model. They are compared with each
other, never carried over; what carries over is counted (tokens prefilled) or a ratio.
"""

from __future__ import annotations

import csv
import io
import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, field, fields
from hashlib import blake2b
from itertools import accumulate
from pathlib import Path
from statistics import median

import numpy as np

from cache_worthy.errors import UsageError
from cache_worthy.logs.log import Log
from cache_worthy.measure.quantiles import quantile
from cache_worthy.sim.cost import Model, segment_cost
from cache_worthy.sim.serving import (
    BLOCK_SIZE,
    STUDY_MODEL,
    Engine,
    EngineRequest,
    Served,
    Transformer,
    agreement,
    chat_workload,
    predicted_skips,
)
from cache_worthy.sim.serving.workload import ANSWER_TOKENS, TURN_REQUESTS, TURN_TOKENS
from cache_worthy.sim.trace import BlockId

Step = Callable[[str], None]

#: Prompts of the repeat probe at each prefix length, for every repeat.
PROBES = 3

#: Tokens of prompts and answers the engine takes on, every run counted: minutes, cached or not.
MAX_TOKENS = 1_000_000

#: Longest prompt: attention is quadratic, and its scores take half a gibibyte here.
MAX_CONTEXT = 32_768

#: Seconds that the requests of all runs may take to arrive.
MAX_ARRIVALS_S = 3_600.0

#: Two gibibytes of the study's model: every token of `MAX_TOKENS` at once.
MAX_POOL_BLOCKS = 65_536

#: Tokens of the longest user turn, see `cache_worthy.sim.serving.workload.turn_lengths`.
_LONGEST_TURN = 23

#: Room for every request of the study at once, up to prefixes of 256 tokens.
DEFAULT_POOL_BLOCKS = 1024

REPEAT_WARNING = (
    "The second request is a cache hit and nothing else: a harness that sends the same\n"
    "prompt twice measures this, and says nothing about a cold start."
)

BY_LUCK = (
    "NOT SHOWN: in some run the gap is not above twice the difference, so rounding could have decided\n"
    "a token, and identical answers would be luck; fewer --requests or other --prefix-lens"
)


@dataclass(frozen=True, slots=True)
class Run:
    """One run of the workload: a line of results.csv.

    Attributes
    ----------
    prefix_tokens : int
        Length of the shared system prompts.
    prefix_cache : bool
    repeat : int
        From 1.
    ttft_p50_s, ttft_p99_s : float
        Time to first token over the requests, in seconds (Hyndman and Fan's definition 7).
    tokens_per_s : float
        Tokens generated over the time from the start to the last finish.
    prompt_tokens, prefilled_tokens : int
        Given, and computed.
    evicted_blocks : int
    """

    prefix_tokens: int
    prefix_cache: bool
    repeat: int
    ttft_p50_s: float
    ttft_p99_s: float
    tokens_per_s: float
    prompt_tokens: int
    prefilled_tokens: int
    evicted_blocks: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """Medians over the repeats at one prefix length, cache off and on.

    Attributes
    ----------
    ttft_p50_ratio, ttft_p99_ratio : float
        Off over on: how many times sooner.
    throughput_ratio : float
        On over off.
    skipped_share : float
        Share of the prompt tokens computed without the cache that it saved.
    """

    prefix_tokens: int
    ttft_p50_off_s: float
    ttft_p50_on_s: float
    ttft_p50_ratio: float
    ttft_p99_off_s: float
    ttft_p99_on_s: float
    ttft_p99_ratio: float
    tokens_per_s_off: float
    tokens_per_s_on: float
    throughput_ratio: float
    prefilled_off: int
    prefilled_on: int
    skipped_share: float


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
    """The whole result.

    Attributes
    ----------
    identical : bool
        Every answer has the same tokens with the cache off and on, in every repeat.
    logit_difference, margin : float
        Largest difference of a logit between the two, and the smallest gap between the two leading
        logits of any token, over all runs.
    margin_ratio : float or None
        The smallest gap of a run over its largest difference, least over the runs: above 2 rounding
        cannot have decided a token. None when no logit differs.
    by_luck : bool
        Rounding could have decided a token in some run, so that ``identical`` says nothing.
    distinct_answers : int
        Fewest different answers in a run; were there but one, ``identical`` would say little.
    """

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
    logit_difference: float
    margin: float
    margin_ratio: float | None
    by_luck: bool
    distinct_answers: int
    comparisons: list[Comparison]
    probes: list[Probe]
    runs: list[Run] = field(repr=False)


def measure(
    prefix_lens: Sequence[int],
    *,
    requests: int,
    tenants: int,
    rate: float,
    pool_blocks: int,
    repeats: int,
    probe: bool,
    blas_threads: str,
    step: Step,
    model: Model = STUDY_MODEL,
) -> Study:
    """Run the study.

    Within a repeat the cache is off and on back to back for every prefix length, in alternating
    order, so that a slow spell of the machine falls on both.

    Raises
    ------
    UsageError
        If the runs are more than `MAX_TOKENS` tokens or `MAX_ARRIVALS_S` seconds, a prompt is longer
        than `MAX_CONTEXT`, or the pool larger than `MAX_POOL_BLOCKS`.
    CapacityError
        If a request can never fit in the pool.
    """
    _require_bounded(prefix_lens, requests, rate, pool_blocks, repeats, probe)
    transformer = Transformer(model)
    vocabulary = model.vocabulary
    _warm(transformer)
    runs: list[Run] = []
    agreed = []
    for repeat in range(1, repeats + 1):
        for prefix in prefix_lens:
            load = chat_workload(
                prefix, vocabulary=vocabulary, requests=requests, tenants=tenants, rate=rate
            )
            both: dict[bool, list[Served]] = {}
            for on in (False, True) if repeat % 2 else (True, False):
                step(f"repeat {repeat}/{repeats}, prefix {prefix}, cache {'on' if on else 'off'}")
                engine = Engine(transformer, pool_blocks, prefix_cache=on)
                both[on] = engine.serve(load)
                runs.append(_run(prefix, on, repeat, both[on], engine.pool.evictions))
            agreed.append(agreement(both[False], both[True]))
    return Study(
        model=model,
        requests=requests,
        tenants=tenants,
        rate=rate,
        answer_tokens=ANSWER_TOKENS,
        block_size=BLOCK_SIZE,
        pool_blocks=pool_blocks,
        repeats=repeats,
        blas_threads=blas_threads,
        identical=all(a.identical for a in agreed),
        logit_difference=max(a.logit_difference for a in agreed),
        margin=min(a.margin for a in agreed),
        margin_ratio=min(
            (a.margin / a.logit_difference for a in agreed if a.logit_difference), default=None
        ),
        by_luck=any(a.by_luck for a in agreed),
        distinct_answers=min(a.distinct_answers for a in agreed),
        comparisons=compare(runs),
        probes=[_probe(transformer, n, pool_blocks, repeats, step) for n in prefix_lens]
        if probe
        else [],
        runs=runs,
    )


def _require_bounded(
    prefix_lens: Sequence[int],
    requests: int,
    rate: float,
    pool_blocks: int,
    repeats: int,
    probe: bool,
) -> None:
    """Refuse what would run for hours, before anything is built."""
    _require_pool(pool_blocks)
    longest = max(prefix_lens) + _LONGEST_TURN
    if longest > MAX_CONTEXT:
        raise UsageError(
            f"--prefix-lens {max(prefix_lens)}: prompts of up to {_count(longest)} tokens; the engine "
            f"takes at most {MAX_CONTEXT:,}"
        )
    turns = TURN_TOKENS * requests // TURN_REQUESTS
    tokens = sum(2 * repeats * (turns + requests * (n + ANSWER_TOKENS)) for n in prefix_lens)
    if probe:
        tokens += sum((2 * PROBES * repeats + 1) * (n + _LONGEST_TURN) for n in prefix_lens)
    if tokens > MAX_TOKENS:
        raise UsageError(
            f"{_count(tokens)} tokens of prompts and answers over all runs; the engine computes "
            f"thousands a second, so expected at most {MAX_TOKENS:,}; fewer --requests, --repeats "
            f"or --prefix-lens"
        )
    seconds = 2 * repeats * len(prefix_lens) * (requests - 1) / rate
    if seconds > MAX_ARRIVALS_S:
        raise UsageError(
            f"--rate {rate:g}: the requests of all runs take {seconds:.2g} s to arrive; expected at "
            f"most {MAX_ARRIVALS_S:,.0f}; a higher --rate or fewer --requests"
        )


def _require_pool(blocks: int) -> None:
    if blocks > MAX_POOL_BLOCKS:
        raise UsageError(
            f"--pool-blocks {_count(blocks)}: expected at most {MAX_POOL_BLOCKS:,}, which hold all "
            f"that the engine takes on"
        )


def _count(number: int) -> str:
    """With commas; a number of absurd length by its size alone."""
    return f"{number:,}" if number < 10**15 else "over 10^15"


def _warm(transformer: Transformer) -> None:
    """The first use of BLAS is no measurement."""
    load = chat_workload(64, vocabulary=transformer.model.vocabulary, requests=2, rate=1e6)
    Engine(transformer, 64, prefix_cache=True).serve(load)


def _run(prefix: int, on: bool, repeat: int, served: list[Served], evicted: int) -> Run:
    waits = sorted(s.time_to_first_token for s in served)
    return Run(
        prefix_tokens=prefix,
        prefix_cache=on,
        repeat=repeat,
        ttft_p50_s=quantile(waits, 0.5),
        ttft_p99_s=quantile(waits, 0.99),
        tokens_per_s=sum(len(s.tokens) for s in served) / max(s.finished for s in served),
        prompt_tokens=sum(s.prompt_tokens for s in served),
        prefilled_tokens=sum(s.prefilled_tokens for s in served),
        evicted_blocks=evicted,
    )


def _probe(
    transformer: Transformer, prefix: int, pool_blocks: int, repeats: int, step: Step
) -> Probe:
    """Prompts that share nothing, each sent twice in a row, after one that warms the processor."""
    step(f"repeat probe, prefix {prefix}")
    count = PROBES * repeats
    warm, *prompts = chat_workload(
        prefix,
        vocabulary=transformer.model.vocabulary,
        requests=count + 1,
        tenants=count + 1,
        rate=1e9,
        answer_tokens=1,
    )
    engine = Engine(transformer, pool_blocks, prefix_cache=True)
    engine.serve([warm])
    pairs = [engine.serve([p]) + engine.serve([p]) for p in prompts]
    a, b = (median(pair[i].time_to_first_token for pair in pairs) for i in (0, 1))
    cached = int(median(pair[1].cached_tokens for pair in pairs))
    return Probe(prefix, a, b, a / b, cached, int(median(len(p.prompt) for p in prompts)))


def compare(runs: Sequence[Run]) -> list[Comparison]:
    """Medians by prefix length, in the order of first appearance."""

    def middle(name: str, prefix: int, on: bool) -> float:
        chosen = [r for r in runs if (r.prefix_tokens, r.prefix_cache) == (prefix, on)]
        return float(median(getattr(r, name) for r in chosen))

    out = []
    for prefix in dict.fromkeys(r.prefix_tokens for r in runs):
        p50, p99, rate, filled = (
            (middle(name, prefix, False), middle(name, prefix, True))
            for name in ("ttft_p50_s", "ttft_p99_s", "tokens_per_s", "prefilled_tokens")
        )
        out.append(
            Comparison(
                prefix_tokens=prefix,
                ttft_p50_off_s=p50[0],
                ttft_p50_on_s=p50[1],
                ttft_p50_ratio=p50[0] / p50[1],
                ttft_p99_off_s=p99[0],
                ttft_p99_on_s=p99[1],
                ttft_p99_ratio=p99[0] / p99[1],
                tokens_per_s_off=rate[0],
                tokens_per_s_on=rate[1],
                throughput_ratio=rate[1] / rate[0],
                prefilled_off=int(filled[0]),
                prefilled_on=int(filled[1]),
                skipped_share=1 - filled[1] / filled[0],
            )
        )
    return out


@dataclass(frozen=True, slots=True)
class LogPoint:
    """One request of a log, served alone: a line of log_results.csv.

    Attributes
    ----------
    request : int
        Position in the log, from 1.
    predicted_flops : int
        Of the cost model, for the tokens that were computed.
    prefill_s : float
        Median over the repeats.
    """

    request: int
    prompt_tokens: int
    cached_tokens: int
    predicted_flops: int
    prefill_s: float


@dataclass(frozen=True, slots=True)
class Fit:
    """Least squares ``seconds = intercept + slope * FLOPs``, and how far the points lie off.

    Attributes
    ----------
    r_squared : float or None
        None when all points have the same time.
    residual_p50, residual_p90, residual_max : float
        Quantiles of ``|measured - fitted| / measured``.
    """

    intercept_s: float
    slope_s_per_flop: float
    r_squared: float | None
    residual_p50: float
    residual_p90: float
    residual_max: float


@dataclass(frozen=True, slots=True)
class LogStudy:
    """A log through the engine, one request at a time, the cache on.

    Attributes
    ----------
    skipped_tokens, simulated_skipped_tokens : int
        Prompt tokens not computed: by the engine, and by ``vllm_lru`` at the same pool.
    skips_agree : bool
        Equal for every request.
    fit : Fit or None
        None with fewer than three requests or only one amount of work.
    empty_prompts : int
        Requests left out.
    """

    source: str
    sha256: str
    format: str
    model: Model
    requests: int
    empty_prompts: int
    block_size: int
    pool_blocks: int
    repeats: int
    blas_threads: str
    prompt_tokens: int
    skipped_tokens: int
    simulated_skipped_tokens: int
    skips_agree: bool
    evicted_blocks: int
    fit: Fit | None
    points: list[LogPoint] = field(repr=False)


@dataclass(frozen=True, slots=True)
class StudyDocument:
    """What ``--json`` writes: of generated requests, or of a log."""

    result: Study | LogStudy


def block_text(block: BlockId, tokens: int, vocabulary: int) -> list[int]:
    """Stand-in tokens for a block of a log: random, the same for the same id.

    Examples
    --------
    >>> block_text(7, 3, 512) == block_text(7, 4, 512)[:3], block_text(8, 3, 512)[0] < 512
    (True, True)
    """
    seed = blake2b(repr(block).encode(), digest_size=8).digest()
    rng = np.random.default_rng(int.from_bytes(seed, "big"))
    drawn: list[int] = rng.integers(0, vocabulary, tokens).tolist()
    return drawn


def measure_log(
    log: Log,
    *,
    limit: int | None,
    pool_blocks: int | None,
    repeats: int,
    blas_threads: str,
    step: Step,
    model: Model = STUDY_MODEL,
) -> LogStudy:
    """Serve a log's prompts one at a time and set seconds beside predicted FLOPs.

    The engine has no tokenizer and needs none: each block of the log becomes tokens drawn from its
    id, so that two prompts share tokens exactly where the log says they share blocks.

    Parameters
    ----------
    limit : int or None
        Take the first requests only.
    pool_blocks : int or None
        None: 1,024, or the longest prompt's if that is more.

    Raises
    ------
    UsageError
        If no prompt has a token, one has more than `MAX_CONTEXT`, or all of them more than
        `MAX_TOKENS` over the repeats; or if the pool is larger than `MAX_POOL_BLOCKS`.
    CapacityError
        If a prompt can never fit in the given pool.
    """
    chosen = log.requests[:limit]
    _require_affordable(log.source, [r.input_length for r in chosen], repeats)
    if pool_blocks is not None:
        _require_pool(pool_blocks)
    requests = []
    numbers = []
    for number, r in enumerate(chosen, 1):
        tokens = [t for b in r.hash_ids for t in block_text(b, log.block_tokens, model.vocabulary)]
        prompt = tuple(tokens[: r.input_length])
        if prompt:
            numbers.append(number)
            requests.append(EngineRequest(prompt, 1))
    if not requests:
        raise UsageError(f"{log.source}: no request has a prompt; there is nothing to serve")
    longest = max(-(-r.stored_tokens // BLOCK_SIZE) for r in requests)
    pool = pool_blocks if pool_blocks is not None else max(DEFAULT_POOL_BLOCKS, longest)
    transformer = Transformer(model)
    _warm(transformer)
    rounds: list[list[Served]] = []
    evicted = 0
    for repeat in range(1, repeats + 1):
        engine = Engine(transformer, pool, prefix_cache=True, max_running=1)
        served = []
        for n, request in enumerate(requests, 1):
            step(f"repeat {repeat}/{repeats}, request {n}/{len(requests)}")
            served += engine.serve([request])
        rounds.append(served)
        evicted = engine.pool.evictions
    skips = [s.cached_tokens for s in rounds[0]]
    simulated = predicted_skips(requests, rounds[0], BLOCK_SIZE, pool)
    points = [
        LogPoint(
            request=number,
            prompt_tokens=one[0].prompt_tokens,
            cached_tokens=one[0].cached_tokens,
            predicted_flops=segment_cost(one[0].cached_tokens, one[0].prompt_tokens, model),
            prefill_s=median(s.prefill_seconds for s in one),
        )
        for number, one in zip(numbers, zip(*rounds, strict=True), strict=True)
    ]
    return LogStudy(
        source=log.source,
        sha256=log.sha256,
        format=log.format,
        model=model,
        requests=len(points),
        empty_prompts=len(chosen) - len(points),
        block_size=BLOCK_SIZE,
        pool_blocks=pool,
        repeats=repeats,
        blas_threads=blas_threads,
        prompt_tokens=sum(p.prompt_tokens for p in points),
        skipped_tokens=sum(skips),
        simulated_skipped_tokens=sum(simulated),
        skips_agree=skips == simulated,
        evicted_blocks=evicted,
        fit=fit_line(points),
        points=points,
    )


def _require_affordable(source: str, lengths: Sequence[int], repeats: int) -> None:
    for number, length in enumerate(lengths, 1):
        if length > MAX_CONTEXT:
            before = f"; take those before it with --requests {number - 1}" if number > 1 else ""
            raise UsageError(
                f"{source}: request {number} has a prompt of {_count(length)} tokens; the engine "
                f"takes at most {MAX_CONTEXT:,}{before}"
            )
    upto = list(accumulate(lengths))
    if upto and upto[-1] * repeats > MAX_TOKENS:
        fits = bisect_right(upto, MAX_TOKENS // repeats)
        hint = f"take the first with --requests {fits}" if fits else "the first alone is longer"
        if repeats > 1:
            hint += ", or give fewer --repeats"
        raise UsageError(
            f"{source}: {upto[-1]:,} prompt tokens, {_count(repeats)} times; the engine computes "
            f"thousands a second, so expected at most {MAX_TOKENS:,} in all; {hint}"
        )


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


def to_csv(rows: Sequence[Run] | Sequence[LogPoint]) -> str:
    """Rows with a header of the field names; booleans as 0 and 1."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([f.name for f in fields(rows[0])])
    for row in rows:
        writer.writerow([int(v) if isinstance(v, bool) else v for v in astuple(row)])
    return out.getvalue()


def from_csv(path: Path) -> list[Run] | list[LogPoint]:
    """Read back what :func:`to_csv` wrote; the header says which of the two it is.

    Raises
    ------
    UsageError
        If the file cannot be read or holds something else; the message names the line, the column
        and what was expected there.
    """
    try:
        lines = list(csv.reader(path.read_text(encoding="utf-8").splitlines()))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(
            f"--results {path}: cannot read: {reason}; run cache-worthy study first"
        ) from error
    header = tuple(lines[0]) if lines else ()
    if len(lines) < 2 or header not in (_RUN_FIELDS, _POINT_FIELDS):
        raise UsageError(
            f"--results {path}: expected the header {','.join(_RUN_FIELDS)} or "
            f"{','.join(_POINT_FIELDS)}, and rows"
        )
    runs: list[Run] = []
    points: list[LogPoint] = []
    for number, line in enumerate(lines[1:], 2):
        where = f"--results {path}: line {number}"
        if len(line) != len(header):
            raise UsageError(f"{where}: {len(line)} cells; expected {len(header)}")
        cells = [_cell(where, name, text) for name, text in zip(header, line, strict=True)]
        if header == _RUN_FIELDS:
            run = Run(cells[0], bool(cells[1]), *cells[2:])  # type: ignore[arg-type]
            _require_in_order(where, "ttft_p99_s", run.ttft_p50_s, run.ttft_p99_s)
            _require_in_order(where, "prompt_tokens", run.prefilled_tokens, run.prompt_tokens)
            runs.append(run)
        else:
            point = LogPoint(*cells)  # type: ignore[arg-type]
            _require_in_order(where, "prompt_tokens", point.cached_tokens + 1, point.prompt_tokens)
            points.append(point)
    _require_both_sides(path, runs)
    return runs or points


_RUN_FIELDS = tuple(f.name for f in fields(Run))
_POINT_FIELDS = tuple(f.name for f in fields(LogPoint))

#: Least and most of every whole number in a CSV; what is not named is a count of at least one.
_WHOLE = {
    "prefix_tokens": (0, 10**12),
    "prefix_cache": (0, 1),
    "evicted_blocks": (0, 10**12),
    "cached_tokens": (0, 10**12),
    "predicted_flops": (1, 10**24),
}

#: Least and most of every time in seconds and of every rate.
_REAL = (1e-9, 1e9)


def _cell(where: str, name: str, text: str) -> float:
    """A cell as a number of its column's range; ratios of such numbers are finite."""
    real = name.endswith("_s")
    least, most = _REAL if real else _WHOLE.get(name, (1, 10**12))
    try:
        value = float(text) if real else int(text)
    except ValueError:
        value = math.nan
    if not least <= value <= most:  # nan neither
        kind = "a number" if real else "an integer"
        raise UsageError(
            f"{where}, column {name}: {text[:40]!r}; expected {kind} >= {least:g} and <= {most:g}"
        )
    return value


def _require_in_order(where: str, name: str, least: float, value: float) -> None:
    if value < least:
        raise UsageError(f"{where}, column {name}: {value:g}; the row demands at least {least:g}")


def _require_both_sides(path: Path, runs: Sequence[Run]) -> None:
    """Every prefix length needs every repeat once with the cache off and once with it on."""
    seen: dict[tuple[int, int, bool], int] = {}
    for number, run in enumerate(runs, 2):
        key = (run.prefix_tokens, run.repeat, run.prefix_cache)
        if key in seen:
            raise UsageError(
                f"--results {path}: line {number}, column repeat: the same run as line {seen[key]}"
            )
        seen[key] = number
    for (prefix, repeat, on), number in seen.items():
        if (prefix, repeat, not on) not in seen:
            this, other = ("on", "off") if on else ("off", "on")
            raise UsageError(
                f"--results {path}: line {number}, column prefix_cache: prefix {prefix}, repeat "
                f"{repeat} with the cache {this} only; expected a row with it {other} as well"
            )


def render(study: Study) -> str:
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


def render_log(study: LogStudy) -> str:
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
