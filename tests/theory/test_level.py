"""The level of Landlord and the keys of nodes: what the lower bound of ``proofs/refutation.md`` uses.

``level <= key`` of a node is ``credit >= 0``, which the rent loops and the key form both have. All
real costs at once, by symbolic costs (established theory: z3 decides each comparison).
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import pytest

from cache_worthy.theory.algorithms import make
from cache_worthy.theory.forests import sized_forests
from cache_worthy.theory.instance import Instance
from cache_worthy.theory.search.exhaustion import sequences
from cache_worthy.theory.search.symbolic import Space, courses, symbolic_instance
from cache_worthy.theory.steps import Load

EDGE = Instance((None, 0, None), (1,) * 3, (0, 5, 2), (1, 2))
SMALLEST = Instance((None, 0, None, None), (1,) * 4, (0, 5, 2, 0), (1, 2, 3, 2, 3, 2, 3))


def below_the_level(
    instance: Instance, k: int, policy: str = "landlord_keys", hits: str = "after"
) -> Iterator[tuple[int, int, bool]]:
    """(request, node, was it ever interior) for each evictable node whose credit is negative."""
    algorithm = make(policy, instance, k, hits=hits)
    interior: set[int] = set()
    for t, v in enumerate(instance.requests):
        for event in algorithm.serve(v):
            if isinstance(event, Load):
                interior.discard(event.node)
            interior.update(u for u in algorithm.resident if algorithm.resident_children[u])
            for u in algorithm.evictable():
                if algorithm.credit(u) < 0:
                    yield t, u, u in interior


@pytest.mark.parametrize(("instance", "k"), [(EDGE, 2), (SMALLEST, 3)])
def test_a_node_that_was_interior_may_be_evictable_below_the_level(
    instance: Instance, k: int
) -> None:
    last = len(instance.requests) - 1
    assert set(below_the_level(instance, k)) == {(last, 0, True)}


@pytest.mark.parametrize("hits", ["after", "before"])
@pytest.mark.parametrize(
    "policy", ["landlord_keys", "landlord", "landlord_eager", "landlord_leaf_rent"]
)
def test_the_level_never_exceeds_the_key_of_a_node_that_was_never_interior(
    policy: str, hits: str
) -> None:
    """Up to four unit nodes, five requests, all capacities, all real costs."""
    runs = interior = 0
    for n in range(2, 5):
        for parent, size in sized_forests(n, 1):
            space = Space(n)
            forest = Instance(parent, size, (0,) * n, ())
            for k in range(1, n):
                for requests in sequences(forest, k, 5):
                    instance = symbolic_instance(parent, size, space, requests)

                    def play(instance: Instance = instance, k: int = k) -> list[bool]:
                        found = below_the_level(instance, k, policy, hits)
                        return [was_interior for _, _, was_interior in found]

                    for course in courses(space, play, {}, (Fraction(1),) * n):
                        runs += 1
                        assert all(course.result)
                        interior += any(course.result)
    assert runs > 1000
    if policy != "landlord_leaf_rent":  # where an interior node pays no rent
        assert interior > 10
