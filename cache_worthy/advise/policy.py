"""Question 5: which eviction policy, and whether a change would help at all."""

from __future__ import annotations

import dataclasses

from cache_worthy.advise.band import Band
from cache_worthy.advise.context import Context
from cache_worthy.advise.policy_table import FRACTIONS, Policies, PolicyTable, preferring
from cache_worthy.advise.quantity import POLICY, Quantities, Quantity, at_recommended
from cache_worthy.advise.reader import Reader
from cache_worthy.advise.section import Section
from cache_worthy.measure.replays import BASELINE


def _compare(document: Reader) -> Quantities:
    table = document.maybe("policy")
    if table is None or document.maybe("capacity") is None:
        return
    rows, there = table.rows("rows"), at_recommended(document, "policy", "rows")
    if there is not None:
        name, answer = "cheapest, recommended", "The cheapest policy there"
        yield POLICY, _cheapest(document, there, name=name, answer=answer)
        saves = there.number("saving_fraction")
        yield POLICY, Quantity(f"saves against {BASELINE}", "share", saves)
    for fraction in FRACTIONS:
        at = [row for row in rows if abs((row.number("fraction") or 0) - fraction) < 1e-6]
        row = at[-1] if at else None
        yield POLICY, _cheapest(document, row, name=f"cheapest at {fraction:.0%}")
        cells = [] if row is None else row.rows("cells")
        costs = {cell.text("policy"): cell.number("cost_ratio") for cell in cells}
        yield POLICY, Quantity(f"{BASELINE} at {fraction:.0%}", "ratio", costs.get(BASELINE))


def _cheapest(document: Reader, row: Reader | None, *, name: str, answer: str = "") -> Quantity:
    """The cheapest policy of a column of the table; None if there is no such column."""
    if row is None:
        return Quantity(name, "words", None)
    ties = _ties(document, row.integer("bytes"))
    return Quantity(name, "words", row.text("best"), spread=ties, answer=answer)


def _ties(document: Reader, size: int) -> frozenset[str] | None:
    """Policies that are cheapest under some cost function of the band, at one capacity."""
    rows = [] if document.maybe("band", "policy") is None else document.some("band", "policy")
    for row in rows:
        if row.integer("bytes") == size:
            if row.maybe("best") is not None:
                return frozenset({row.text("best")})
            return frozenset(str(policy.value) for policy in row.rows("tied"))
    return None


@Section(
    "policy",
    needs=("policy_table",),
    wants=("band",),
    title="Policy",
    place=80,
    compare=_compare,
)
def policy(context: Context, policies: Policies, band: Band | None) -> PolicyTable:
    """The table, in which a tie for the cheapest policy is resolved by the band."""
    table = policies.table
    if band is None or band.policy is None:
        return table
    rows = tuple(
        preferring(row, across.candidate, table.outside_oracle_coverage)
        for row, across in zip(table.rows, band.policy, strict=True)
    )
    return dataclasses.replace(table, rows=rows)
