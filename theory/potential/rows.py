"""Every row of the two potential arguments as a z3 formula, each with mutated twins.

``row.py`` says what a row is, and when it holds.

Two tables (``proofs/cosigned.md`` and ``proofs/refutation.md`` carry the prose):

* ``cosigned``: Young's potential ``(h-1) sum_A credit + k sum_O (cost - credit)`` for cosigned
  Landlord, rate ``k / (k-h+1)``.
* ``landlord``: ``a sum_A c+ + b sum_O (cost - c+)`` with ``c+ = max(0, credit)``,
  ``a = (h-1)/m``, ``b = a + 1``, ``m = ceil((k-h+1)/H)`` for Landlord under leaf-only eviction,
  rate ``1 + (h-1)/m``.

``forest_rows.py`` does the rent rows once more, with symbolic sizes, sets and payments on every
forest up to a size, so that nothing rests on a sum that was split by hand.

Evidence: a decision procedure for the arithmetic of each row (established theory). That the events
of an algorithm satisfy the hypotheses is checked by the potential checker, and that the rows add
up to the bound is the row ``telescope``; neither replaces a reader.
"""

from __future__ import annotations

from collections.abc import Callable

from cache_worthy.theory.potential.cosigned_rows import cosigned_rows
from cache_worthy.theory.potential.landlord_rows import landlord_rows
from cache_worthy.theory.potential.row import Row

TABLES: dict[str, Callable[[], tuple[Row, ...]]] = {
    "cosigned": cosigned_rows,
    "landlord": landlord_rows,
}
"""The two tables; building one imports z3."""


def find_row(name: str) -> Row:
    """The row ``"TABLE.NAME"``.

    Raises
    ------
    KeyError
        If there is no such row.
    """
    table, _, row_name = name.partition(".")
    if table in TABLES:
        for row in TABLES[table]():
            if row.name == row_name:
                return row
    raise KeyError(f"no row {name!r}")
