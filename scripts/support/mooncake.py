"""What is measured on the Mooncake traces, as the text that was published of it.

Ratios of integers are exact. Quantiles are nearest-rank (the smallest value that at least the given
share of the nodes do not exceed). "max/min" of the cost per node is rounded up: the published 825
and 1,695 are 824.69 and 1694.49.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from math import ceil
from pathlib import Path

from published import trace_file

from cache_worthy.logs.session import read_log
from cache_worthy.sim.blocks import BlockLog
from cache_worthy.sim.columns import RequestTable
from cache_worthy.sim.cost import DEFAULT_MODEL, MODELS, BlockSize, Model
from cache_worthy.sim.forest import Forest, build_forest
from cache_worthy.sim.outcome import Outcome
from cache_worthy.sim.radix.policies import POLICIES
from cache_worthy.sim.radix.replay import Engine, replay
from cache_worthy.sim.trace import BLOCK_SIZE_TOKENS, paths_of


def fixed(numerator: int, denominator: int, digits: int) -> str:
    """A quotient of integers as text with ``digits`` decimals, rounded exactly.

    Examples
    --------
    >>> fixed(2, 3, 2), fixed(5, 1, 0)
    ('0.67', '5')
    """
    unit = Decimal(1).scaleb(-digits)
    quotient = Decimal(numerator) / Decimal(denominator)
    return str(quotient.quantize(unit, ROUND_HALF_EVEN))


def load_forest(folder: Path, trace: str) -> Forest:
    """The prefix forest of one trace."""
    return build_forest(paths_of(read_log(trace_file(folder, trace)).requests))


def block_log(file: Path) -> BlockLog:
    """One trace as block policies read it."""
    table = RequestTable.of(read_log(file).requests)
    return BlockLog.intern(table.paths, table.lengths)


# -- the trace table ----------------------------------------------------------------------------


def trace_cells(file: Path) -> tuple[dict[str, str], int]:
    """The cells of one trace, and its number of distinct timestamps. Time: linear."""
    requests = read_log(file).requests
    forest = build_forest(paths_of(requests))
    if forest.reinterned:
        raise SystemExit(f"{file}: an id occurs under two parents; this is no Mooncake trace")
    times = [int(r.timestamp) for r in requests if r.timestamp is not None]
    reused = forest.references - forest.distinct
    cells = {
        "requests": str(len(requests)),
        "span, hours": fixed(max(times) - min(times), 3_600_000, 2),
        "blocks": str(forest.references),
        "distinct blocks": str(forest.distinct),
        "block reuse, percent": fixed(100 * reused, forest.references, 1),
        "mean input, tokens": fixed(sum(r.input_length for r in requests), len(requests), 0),
    }
    return cells, len(set(times))


# -- the structure table ------------------------------------------------------------------------


def quantile(ordered: Sequence[int], percent: int) -> int:
    """Nearest-rank quantile of a sorted sequence.

    Examples
    --------
    >>> quantile([1, 2, 3, 4], 50), quantile([1, 2, 3, 4], 51), quantile([1, 2, 3, 4], 100)
    (2, 3, 4)
    """
    return ordered[max(0, ceil(Fraction(percent * len(ordered), 100)) - 1)]


def node_sizes(forest: Forest) -> list[int]:
    """Blocks of every radix node."""
    return [e - s for s, e in zip(forest.start, forest.end, strict=True)]


def node_costs(forest: Forest, model: Model) -> list[int]:
    """FLOPs of recomputing every radix node below its cached ancestors."""
    b = BLOCK_SIZE_TOKENS
    return [model.segment(s * b, e * b) for s, e in zip(forest.start, forest.end, strict=True)]


def per_byte_spread(forest: Forest, model: Model) -> Fraction:
    """Largest over smallest cost per byte of a radix node; bytes cancel to blocks."""
    pairs = zip(node_costs(forest, model), node_sizes(forest), strict=True)
    density = [Fraction(cost, size) for cost, size in pairs]
    return max(density) / min(density)


def structure_cells(forest: Forest) -> dict[str, str]:
    """The cells of the structure table for one trace."""
    sizes = sorted(node_sizes(forest))
    costs = sorted(node_costs(forest, DEFAULT_MODEL))
    spread = {name: per_byte_spread(forest, model) for name, model in MODELS.items()}
    return {
        "radix nodes": str(forest.nodes),
        "node size p50, blocks": str(quantile(sizes, 50)),
        "node size p90, blocks": str(quantile(sizes, 90)),
        "node size max, blocks": str(sizes[-1]),
        "cost per node, p90/p10": fixed(quantile(costs, 90), quantile(costs, 10), 1),
        "cost per node, max/min": str(ceil(Fraction(costs[-1], costs[0]))),
        "cost per byte, max/min, 8B": fixed(*spread["Llama-3.1-8B"].as_integer_ratio(), 1),
        "cost per byte, max/min, 70B": fixed(*spread["Llama-3.1-70B"].as_integer_ratio(), 1),
    }


def rereferenced(forest: Forest) -> str:
    """Percent of the distinct blocks that more than one request asks for."""
    often = sum(
        size for size, refs in zip(node_sizes(forest), forest.refs, strict=True) if refs > 1
    )
    return fixed(100 * often, forest.distinct, 1)


# -- replays ------------------------------------------------------------------------------------


def capacity_of(forest: Forest, percent: int) -> int:
    """A percentage of the working set in bytes, floored.

    Exact where ``int(fraction * bytes)`` in floating point is, and at these sizes they agree.
    """
    return percent * forest.distinct * BlockSize().block // 100


def run(forest: Forest, policy: str, capacity: int, engine: Engine) -> Outcome:
    """One replay under a shipped policy and the default model."""
    return replay(forest, POLICIES[policy](), capacity, engine=engine)
