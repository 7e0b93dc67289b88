"""The z3 rows hold, and every mutated twin breaks.

Rank of evidence: z3 decides the arithmetic (established theory); the mutants show that the
formulas can fail.
"""

from __future__ import annotations

import pytest

from cache_worthy.theory.forests import forests
from cache_worthy.theory.potential.forest_rows import (
    FOREST_MUTANTS,
    check_rent_on_forests,
    rent_on_forest,
)
from cache_worthy.theory.potential.row import Row
from cache_worthy.theory.potential.rows import TABLES, find_row

ROWS = [row for table in TABLES.values() for row in table()]


@pytest.mark.parametrize("row", ROWS, ids=lambda r: f"{r.table}.{r.name}")
def test_row_holds_and_every_mutant_breaks(row: Row) -> None:
    assert row.check() == "unsat"
    assert row.mutants(), "a row without mutants cannot show that it says anything"
    for mutant in row.mutants():
        assert row.check(mutant) == "sat", mutant


def test_hypotheses_alone_are_satisfiable() -> None:
    """A row must not hold because its hypotheses contradict each other."""
    import z3

    for row in ROWS:
        solver = z3.Solver()
        solver.add(*row.hypotheses.values())
        assert solver.check() == z3.sat, row.name


def test_unknown_names_are_refused() -> None:
    with pytest.raises(KeyError):
        find_row("cosigned.nothing")
    with pytest.raises(KeyError):
        find_row("cosigned.rent").check("without:nothing")
    with pytest.raises(KeyError):
        rent_on_forest("cosigned", (None,), 2, 1, mutant="nothing")


@pytest.mark.parametrize("table", TABLES)
def test_rent_row_on_small_forests(table: str) -> None:
    """Symbolic sizes, sets and payments; 7 forests up to 3 nodes, k <= 3."""
    check = check_rent_on_forests(table, 3, 3)
    assert (check.result, check.unsat) == ("unsat", check.cases)
    assert check.forests == 7


@pytest.mark.parametrize(
    ("table", "mutant"), [(t, m) for t, names in FOREST_MUTANTS.items() for m in names]
)
def test_rent_row_mutants_on_small_forests(table: str, mutant: str) -> None:
    """Bites somewhere in the small range (the manifest counts over the whole of it)."""
    cases = (
        rent_on_forest(table, parent, k, h, largest, mutant)
        for parent in reversed([p for n in (3, 4) for p in forests(n)])
        for k in (4, 3)
        for h in range(k, 0, -1)
        for largest in range(h, 0, -1)
    )
    assert "sat" in cases
