"""A log through the engine, one request at a time: measured seconds against predicted FLOPs."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from hashlib import blake2b
from itertools import accumulate
from statistics import median

import numpy as np

from cache_worthy.errors import UsageError
from cache_worthy.logs.log import Log
from cache_worthy.sim.serving import server, simulated
from cache_worthy.sim.serving.server import BLOCK_SIZE, EngineRequest, Served
from cache_worthy.sim.serving.workload import STUDY_MODEL
from cache_worthy.sim.trace import BlockId, Request
from cache_worthy.study import limits
from cache_worthy.study.on_workload import warm_transformer
from cache_worthy.study.results import LogPoint, LogStudy, fit_line


def measure_log(
    log: Log,
    *,
    limit: int | None,
    pool_blocks: int | None,
    repeats: int,
    blas_threads: str,
    step: Callable[[str], None],
) -> LogStudy:
    """Serve a log's prompts one at a time; compare seconds with predicted FLOPs.

    Each block of the log becomes tokens drawn from its id, so no tokenizer is needed and two
    prompts share tokens exactly where the log says they share blocks.

    Parameters
    ----------
    limit : int or None
        Take the first requests only.
    pool_blocks : int or None
        None: 1,024, or the longest prompt's if that is more.

    Raises
    ------
    UsageError
        If no prompt has a token, one has more than `limits.MAX_CONTEXT`, or all of them more than
        `limits.MAX_TOKENS` over the repeats; or if the pool is larger than `limits.MAX_POOL_BLOCKS`.
    CapacityError
        If a prompt can never fit in the given pool.
    """
    if pool_blocks is not None:
        limits.require_pool(pool_blocks)
    chosen = log.requests[:limit]
    prompts = _prompts(log, chosen, repeats)
    requests = list(prompts.values())
    longest = -(-max(r.stored_tokens for r in requests) // BLOCK_SIZE)
    pool = pool_blocks or max(limits.DEFAULT_POOL_BLOCKS, longest)
    rounds, evicted = _serve(requests, pool, repeats=repeats, step=step)
    skips = [s.cached_tokens for s in rounds[0]]
    sizes = {"block_size": BLOCK_SIZE, "pool_blocks": pool}
    expected = simulated.predicted_skips(requests, rounds[0], **sizes)
    points = [_point(n, one) for n, one in zip(prompts, zip(*rounds, strict=True), strict=True)]
    return LogStudy(
        source=log.source,
        sha256=log.sha256,
        format=log.format,
        model=STUDY_MODEL,
        requests=len(points),
        empty_prompts=len(chosen) - len(points),
        block_size=BLOCK_SIZE,
        pool_blocks=pool,
        repeats=repeats,
        blas_threads=blas_threads,
        prompt_tokens=sum(p.prompt_tokens for p in points),
        skipped_tokens=sum(skips),
        simulated_skipped_tokens=sum(expected),
        skips_agree=skips == expected,
        evicted_blocks=evicted,
        fit=fit_line(points),
        points=points,
    )


def _prompts(log: Log, chosen: Sequence[Request], repeats: int) -> dict[int, EngineRequest]:
    """What the engine gets for each request that has a prompt, by its position from 1."""
    _require_affordable(log.source, [r.input_length for r in chosen], repeats)
    size, vocabulary = log.block_tokens, STUDY_MODEL.vocabulary
    prompts = {}
    for number, r in enumerate(chosen, 1):
        tokens = [t for b in r.hash_ids for t in block_text(b, size, vocabulary)]
        if prompt := tuple(tokens[: r.input_length]):
            prompts[number] = EngineRequest(prompt, 1)
    if not prompts:
        raise UsageError(f"{log.source}: no request has a prompt; there is nothing to serve")
    return prompts


def _serve(
    requests: Sequence[EngineRequest], pool: int, *, repeats: int, step: Callable[[str], None]
) -> tuple[list[list[Served]], int]:
    """Every repeat's answers, and the blocks that the last one evicted."""
    transformer = warm_transformer()
    rounds: list[list[Served]] = []
    evicted = 0
    for repeat in range(1, repeats + 1):
        engine = server.Engine(transformer, pool, prefix_cache=True, max_running=1)
        served = []
        for n, request in enumerate(requests, 1):
            step(f"repeat {repeat}/{repeats}, request {n}/{len(requests)}")
            served += engine.serve([request])
        rounds.append(served)
        evicted = engine.pool.evictions
    return rounds, evicted


def _point(number: int, repeats: Sequence[Served]) -> LogPoint:
    first = repeats[0]
    return LogPoint(
        request=number,
        prompt_tokens=first.prompt_tokens,
        cached_tokens=first.cached_tokens,
        predicted_flops=STUDY_MODEL.segment(first.cached_tokens, first.prompt_tokens),
        prefill_s=median(s.prefill_seconds for s in repeats),
    )


def _require_affordable(source: str, lengths: Sequence[int], repeats: int) -> None:
    for number, length in enumerate(lengths, 1):
        if length > limits.MAX_CONTEXT:
            before = f"; take those before it with --requests {number - 1}" if number > 1 else ""
            raise UsageError(
                f"{source}: request {number} has a prompt of {limits.shown(length)} tokens; the engine "
                f"takes at most {limits.MAX_CONTEXT:,}{before}"
            )
    upto = list(accumulate(lengths))
    if upto and upto[-1] * repeats > limits.MAX_TOKENS:
        fits = bisect_right(upto, limits.MAX_TOKENS // repeats)
        hint = f"take the first with --requests {fits}" if fits else "the first alone is longer"
        if repeats > 1:
            hint += ", or give fewer --repeats"
        raise UsageError(
            f"{source}: {upto[-1]:,} prompt tokens, {limits.shown(repeats)} times; the engine computes "
            f"thousands a second, so expected at most {limits.MAX_TOKENS:,} in all; {hint}"
        )


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
