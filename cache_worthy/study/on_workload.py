"""The prefix-cache study: the same constructed requests through a real engine, cache off and on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from cache_worthy.errors import UsageError
from cache_worthy.measure.quantiles import quantile
from cache_worthy.sim.serving import server, transformer, workload
from cache_worthy.sim.serving.server import BLOCK_SIZE, Agreement, Served
from cache_worthy.sim.serving.transformer import Transformer
from cache_worthy.sim.serving.workload import ANSWER_TOKENS, STUDY_MODEL, TURN_REQUESTS, TURN_TOKENS
from cache_worthy.study import limits
from cache_worthy.study.results import Probe, Run, Study, medians

Step = Callable[[str], None]

#: Prompts of the repeat probe at each prefix length, for every repeat.
PROBES = 3

#: Tokens of the longest user turn, see `cache_worthy.sim.serving.workload.turn_lengths`.
_LONGEST_TURN = 23


@dataclass(frozen=True, slots=True)
class Plan:
    """What is run."""

    prefix_lens: Sequence[int]
    """Tokens of the shared system prompts."""
    requests: int
    tenants: int
    """System prompts that the requests share."""
    rate: float
    """Requests per second."""
    pool_blocks: int
    repeats: int
    probe: bool
    """Whether prompts are also sent twice in a row."""
    blas_threads: str


def measure(plan: Plan, step: Step) -> Study:
    """Run the study.

    Within a repeat the cache is off and on back to back for every prefix length, in alternating
    order, so that a slow spell of the machine falls on both.

    Raises
    ------
    UsageError
        If the runs are more than `limits.MAX_TOKENS` tokens or `limits.MAX_ARRIVALS_S` seconds, a
        prompt is longer than `limits.MAX_CONTEXT`, or the pool larger than `limits.MAX_POOL_BLOCKS`.
    CapacityError
        If a request can never fit in the pool.
    """
    _require_bounded(plan)
    warm = warm_transformer()
    runs: list[Run] = []
    agreed: list[Agreement] = []
    for repeat in range(1, plan.repeats + 1):
        for prefix in plan.prefix_lens:
            both = _off_and_on(warm, plan, prefix=prefix, repeat=repeat, step=step)
            runs += [run for run, _ in both.values()]
            agreed.append(server.agreement(both[False][1], both[True][1]))
    probed = plan.prefix_lens if plan.probe else ()
    return Study(
        model=STUDY_MODEL,
        requests=plan.requests,
        tenants=plan.tenants,
        rate=plan.rate,
        answer_tokens=ANSWER_TOKENS,
        block_size=BLOCK_SIZE,
        pool_blocks=plan.pool_blocks,
        repeats=plan.repeats,
        blas_threads=plan.blas_threads,
        identical=all(a.identical for a in agreed),
        logit_difference=max(a.logit_difference for a in agreed),
        margin=min(a.margin for a in agreed),
        margin_ratio=min(
            (a.margin / a.logit_difference for a in agreed if a.logit_difference), default=None
        ),
        by_luck=any(a.by_luck for a in agreed),
        distinct_answers=min(a.distinct_answers for a in agreed),
        comparisons=medians(runs),
        probes=[_probe(warm, plan, prefix=n, step=step) for n in probed],
        runs=runs,
    )


def _require_bounded(plan: Plan) -> None:
    """Refuse what would run for hours, before anything is built."""
    limits.require_pool(plan.pool_blocks)
    longest = max(plan.prefix_lens) + _LONGEST_TURN
    if longest > limits.MAX_CONTEXT:
        raise UsageError(
            f"--prefix-lens {max(plan.prefix_lens)}: prompts of up to {limits.shown(longest)} "
            f"tokens; the engine takes at most {limits.MAX_CONTEXT:,}"
        )
    turns = TURN_TOKENS * plan.requests // TURN_REQUESTS
    run_tokens = sum(turns + plan.requests * (n + ANSWER_TOKENS) for n in plan.prefix_lens)
    tokens = 2 * plan.repeats * run_tokens
    if plan.probe:
        prompts = 2 * PROBES * plan.repeats + 1
        tokens += sum(prompts * (n + _LONGEST_TURN) for n in plan.prefix_lens)
    if tokens > limits.MAX_TOKENS:
        raise UsageError(
            f"{limits.shown(tokens)} tokens of prompts and answers over all runs; the engine computes "
            f"thousands a second, so expected at most {limits.MAX_TOKENS:,}; fewer --requests, "
            f"--repeats or --prefix-lens"
        )
    seconds = 2 * plan.repeats * len(plan.prefix_lens) * (plan.requests - 1) / plan.rate
    if seconds > limits.MAX_ARRIVALS_S:
        raise UsageError(
            f"--rate {plan.rate:g}: the requests of all runs take {seconds:.2g} s to arrive; expected "
            f"at most {limits.MAX_ARRIVALS_S:,.0f}; a higher --rate or fewer --requests"
        )


def warm_transformer() -> Transformer:
    """The study's transformer, after the first use of BLAS, which is no measurement."""
    warm = transformer.Transformer(STUDY_MODEL)
    load = workload.chat_workload(64, vocabulary=STUDY_MODEL.vocabulary, requests=2, rate=1e6)
    server.Engine(warm, 64, prefix_cache=True).serve(load)
    return warm


def _off_and_on(
    transformer: Transformer, plan: Plan, *, prefix: int, repeat: int, step: Step
) -> dict[bool, tuple[Run, list[Served]]]:
    """The same requests with the cache off and on, in the order in which they were run."""
    load = workload.chat_workload(
        prefix,
        vocabulary=STUDY_MODEL.vocabulary,
        requests=plan.requests,
        tenants=plan.tenants,
        rate=plan.rate,
    )
    both = {}
    for on in (False, True) if repeat % 2 else (True, False):
        step(f"repeat {repeat}/{plan.repeats}, prefix {prefix}, cache {'on' if on else 'off'}")
        engine = server.Engine(transformer, plan.pool_blocks, prefix_cache=on)
        served = engine.serve(load)
        run = _run(served, engine.pool.evictions, prefix=prefix, on=on, repeat=repeat)
        both[on] = run, served
    return both


def _run(served: list[Served], evicted: int, *, prefix: int, on: bool, repeat: int) -> Run:
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


def _probe(transformer: Transformer, plan: Plan, *, prefix: int, step: Step) -> Probe:
    """Prompts that share nothing, each sent twice in a row, after one that warms the processor."""
    step(f"repeat probe, prefix {prefix}")
    count = PROBES * plan.repeats
    warm, *prompts = workload.chat_workload(
        prefix,
        vocabulary=STUDY_MODEL.vocabulary,
        requests=count + 1,
        tenants=count + 1,
        rate=1e9,
        answer_tokens=1,
    )
    engine = server.Engine(transformer, plan.pool_blocks, prefix_cache=True)
    engine.serve([warm])
    pairs = [engine.serve([p]) + engine.serve([p]) for p in prompts]
    first, second = (median(pair[i].time_to_first_token for pair in pairs) for i in (0, 1))
    return Probe(
        prefix_tokens=prefix,
        first_s=first,
        second_s=second,
        ratio=first / second,
        second_cached_tokens=int(median(pair[1].cached_tokens for pair in pairs)),
        prompt_tokens=int(median(len(p.prompt) for p in prompts)),
    )
