"""Pinned nodes: which blocks of each request stay, and the capacity that this needs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cache_worthy.sim.cost import DepthFn
from cache_worthy.sim.errors import InputError
from cache_worthy.sim.forest import Forest


def hold(forest: Forest, nodes: Iterable[int]) -> tuple[bytearray, list[int]]:
    """What is held when ``nodes`` are pinned: these and their ancestors.

    Returns a flag per static node, and per request the blocks of its path held, always a prefix.

    Raises
    ------
    InputError
        If the forest has no such node.
    """
    held = bytearray(forest.nodes)
    for node in nodes:
        if not 0 <= node < forest.nodes:
            raise InputError(f"pinned: node {node}: expected 0 to {forest.nodes - 1}")
        while node >= 0 and not held[node]:
            held[node] = 1
            node = forest.parent[node]
    depth = [0] * forest.nodes  # parents come before children
    for node, above in enumerate(forest.parent):
        depth[node] = forest.end[node] if held[node] else depth[above] if above >= 0 else 0
    return held, [depth[t] if t >= 0 else 0 for t in forest.terminal]


def held_floor(forest: Forest, held: Sequence[int], depths: Sequence[int], size_fn: DepthFn) -> int:
    """The smallest capacity that serves every request: all held nodes and the largest rest of a path."""
    sizes = size_fn.cumulative(forest.depth)
    whole = sum(
        sizes[forest.end[n]] - sizes[forest.start[n]] for n in range(forest.nodes) if held[n]
    )
    rest = (sizes[n] - sizes[d] for n, d in zip(forest.length, depths, strict=True))
    return whole + max(rest, default=0)
