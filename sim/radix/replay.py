"""Replay of a trace under an eviction policy of the radix tree, in exact integers.

The *reference* engine keeps node objects, finds each victim by a linear scan and raises on every
broken invariant in the loop; the *heap* engine keeps a heap (:mod:`cache_worthy.sim.radix.reference`
has both). The *interned* engine (:mod:`cache_worthy.sim.radix.interned`) works on integers, and the
*compiled* one (:mod:`cache_worthy.sim.radix.compiled`) is the same loop as machine code; both need a
:class:`~cache_worthy.sim.radix.policies.base.KeyRule`. All agree in every field of the result: a
request pins its path while it is served; missing blocks are loaded and charged; only childless nodes
are evicted, whole; the capacity is never exceeded.

Evidence: rank 1, all published cells of the reference table for the traces at hand
(``scripts/check/replay.py --check``); rank 2, the invariants in the loop; rank 5, the engines and
an independent transcription agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, get_args

from cache_worthy.sim.cost import BlockCost, BlockSize, DepthFn, SegmentFn
from cache_worthy.sim.errors import InputError
from cache_worthy.sim.forest import Forest, build_forest
from cache_worthy.sim.outcome import Outcome
from cache_worthy.sim.radix import choose
from cache_worthy.sim.radix.interned import replay_interned
from cache_worthy.sim.radix.pins import held_floor, hold
from cache_worthy.sim.radix.policies.base import EvictionPolicy
from cache_worthy.sim.radix.reference import replay_nodes, require_floor
from cache_worthy.sim.trace import BlockId

Engine = Literal["auto", "compiled", "interned", "heap", "reference"]

Paths = Iterable[Sequence[BlockId]] | Forest


def replay(
    paths: Paths,
    policy: EvictionPolicy,
    capacity: int,
    size_fn: SegmentFn | None = None,
    cost_fn: SegmentFn | None = None,
    engine: Engine = "auto",
    pinned: Iterable[int] = (),
) -> Outcome:
    """Serve every request in order and charge what had to be recomputed.

    Parameters
    ----------
    paths : iterable of sequence of (int or str), or Forest
        One path of block ids per request; a forest saves interning when a trace is replayed often.
    policy : EvictionPolicy
        A fresh instance: it keeps state.
    capacity : int
        In units of ``size_fn``; at least the size of the largest path.
    size_fn, cost_fn : SegmentFn, optional
        ``fn(block_ids, depth)``; KV bytes and prefill FLOPs of the default model by default.
    engine : {"auto", "compiled", "interned", "heap", "reference"}
        "auto": the fastest that can run this policy, compiled only on the forest of a large log.
    pinned : iterable of int, optional
        Static nodes of the forest that stay, with their ancestors, once loaded; they count against
        the capacity. Needs a forest, and sizes and costs that look at depths only.

    Raises
    ------
    CapacityError
        If some request's own path, with what is pinned, does not fit.
    InputError
        If ``engine`` is unknown or cannot run this policy, or nodes cannot be pinned.
    InvariantError
        On a bug in the simulator or the policy.

    Examples
    --------
    >>> from cache_worthy.sim.radix.policies import POLICIES
    >>> unit = lambda block_ids, depth: len(block_ids)
    >>> result = replay([(1, 2), (1, 3), (1, 2)], POLICIES["lru"](), 2, unit, unit)
    >>> result.total_cost, result.compulsory_cost, result.evictions, result.matched
    (4, 3, 2, (0, 1, 1))
    """
    size = BlockSize() if size_fn is None else size_fn
    cost = BlockCost() if cost_fn is None else cost_fn
    nodes = set(pinned)
    held, depths = _held(paths, policy, capacity, size, cost, nodes) if nodes else (None, [])
    for name in _able(paths, policy, size, cost) if engine == "auto" else (engine,):
        if name in ("heap", "reference"):
            if policy.dynamic and name == "heap":
                raise InputError(f"engine 'heap': policy {policy.name} has dynamic priorities")
            scan = name == "reference"
            return replay_nodes(paths, policy, capacity, size, cost, scan=scan, held=depths)
        found = _replay_forest(name, paths, policy, capacity, size, cost, held)
        if found is not None:
            return found
    raise InputError(
        f"engine 'compiled': policy {policy.name} with these sizes and costs needs another engine"
    )


def _held(
    paths: Paths,
    policy: EvictionPolicy,
    capacity: int,
    size: SegmentFn,
    cost: SegmentFn,
    nodes: set[int],
) -> tuple[bytearray, list[int]]:
    """What is held when ``nodes`` are pinned, once it is clear that they can be."""
    if not isinstance(paths, Forest) or not (
        isinstance(size, DepthFn) and isinstance(cost, DepthFn)
    ):
        raise InputError("pinned: needs a forest, and sizes and costs with cumulative(depth)")
    if policy.chooses:
        raise InputError(f"pinned: policy {policy.name} names its victims itself")
    held, depths = hold(paths, nodes)
    require_floor(held_floor(paths, held, depths, size), capacity, held=True)
    return held, depths


def _able(
    paths: Paths, policy: EvictionPolicy, size: SegmentFn, cost: SegmentFn
) -> Iterator[Engine]:
    """The engines that can run this policy, the fastest first; the last one always can."""
    if policy.own_rule() and isinstance(size, DepthFn) and isinstance(cost, DepthFn):
        if isinstance(paths, Forest) and choose.wanted(paths.requests):
            yield "compiled"
        yield "interned"
    yield "reference" if policy.dynamic else "heap"


def _replay_forest(
    engine: Engine,
    paths: Paths,
    policy: EvictionPolicy,
    capacity: int,
    size: SegmentFn,
    cost: SegmentFn,
    held: bytearray | None,
) -> Outcome | None:
    """A replay on integers; None where the compiled engine cannot be exact."""
    if engine not in get_args(Engine):
        *others, last = map(repr, get_args(Engine))
        raise InputError(f"engine {engine!r}: expected {', '.join(others)} or {last}")
    if engine == "compiled" and not choose.available():
        raise InputError("engine 'compiled': needs numba (pip install numba)")
    rule = policy.own_rule()
    if rule is None:
        raise InputError(f"engine {engine!r}: policy {policy.name} declares no key rule")
    if not (isinstance(size, DepthFn) and isinstance(cost, DepthFn)):
        raise InputError(f"engine {engine!r}: size_fn and cost_fn must have cumulative(depth)")
    forest = paths if isinstance(paths, Forest) else build_forest(paths)
    sizes, costs = size.cumulative(forest.depth), cost.cumulative(forest.depth)
    require_floor(sizes[forest.depth], capacity)
    if engine == "interned":
        return replay_interned(forest, rule, capacity, sizes, costs, held)
    from cache_worthy.sim.radix.compiled import replay_compiled

    return replay_compiled(forest, rule, capacity, sizes, costs, held)
