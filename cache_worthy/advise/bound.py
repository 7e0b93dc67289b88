"""Question 4 at every capacity of the table, with the policies that question 5 names."""

from __future__ import annotations

from collections.abc import Sequence

from cache_worthy.advise.context import Context
from cache_worthy.advise.policy_table import PolicyTable
from cache_worthy.advise.quantity import RECOVERABLE, Quantities, Quantity, at_recommended
from cache_worthy.advise.reader import Reader
from cache_worthy.advise.recoverable import Bracket, Recovery, recovery_of
from cache_worthy.advise.section import Section


def _compare(document: Reader) -> Quantities:
    row = at_recommended(document, "bound", "rows")
    if row is None:
        return
    verdict = row.text("word")
    yield RECOVERABLE, Quantity("verdict", "words", verdict, answer="What bounds it")
    for field in ("only_memory", "undecided", "foresight", "best_shipped"):
        yield RECOVERABLE, Quantity(field.replace("_", " "), "share", row.number(field))


@Section(
    "bound",
    needs=("policy", "recoverable"),
    title="Recoverable",
    place=70,
    skip="question 4: the certified lower bound",
    compare=_compare,
)
def bound(context: Context, table: PolicyTable, brackets: Sequence[Bracket]) -> Recovery:
    """How much any policy could still recover at every capacity of the table.

    In a tie, the policy is named that question 5 names.
    """
    return recovery_of(table, brackets)
