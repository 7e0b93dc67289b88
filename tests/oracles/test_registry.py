"""Every registered oracle against the exact optimum, by its kind; and theory's policies above it.

Evidence: differential between programs that share no argument (dynamic program over states, integer
program word for word, linear programs over intervals, a circulation), and established theory where
Belady's rule is optimal.
"""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from block_replay import belady_by_nodes
from hypothesis import given, settings
from oracle_cases import instances

from cache_worthy.oracles.optimum.belady import flat_belady_cost, is_flat_unit
from cache_worthy.oracles.optimum.optimal import optimal_cost
from cache_worthy.oracles.registry import ORACLES, upper_belady
from cache_worthy.oracles.schedule import OracleError
from cache_worthy.theory.algorithms import ALGORITHMS, exact_cost
from cache_worthy.theory.instance import Instance
from cache_worthy.theory.sampling import random_instance


@settings(max_examples=40, deadline=None)
@given(instances(max_nodes=7, max_requests=12))
def test_every_oracle_by_its_kind(case: tuple[Instance, int]) -> None:
    instance, capacity = case
    optimum = optimal_cost(instance, capacity)
    for oracle in ORACLES:
        if oracle.domain == "flat unit" and not is_flat_unit(instance):
            continue
        answer = oracle.answer(instance, capacity)
        if oracle.kind == "exact":
            assert answer == optimum, oracle.name
        elif oracle.kind == "lower":
            assert instance.compulsory <= answer <= optimum, oracle.name
        else:
            assert answer >= optimum, oracle.name


@settings(max_examples=150, deadline=None)
@given(instances(max_nodes=6, max_requests=16, flat=True, unit=True))
def test_belady_is_optimal_where_theory_says_so(case: tuple[Instance, int]) -> None:
    instance, capacity = case
    if instance.requests:
        assert flat_belady_cost(instance, capacity) == optimal_cost(instance, capacity)


def test_belady_refuses_what_it_does_not_solve() -> None:
    for instance in (
        Instance((None, 0), (1, 1), (1, 1), (1,)),
        Instance((None, None), (1, 2), (1, 1), (1,)),
        Instance((None, None), (1, 1), (1, 2), (1,)),
    ):
        with pytest.raises(OracleError, match="flat"):
            flat_belady_cost(instance, 3)


@settings(max_examples=150, deadline=None)
@given(instances(max_nodes=8, max_requests=16))
def test_tree_belady_over_groups_is_the_obvious_one(case: tuple[Instance, int]) -> None:
    instance, capacity = case
    assert upper_belady(instance, capacity) == belady_by_nodes(instance, capacity)


def test_no_transcription_beats_the_optimum() -> None:
    rng = Random(3)
    above: Counter[str] = Counter()
    for _ in range(60):
        instance = random_instance(rng, nodes=rng.randint(2, 7), requests=rng.randint(4, 14))
        capacity = rng.randint(instance.floor, max(instance.floor, sum(instance.size) - 1))
        optimum = optimal_cost(instance, capacity)
        for name in ALGORITHMS:
            cost = exact_cost(name, instance, capacity)
            assert cost >= optimum, name
            above[name] += cost > optimum
    # A check in which no policy ever pays more than the optimum would say nothing.
    assert min(above[name] for name in ALGORITHMS) > 0


def test_a_flat_forest_recovers_file_caching() -> None:
    """File caching with sizes and costs, solved without forests, masks or laziness."""

    def file_caching(instance: Instance, capacity: int) -> int:
        layer: dict[frozenset[int], int] = {frozenset(): 0}
        for page in instance.requests:
            following: dict[frozenset[int], int] = {}
            for cache, paid in layer.items():
                price = paid + (0 if page in cache else int(instance.cost[page]))
                full = cache | {page}
                drops = [frozenset[int]()]
                for other in sorted(cache - {page}):
                    drops += [d | {other} for d in drops]
                for drop in drops:
                    left = full - drop
                    if sum(instance.size[u] for u in left) <= capacity:
                        following[left] = min(price, following.get(left, price))
            layer = following
        return min(layer.values())

    rng = Random(5)
    for _ in range(60):
        instance = random_instance(rng, nodes=5, requests=9, flat=True)
        capacity = rng.randint(instance.floor, max(instance.floor, sum(instance.size) - 1))
        assert optimal_cost(instance, capacity) == file_caching(instance, capacity)


def test_unit_sizes_and_costs_count_dependency_aware_misses() -> None:
    """Dependency-aware caching (unit size and cost): the optimum counts nodes fetched."""
    rng = Random(7)
    strict = 0
    for _ in range(40):
        forest = random_instance(rng, nodes=6, requests=10, max_size=1)
        instance = Instance(forest.parent, forest.size, (1,) * 6, forest.requests)
        capacity = rng.randint(instance.floor, max(instance.floor, 5))
        fetched = optimal_cost(instance, capacity)
        # Fetch by fetch, closure as the only rule: breadth-first over (request, cache).
        frontier = {(0, frozenset[int]())}
        misses = 0
        while True:
            done = set(frontier)
            stack = list(frontier)
            while stack:  # free moves: serve a hit, evict a leaf
                t, cache = stack.pop()
                moves = [(t, cache - {u}) for u in cache if not _has_child(instance, u, cache)]
                if t < len(instance.requests) and instance.requests[t] in cache:
                    moves.append((t + 1, cache))
                for move in moves:
                    if move not in done:
                        done.add(move)
                        stack.append(move)
            if any(t == len(instance.requests) for t, _ in done):
                break
            misses += 1
            frontier = {
                (t, cache | {u})
                for t, cache in done
                if len(cache) < capacity
                for u in instance.path(instance.requests[t])
                if u not in cache and (instance.parent[u] is None or instance.parent[u] in cache)
            }
        assert fetched == misses
        strict += fetched > instance.compulsory
    assert strict > 0


def _has_child(instance: Instance, u: int, cache: frozenset[int]) -> bool:
    return any(instance.parent[w] == u for w in cache)
