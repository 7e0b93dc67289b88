"""The answers under one cost function of the sensitivity band."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from cache_worthy.advise.capacity import CapacityCurve, measure_curve
from cache_worthy.advise.context import Context
from cache_worthy.advise.family import CostMember
from cache_worthy.advise.pin import Pin, measure_pins
from cache_worthy.advise.policy_table import (
    PolicyRow,
    PolicyTable,
    change_to,
    measure_policies,
    preferring,
)
from cache_worthy.advise.workload import Worth, judge
from cache_worthy.measure.replays import Replays


@dataclass(frozen=True, slots=True)
class MemberRow:
    """One capacity of the policy table under one member."""

    fraction: float
    """Of the working set, as in the policy table."""
    cost_ratios: dict[str, float | None]
    """By policy, over that member's compulsory cost."""
    best: str
    """Cheapest policy; the baseline if it ties."""
    saving_fraction: float
    """Against the baseline, of ``PolicyBand.candidate``, or of ``best`` without one; negative where
    it costs more."""


@dataclass(frozen=True, slots=True)
class Member:
    """The answers under one cost function."""

    name: str
    linear: int | None
    """a in FLOPs; None for a measured curve, whose unit is the user's."""
    quadratic: int | None
    """b, likewise."""
    block_bytes: int
    ceiling: float | None
    worth_caching: bool
    recommended_fraction: float | None
    """Question 3 under this member; None if question 1 ended the run."""
    recommended_bytes: int | None
    recommended_cost_ratio: float | None
    rows: tuple[MemberRow, ...]
    """Question 5, at the capacities of the policy table."""
    top_pin: int | None
    """First record of the prefix that protects most; None without a shared prefix."""
    top_pin_depth: int | None
    """Blocks above that prefix."""
    top_pin_protected_fraction: float | None


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers under one cost function; only ``worth`` if question 1 ended the run."""

    of: CostMember
    worth: Worth
    curve: CapacityCurve | None = None
    table: PolicyTable | None = None
    top: Pin | None = None


def answers(
    context: Context,
    of: CostMember,
    mine: Replays,
    *,
    curve: CapacityCurve | None,
    table: PolicyTable | None,
) -> Answers:
    """Answer again, at the capacities of ``curve`` and ``table``, from replays under this cost."""
    worth = judge(mine.uncached_cost, mine.compulsory_cost)
    if curve is None or table is None:
        return Answers(of, worth)

    def told(text: str) -> None:
        context.step(f"sensitivity, {of.name}: {text}")

    def scaled(capacity: int) -> int:
        """The same number of blocks, in bytes."""
        return capacity * of.size.block // context.size.block

    pins = measure_pins(mine, top=1).pins
    return Answers(
        of,
        worth,
        curve=measure_curve(mine, told, [scaled(p.bytes) for p in curve.points]),
        table=measure_policies(mine, [(scaled(r.bytes), r.label) for r in table.rows], told),
        top=pins[0] if pins else None,
    )


def member(answers: Answers, table: PolicyTable | None) -> Member:
    """The answers as the document has them; savings are of the policies that ``table`` names."""
    of, curve, top = answers.of, answers.curve, answers.top
    rows: tuple[MemberRow, ...] = ()
    if table is not None and answers.table is not None:
        rows = tuple(
            MemberRow(
                fraction=row.fraction,
                cost_ratios={c.policy: c.cost_ratio for c in mine.cells},
                best=mine.best,
                saving_fraction=_saving(mine, change_to(row), table.baseline),
            )
            for row, mine in zip(table.rows, answers.table.rows, strict=True)
        )
    return Member(
        name=of.name,
        linear=of.linear,
        quadratic=of.quadratic,
        block_bytes=of.size.block,
        ceiling=answers.worth.ceiling,
        worth_caching=answers.worth.worth_caching,
        recommended_fraction=None if curve is None else curve.recommended_fraction,
        recommended_bytes=None if curve is None else curve.recommended_bytes,
        recommended_cost_ratio=None if curve is None else curve.recommended_cost_ratio,
        rows=rows,
        top_pin=top.first_request if top else None,
        top_pin_depth=top.depth if top else None,
        top_pin_protected_fraction=top.protected_fraction if top else None,
    )


def agreed(table: PolicyTable, theirs: Sequence[PolicyTable]) -> PolicyTable:
    """The table, in which a tie for the cheapest is resolved by the other members.

    A tie under one model is an accident of its coefficients; the first policy of the list may cost
    more than another under every other member.
    """
    rows = []
    for n, row in enumerate(table.rows):
        best = always_cheapest([t.rows[n] for t in theirs], table.baseline)
        rows.append(preferring(row, best, table.outside_oracle_coverage))
    return dataclasses.replace(table, rows=tuple(rows))


def always_cheapest(theirs: Sequence[PolicyRow], baseline: str) -> str | None:
    """The policy that is cheapest under every member, preferably the baseline; else None."""
    common = set.intersection(*({c.policy for c in r.cells if c.cheapest} for r in theirs))
    order = [baseline, *(c.policy for c in theirs[0].cells)]
    return next((p for p in order if p in common), None)


def _saving(row: PolicyRow, policy: str | None, baseline: str) -> float:
    if policy is None:
        return row.saving_fraction
    costs = {c.policy: c.total_cost for c in row.cells}
    base = costs[baseline]
    return (base - costs[policy]) / base if base else 0.0
