"""The words of question 5: which policy."""

from __future__ import annotations

from cache_worthy.advise.analysis import Analysis
from cache_worthy.advise.band import Band
from cache_worthy.advise.offer import EngineAdvice
from cache_worthy.advise.policy_table import PolicyRow, PolicyTable
from cache_worthy.advise.sample import SampleReport
from cache_worthy.numbers import gib_short, percent, ratio
from cache_worthy.report.model import Answer, Cell, Facts, Prose, Section, Table, table
from cache_worthy.report.words.marks import band_at, verdict
from cache_worthy.report.words.sample import saving_text

LOWER = "Recompute as a multiple of the compulsory minimum; lower is better"


def words(analysis: Analysis) -> Section | None:
    """The section; where a server is asked about, its own options are the answer."""
    policies = analysis.of(PolicyTable)
    if policies is None or analysis.of(EngineAdvice) is not None:
        return None
    sample, band = analysis.of(SampleReport), analysis.of(Band)
    verdicts = tuple(
        (at(row), _verdict(row, band) + saving_text(sample, n))
        for n, row in enumerate(policies.rows)
    )
    return Section(
        about="" if sample is None else "from a sample",
        parts=(
            policy_table(policies, LOWER),
            Prose(
                f"{marks(policies)} 1.0000 means that nothing was ever prefilled twice. Compulsory "
                f"cost: {policies.compulsory_cost:.3e} FLOPs, which any cache pays.",
                note=True,
            ),
            Answer("Question 5", "Verdict"),
            Facts("policy-verdicts", verdicts),
        ),
    )


def at(row: PolicyRow) -> str:
    """A capacity of the table, by its name."""
    return percent(row.fraction) + (f" ({row.label})" if row.label else "")


def policy_table(policies: PolicyTable, caption: str) -> Table:
    """Every policy at every capacity."""
    own = policies.outside_oracle_coverage
    return table(
        "policy-table",
        caption,
        columns=("capacity\nGiB", *heads(policies)),
        rows=(
            (
                f"{name} [!]" if name in own else name,
                *(
                    starred(row.cells[n].cost_ratio, cheapest=row.cells[n].cheapest)
                    for row in policies.rows
                ),
            )
            for n, name in enumerate(policies.policies)
        ),
    )


def starred(value: float | None, *, cheapest: bool) -> Cell:
    """A cost, with the mark of the cheapest."""
    return Cell(("*" if cheapest else "") + ratio(value), cheapest=cheapest)


def marks(policies: PolicyTable) -> str:
    """What the marks of the table mean."""
    own = " [!] = your own policy, outside oracle coverage."
    return "* = cheapest at that capacity." + (own if policies.outside_oracle_coverage else "")


def heads(policies: PolicyTable) -> list[str]:
    """The capacities as heads of columns."""
    return [f"{percent(row.fraction)}\n{gib_short(row.bytes)}" for row in policies.rows]


def _verdict(row: PolicyRow, band: Band | None) -> str:
    """The answer to question 5 at one capacity; no winner where the band has none."""
    across = band_at(band, row)
    return row.verdict if across is None else verdict(across, row.verdict)
