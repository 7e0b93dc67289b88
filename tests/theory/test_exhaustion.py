"""Small-scope exhaustion: cosigned green, Landlord's known first break, scopes in numbers.

Rank of evidence: the smallest break (a raw credit of -1) was published before; that no row breaks
is an invariant checked over all real costs of the scope.
"""

from __future__ import annotations

import itertools

import pytest

from cache_worthy.theory.forests import forests, symmetries
from cache_worthy.theory.instance import Instance
from cache_worthy.theory.potential.check import check_potential
from cache_worthy.theory.search.exhaustion import exhaust, sequences


@pytest.mark.parametrize("policy", ["cosigned", "cosigned_eager", "cosigned_touch"])
def test_no_row_breaks_for_cosigned(policy: str) -> None:
    scope = exhaust(policy, 3, 4)
    assert scope.violations == 0
    assert scope.evictions > 300
    # 7 forests up to 3 nodes; k = 1, 2 with all h <= k where something is evicted.
    assert (scope.forests, scope.vacuous) == (14, 17)


def test_first_break_of_landlord_is_a_credit_of_minus_one() -> None:
    """Section 10.2 of the reference document reports -1 on its smallest probe."""
    scope = exhaust("landlord", 3, 4)
    assert set(scope.broken) == {"credit-floor"}
    found = scope.smallest
    assert found is not None
    assert (found.instance.n, len(found.instance.requests)) == (3, 2)
    assert found.row == "credit-floor"
    assert "credit -1" in found.text
    again = check_potential(found.instance, found.k, found.h, schedule=found.schedule)
    assert again.violations


def test_landlord_keeps_the_rows_of_its_own_potential() -> None:
    assert exhaust("landlord", 3, 4, potential="landlord").violations == 0


def test_near_misses_break() -> None:
    assert exhaust("density_forgiving", 4, 4, k=3, h=2).violations
    assert exhaust("leaf_pays_path", 4, 4, k=3, h=3).broken["rent"]


def test_sequences_are_complete_up_to_symmetry() -> None:
    """Every sequence that touches all leaves is the image of exactly one that is enumerated."""
    for parent in forests(4):
        forest = Instance(parent, (1,) * 4, (0,) * 4, ())
        group = symmetries(parent, (1,) * 4)
        listed = list(sequences(forest, 3, 4, repeats=True))
        images = [frozenset(tuple(g[v] for v in s) for g in group) for s in listed]
        assert len(set(images)) == len(images)
        leaves = {v for v in range(4) if v not in parent}
        expected = {
            s
            for s in itertools.product(range(4), repeat=4)
            if leaves <= set(s) and all(forest.path_size(v) <= 3 for v in s)
        }
        assert frozenset().union(*images) == expected
