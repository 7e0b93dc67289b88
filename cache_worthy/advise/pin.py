"""Question 6: shared prefixes worth pinning.

A static node referenced ``refs`` times is computed at least once; pinning it protects at most
``(refs - 1) * cost``. Every block belongs to one node, so the protections of all nodes sum to the
log's avoidable recompute exactly (checked in ``measure_pins``).
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

from cache_worthy.advise.context import Context
from cache_worthy.advise.quantity import nothing
from cache_worthy.advise.section import Section
from cache_worthy.advise.workload import Workload
from cache_worthy.measure.replays import Replays
from cache_worthy.sim.errors import InvariantError
from cache_worthy.sim.forest import Forest


@dataclass(frozen=True, slots=True)
class Pin:
    """One shared prefix."""

    references: int
    """Requests that contain it."""
    depth: int
    """Blocks above it."""
    blocks: int
    """Blocks of its own."""
    subtree_blocks: int
    """Blocks at or below it."""
    first_request: int
    """1-based position in the log of the first request that contains it."""
    last_block_id: int | str
    """Id in the log of its deepest block."""
    pin_bytes: int
    """KV cache that it takes, ancestors included: a prefix is of no use without its own prefix."""
    protected_cost: int
    """At most this many FLOPs: ``(references - 1) * cost``."""
    protected_fraction: float
    """Of the log's avoidable recompute."""


@dataclass(frozen=True, slots=True)
class Pins:
    """The best prefixes to pin, and what they protect together (ancestors counted once)."""

    avoidable_cost: int
    candidates: int
    together_bytes: int
    together_protected_cost: int
    together_protected_fraction: float
    together_fraction_of_prefill: float
    pins: tuple[Pin, ...]


@Section("pin", needs=("workload",), title="Pin", place=130, compare=nothing)
def pin(context: Context, workload: Workload) -> Pins:
    """Question 6."""
    return measure_pins(context.replays, context.options.top_pins)


def node_protection(forest: Forest, costs: list[int]) -> dict[int, int]:
    """Per shared static node ``(refs - 1) * cost``, in the unit of ``costs`` (cumulative by depth).

    The others protect nothing.
    """
    refs, start, end = forest.refs, forest.start, forest.end
    return {n: (refs[n] - 1) * (costs[end[n]] - costs[start[n]]) for n in forest.shared}


def top_prefixes(protection: dict[int, int], top: int) -> list[int]:
    """The ``top`` shared static nodes that protect most, in this order; ties by number.

    Parameters
    ----------
    protection : dict of int to int
        Of :func:`node_protection`.
    top : int
    """
    return heapq.nsmallest(top, protection, key=lambda n: (-protection[n], n))


def measure_pins(replays: Replays, top: int) -> Pins:
    """Rank the shared prefixes of a log. Time: nodes times log nodes.

    Raises
    ------
    InvariantError
        If the protections do not sum to the avoidable recompute.
    """
    forest, block = replays.forest, replays.size.block
    protection = node_protection(forest, replays.costs)
    avoidable = replays.uncached_cost - replays.compulsory_cost
    protected = sum(protection.values())
    if protected != avoidable:
        raise InvariantError(f"pins protect {protected}, avoidable is {avoidable}")
    ranked = top_prefixes(protection, top)
    first: dict[int, int] = {}
    wanted = set(ranked)
    for request, terminal in enumerate(forest.terminal, 1):
        if len(first) == len(wanted):
            break
        node = terminal
        while node >= 0:
            if node in wanted:
                first.setdefault(node, request)
            node = forest.parent[node]
    below = forest.subtree_blocks
    held: set[int] = set()
    for node in ranked:
        while node >= 0 and node not in held:
            held.add(node)
            node = forest.parent[node]
    together = sum(protection[n] for n in held)  # those above a shared node are shared
    return Pins(
        avoidable_cost=avoidable,
        candidates=len(protection),
        together_bytes=sum(forest.end[n] - forest.start[n] for n in held) * block,
        together_protected_cost=together,
        together_protected_fraction=together / avoidable if avoidable else 0.0,
        together_fraction_of_prefill=together / replays.uncached_cost if avoidable else 0.0,
        pins=tuple(
            Pin(
                references=forest.refs[n],
                depth=forest.start[n],
                blocks=forest.end[n] - forest.start[n],
                subtree_blocks=below[n],
                first_request=first[n],
                last_block_id=forest.block_ids[forest.last_block[n]],
                pin_bytes=forest.end[n] * block,
                protected_cost=protection[n],
                protected_fraction=protection[n] / avoidable,
            )
            for n in ranked
        ),
    )
