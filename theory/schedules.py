"""Offline schedules: the exhaustive optimum, random feasible ones, and their moves.

A schedule is the tuple of resident sets right after every request (the form that
``cache_worthy.oracles.optimal_schedule`` returns in ``states``). Between two requests it first
evicts, children before parents, then loads, parents before children. ``theory`` keeps this small
search of its own because it imports no oracle; ``tests/theory/test_schedules.py`` holds its cost
against theirs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from random import Random

from cache_worthy.theory.instance import Instance, InstanceError, Number, is_integer
from cache_worthy.theory.steps import OptEvict, OptLoad

States = tuple[frozenset[int], ...]


def moves(
    instance: Instance, before: frozenset[int], after: frozenset[int]
) -> Iterator[OptEvict | OptLoad]:
    """The moves that lead from one state to the next, one node at a time."""
    depth = {u: len(instance.path(u)) for u in before ^ after}
    for u in sorted(before - after, key=lambda w: (-depth[w], w)):
        yield OptEvict(u)
    for u in sorted(after - before, key=lambda w: (depth[w], w)):
        yield OptLoad(u, instance.cost[u])


def check_states(
    instance: Instance, h: int, states: Sequence[frozenset[int]], *, lazy: bool = False
) -> Number:
    """Cost of a schedule, after checking that it serves the instance at capacity ``h``.

    Parameters
    ----------
    lazy : bool
        Require that every load is of a node on the requested path.

    Raises
    ------
    InstanceError
        Naming the request at which the schedule is not feasible.
    """
    if len(states) != len(instance.requests):
        raise InstanceError(f"schedule: {len(states)} states, {len(instance.requests)} requests")
    total: Number = 0
    before: frozenset[int] = frozenset()
    for t, (v, state) in enumerate(zip(instance.requests, states, strict=True)):
        if not isinstance(state, AbstractSet):
            raise InstanceError(f"schedule: state {t} is of type {type(state).__name__}, not a set")
        strange = [u for u in state if not (is_integer(u) and 0 <= u < instance.n)]
        if strange:
            raise InstanceError(
                f"schedule: state {t} holds {strange[0]!r}: expected nodes, 0..{instance.n - 1}"
            )
        path = instance.path(v)
        closed = all(instance.parent[u] is None or instance.parent[u] in state for u in state)
        if not closed or not state >= set(path):
            raise InstanceError(f"schedule: request {t} to node {v} is not served")
        if sum(instance.size[u] for u in state) > h:
            raise InstanceError(f"schedule: more than h = {h} resident after request {t}")
        if lazy and not (state - before).issubset(path):
            raise InstanceError(f"schedule: request {t} loads a node off its path")
        total += sum((instance.cost[u] for u in state - before), 0)
        before = state
    return total


def optimal_states(instance: Instance, h: int) -> States:
    """A cheapest schedule at capacity ``h``, by exhaustive dynamic programming over states.

    Loads are lazy, and nothing leaves before room is needed: both without loss, because a load can
    wait for the request that needs it, and a superset can follow any schedule of a subset.

    Raises
    ------
    InstanceError
        If some requested path is larger than ``h``.

    Notes
    -----
    Time: requests times ancestor-closed sets that fit times eviction orders; for up to about a
    dozen nodes.

    Examples
    --------
    >>> witness = Instance(parent=(None, 0, None, None), size=(1, 1, 1, 1), cost=(0, 5, 2, 0),
    ...                    requests=(1, 2, 3, 2, 3, 2))
    >>> check_states(witness, 2, optimal_states(witness, 2))
    7
    """
    if instance.floor > h:
        raise InstanceError(f"h = {h}: the largest requested path has size {instance.floor}")
    layers: list[dict[frozenset[int], tuple[Number, frozenset[int]]]] = []
    now: dict[frozenset[int], Number] = {frozenset(): 0}
    for v in instance.requests:
        path = frozenset(instance.path(v))
        layer: dict[frozenset[int], tuple[Number, frozenset[int]]] = {}
        for state, paid in now.items():
            price = paid + sum((instance.cost[u] for u in path - state), 0)
            for after in _shrink(instance, state | path, path, h):
                if after not in layer or price < layer[after][0]:
                    layer[after] = (price, state)
        layers.append(layer)
        now = {state: paid for state, (paid, _) in layer.items()}
    state = min(now, key=lambda s: (now[s], sorted(s)))
    states: list[frozenset[int]] = []
    for layer in reversed(layers):
        states.append(state)
        state = layer[state][1]
    return tuple(reversed(states))


def _shrink(
    instance: Instance, state: frozenset[int], pinned: frozenset[int], h: int
) -> Iterator[frozenset[int]]:
    """Sets that fit, reached by evicting unpinned leaves only while there is no room."""
    seen = {state}
    todo = [state]
    for s in todo:
        if sum(instance.size[u] for u in s) <= h:
            yield s
            continue
        parents = {instance.parent[u] for u in s}
        for u in sorted(s - pinned):
            if u not in parents and (smaller := s - {u}) not in seen:
                seen.add(smaller)
                todo.append(smaller)


def random_states(instance: Instance, h: int, rng: Random, *, lazy: bool = False) -> States:
    """A random feasible schedule: random evictions, more than needed, and random prefetches.

    Parameters
    ----------
    lazy : bool
        No prefetches: only nodes on the requested path are loaded.

    Examples
    --------
    >>> witness = Instance((None, 0, 0), (1, 1, 1), (1, 2, 3), (1, 2, 1))
    >>> check_states(witness, 2, random_states(witness, 2, Random(0))) >= 8
    True
    """
    if instance.floor > h:
        raise InstanceError(f"h = {h}: the largest requested path has size {instance.floor}")
    size, parent = instance.size, instance.parent
    state: set[int] = set()
    states: list[frozenset[int]] = []
    greed = rng.choice((0.0, 0.1, 0.5))
    for v in instance.requests:
        path = set(instance.path(v))
        missing = sum(size[u] for u in path - state)
        used = sum(size[u] for u in state)
        while True:
            leaves = sorted(state - path - {parent[u] for u in state if parent[u] is not None})
            if not leaves or (used + missing <= h and rng.random() >= greed):
                break
            u = rng.choice(leaves)
            state.remove(u)
            used -= size[u]
        state |= path
        used += missing
        while not lazy and rng.random() < 0.3:
            fits = [
                u
                for u in range(instance.n)
                if u not in state
                and (parent[u] is None or parent[u] in state)
                and used + size[u] <= h
            ]
            if not fits:
                break
            u = rng.choice(fits)
            state.add(u)
            used += size[u]
        states.append(frozenset(state))
    return tuple(states)
