"""A description of the traffic, and question 1: whether prefix caching is worth enabling."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from cache_worthy.advise.context import Context
from cache_worthy.advise.quantity import (
    CAPACITY,
    WORKLOAD,
    Quantities,
    Quantity,
    Unit,
    halves,
    members,
    spread,
)
from cache_worthy.advise.reader import Reader
from cache_worthy.advise.section import Section
from cache_worthy.logs.options import CUT_TOKENS
from cache_worthy.measure.quantiles import nearest_rank, quantile
from cache_worthy.sim.cost import BlockCost, BlockSize, Model
from cache_worthy.sim.forest import Forest

WORTH_THRESHOLD = 0.01
"""Question 1 ends the run when caching can remove less than this share of the prefill cost."""

RULE = (
    f"stop when an unlimited cache would remove less than {WORTH_THRESHOLD:.0%} of the prefill "
    "recompute"
)


@dataclass(frozen=True, slots=True)
class Distribution:
    """Order statistics; None if there is nothing to count."""

    p50: float | None
    p90: float | None
    p99: float | None
    max: float | None


@dataclass(frozen=True, slots=True)
class ReuseBin:
    """Repeated references to blocks last requested ``least`` to ``up_to`` requests before."""

    least: int
    up_to: int
    references: int


@dataclass(frozen=True, slots=True)
class Workload:
    """Facts of a log; costs in exact FLOPs, sizes in blocks or bytes as named.

    ``reuse_distance`` is in requests between references to the same block, 1 for consecutive
    requests; ``reuse_histogram`` has its exact counts by powers of two. ``cost_per_byte`` is of
    radix nodes, as is ``cost_per_node``.
    """

    requests: int
    block_references: int
    distinct_blocks: int
    reuse_fraction: float | None
    rereferenced_fraction: float | None
    reuse_distance: Distribution
    reuse_within_10: float | None
    reuse_within_100: float | None
    reuse_histogram: tuple[ReuseBin, ...]
    depth: Distribution
    radix_nodes: int
    node_blocks: Distribution
    largest_subtree_blocks: int
    cost_per_node_p90_over_p10: float | None
    cost_per_node_max_over_min: float | None
    cost_per_byte_p90_over_p10: float | None
    cost_per_byte_max_over_min: float | None
    block_bytes: int
    working_set_bytes: int
    floor_blocks: int
    floor_bytes: int
    floor_fraction: float | None
    uncached_cost: int
    compulsory_cost: int


@dataclass(frozen=True, slots=True)
class Worth:
    """Question 1."""

    ceiling: float | None
    """Share of the uncached prefill cost that an unlimited cache removes; no capacity and no policy
    removes more. None without blocks. Repeats of prompts shorter than a block, which no server caches,
    count unless ``hidden_fraction`` is given."""
    worth_caching: bool
    threshold: float
    rule: str
    hidden_fraction: float | None = field(default=None, metadata={"optional": True})
    """Where the answer is no because of the block size: the share that blocks of ``smaller_block`` tokens
    would remove of the starts that prompts have in common."""
    smaller_block: int | None = field(default=None, metadata={"optional": True})


_COMPARED: tuple[tuple[str, Unit, tuple[str, ...]], ...] = (
    ("requests", "count", ("requests",)),
    ("block references", "count", ("block_references",)),
    ("distinct blocks", "count", ("distinct_blocks",)),
    ("reuse", "share", ("reuse_fraction",)),
    ("reuse distance, p50", "count", ("reuse_distance", "p50")),
    ("request depth, p50", "count", ("depth", "p50")),
    ("request depth, max", "count", ("depth", "max")),
    ("working set", "bytes", ("working_set_bytes",)),
)


def _compare_workload(document: Reader) -> Quantities:
    here = document.get("workload")
    for name, unit, where in _COMPARED:
        yield WORKLOAD, Quantity(name, unit, here.number(*where))
    floor = here.number("floor_bytes")
    found = spread(floor, halves(document, "floor_bytes"))
    yield CAPACITY, Quantity("floor", "bytes", floor, spread=found, answer="The least memory")


@Section("workload", title="Workload", place=10, gated=False, compare=_compare_workload)
def workload(context: Context) -> Workload:
    """Facts of the log."""
    return measure_workload(context.forest, context.options.model, context.log.block_tokens)


def _compare_worth(document: Reader) -> Quantities:
    name, ceiling = "ceiling of caching", document.number("worth", "ceiling")
    found = spread(ceiling, halves(document, "ceiling"), members(document, "ceiling"))
    yield WORKLOAD, Quantity(name, "share", ceiling, spread=found, answer="What caching can remove")


@Section("worth", needs=("workload",), title="Worth", place=20, gated=False, compare=_compare_worth)
def worth(context: Context, workload: Workload) -> Worth:
    """Question 1."""
    found = judge(workload.uncached_cost, workload.compulsory_cost)
    evidence, uncached = context.log.evidence, workload.uncached_cost
    if not uncached or not (evidence.texts or evidence.tokens):
        return found
    # Servers cache full blocks only: a repeated prompt shorter than one saves nothing.
    saved, hidden = _of_short_prompts(context)
    whole = judge(uncached, workload.compulsory_cost + saved)
    if whole.worth_caching:
        return found
    hidden += sum(common_start_cost(context, n) for n, k in enumerate(context.known) if not k)
    if hidden < WORTH_THRESHOLD * uncached:
        return found
    return replace(
        whole,
        hidden_fraction=hidden / uncached,
        smaller_block=smaller_block(context.log.block_tokens),
    )


def smaller_block(block_tokens: int) -> int:
    """The block size that would share more: that of vLLM, or a page of SGLang."""
    return CUT_TOKENS if block_tokens > CUT_TOKENS else 1


def _of_short_prompts(context: Context) -> tuple[int, int]:
    """What repeated prompts shorter than a block seem to save, and would in smaller blocks."""
    block, costs = context.log.block_tokens, context.costs
    unit, saved, hidden = smaller_block(block), 0, 0
    for length, known, tokens in zip(
        context.forest.length, context.known, context.lengths, strict=True
    ):
        if known == length == 1 and 0 < tokens < block:
            saved += costs[1]
            hidden += costs[1] * (tokens // unit * unit) // tokens
    return saved, hidden


def common_start_cost(context: Context, request: int) -> int:
    """The cost of what smaller blocks would share of a request's first block, if that is new.

    By tokens, rounded down to a smaller block.
    """
    path, tokens = context.paths[request], min(context.lengths[request], context.log.block_tokens)
    share = context.log.evidence.starts.shares.get(path[0], 0.0) if path else 0.0
    unit = smaller_block(context.log.block_tokens)
    return (
        context.costs[1] * (int(share * tokens) // unit * unit) // tokens if share and tokens else 0
    )


def measure_workload(forest: Forest, model: Model, block_tokens: int) -> Workload:
    """Count requests, blocks and bytes. Time: static nodes on all paths."""
    size = BlockSize(model, block_tokens)
    table = BlockCost(model, block_tokens).cumulative(forest.depth)
    spans = list(zip(forest.start, forest.end, strict=True))
    costs = sorted(table[e] - table[s] for s, e in spans)
    density = sorted((table[e] - table[s]) / (e - s) for s, e in spans)
    distinct = forest.distinct
    again = sum(e - s for (s, e), refs in zip(spans, forest.refs, strict=True) if refs > 1)
    distance = _reuse_distances(forest)
    reused = distance.total()
    return Workload(
        requests=forest.requests,
        block_references=forest.references,
        distinct_blocks=distinct,
        reuse_fraction=share(forest.references - distinct, forest.references),
        rereferenced_fraction=share(again, distinct),
        reuse_distance=_counted(distance),
        reuse_within_10=share(sum(n for d, n in distance.items() if d <= 10), reused),
        reuse_within_100=share(sum(n for d, n in distance.items() if d <= 100), reused),
        reuse_histogram=reuse_histogram(distance),
        depth=_distribution(list(forest.length)),
        radix_nodes=forest.nodes,
        node_blocks=_distribution([e - s for s, e in spans]),
        largest_subtree_blocks=max(forest.subtree_blocks, default=0),
        cost_per_node_p90_over_p10=_spread(costs),
        cost_per_node_max_over_min=costs[-1] / costs[0] if costs else None,
        cost_per_byte_p90_over_p10=_spread(density),
        cost_per_byte_max_over_min=density[-1] / density[0] if density else None,
        block_bytes=size.block,
        working_set_bytes=distinct * size.block,
        floor_blocks=forest.depth,
        floor_bytes=forest.depth * size.block,
        floor_fraction=share(forest.depth, distinct),
        uncached_cost=forest.recomputed(table),
        compulsory_cost=sum(costs),
    )


def judge(uncached_cost: int, compulsory_cost: int) -> Worth:
    """Question 1, under any cost function."""
    ceiling = share(uncached_cost - compulsory_cost, uncached_cost)
    return Worth(
        ceiling=ceiling,
        worth_caching=ceiling is not None and ceiling >= WORTH_THRESHOLD,
        threshold=WORTH_THRESHOLD,
        rule=RULE,
    )


def _reuse_distances(forest: Forest) -> Counter[int]:
    """Blocks by the distance in requests to their previous reference."""
    last = [-1] * forest.nodes
    counts: Counter[int] = Counter()
    for request, terminal in enumerate(forest.terminal):
        node = terminal
        while node >= 0:
            if last[node] >= 0:
                counts[request - last[node]] += forest.end[node] - forest.start[node]
            last[node] = request
            node = forest.parent[node]
    return counts


def reuse_histogram(distance: Mapping[int, int]) -> tuple[ReuseBin, ...]:
    """Counts by powers of two: 1, 2, 3 to 4, 5 to 8, ... up to the largest, empty ones included.

    Examples
    --------
    >>> for b in reuse_histogram({1: 5, 3: 2, 9: 1}):
    ...     print(b.least, b.up_to, b.references)
    1 1 5
    2 2 0
    3 4 2
    5 8 0
    9 16 1
    """
    if not distance:
        return ()
    counts = [0] * ((max(distance) - 1).bit_length() + 1)
    for d, number in distance.items():
        counts[(d - 1).bit_length()] += number
    return tuple(
        ReuseBin(least=2**k // 2 + 1, up_to=2**k, references=n) for k, n in enumerate(counts)
    )


def _counted(counts: Mapping[int, int]) -> Distribution:
    if not counts:
        return _NOTHING
    p50, p90, p99, largest = (nearest_rank(counts, percent) for percent in (50, 90, 99, 100))
    return Distribution(p50=p50, p90=p90, p99=p99, max=largest)


def _distribution(values: list[int]) -> Distribution:
    if not values:
        return _NOTHING
    values.sort()
    p50, p90, p99 = (quantile(values, q) for q in (0.5, 0.9, 0.99))
    return Distribution(p50=p50, p90=p90, p99=p99, max=values[-1])


_NOTHING = Distribution(p50=None, p90=None, p99=None, max=None)


def share(part: int, whole: int) -> float | None:
    """``part / whole``; None if the whole is 0."""
    return part / whole if whole else None


def _spread(ordered: list[float] | list[int]) -> float | None:
    if not ordered:
        return None
    low = quantile(ordered, 0.1)
    return quantile(ordered, 0.9) / low if low else None
