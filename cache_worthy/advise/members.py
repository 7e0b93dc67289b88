"""The answers under one cost function of the sensitivity band, and which of them hold under all."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from cache_worthy.advise.capacity import CapacityCurve, measure_curve
from cache_worthy.advise.context import Context
from cache_worthy.advise.family import CostMember
from cache_worthy.advise.pin import Pin, measure_pins
from cache_worthy.advise.policy_table import (
    WORTH_CHANGING,
    PolicyRow,
    PolicyTable,
    change_to,
    measure_policies,
    preferring,
)
from cache_worthy.advise.recoverable import Recovery, measure_brackets, recovery_of
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


Reach = Literal["all", "some", "none"]
BoundReach = Literal["every cost function", "recomputed", "not recomputed"]


@dataclass(frozen=True, slots=True)
class CeilingBand:
    """Question 1 over the family; ``flips`` are the members with another verdict."""

    low: float | None
    high: float | None
    worth_caching: Reach
    flips: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CapacityBand:
    """Question 3 over the family.

    ``low_bytes`` and ``high_bytes`` are at the chosen model's bytes per block; ``flips`` are the
    members that recommend another point of the curve.
    """

    low_fraction: float
    high_fraction: float
    low_bytes: int
    high_bytes: int
    flips: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PolicyBand:
    """Question 5 over the family, at one capacity."""

    fraction: float
    """Of the working set; this and the next two as in the policy table."""
    bytes: int
    label: str
    best: str | None
    """The policy that is cheapest under every member; None if there is none."""
    tied: tuple[str, ...]
    """Without such a policy, those that are cheapest under some member."""
    tiers: tuple[tuple[str, ...], ...]
    """The part of the ranking on which all members agree: every policy of a tier costs no more than
    every policy of the tiers after it, under every member. Cheapest first."""
    candidate: str | None
    """The policy that the analysis would change to, in a tie ``best``; None if it stays with the
    baseline: the saving is then that of each member's own cheapest."""
    saving_low: float
    """The least ``MemberRow.saving_fraction`` of a member."""
    saving_high: float
    """The largest."""
    worth_changing: Reach
    """Whether the members' savings reach the threshold of question 5."""
    flips: tuple[str, ...]
    """Members that answer "change the policy?" differently."""
    verdict: str


@dataclass(frozen=True, slots=True)
class BoundBand:
    """Question 4 at one capacity."""

    fraction: float
    """Of the working set."""
    bytes: int
    word: str
    """As the analysis says."""
    reach: BoundReach
    """"every cost function" if a proof covers all, "recomputed" under every member, or "not
    recomputed" (the log is long)."""
    flips: tuple[str, ...]
    """Members under which the recomputed word differs."""


@dataclass(frozen=True, slots=True)
class PinBand:
    """Question 6 over the family: what the top prefix protects, and where it is another."""

    low: float
    high: float
    flips: tuple[str, ...]


def ceiling_band(members: Sequence[Member]) -> CeilingBand:
    """Over the members, the chosen model first."""
    ceilings = [m.ceiling for m in members if m.ceiling is not None]
    verdicts = [m.worth_caching for m in members]
    return CeilingBand(
        low=min(ceilings, default=None),
        high=max(ceilings, default=None),
        worth_caching=_reach(verdicts),
        flips=_flips(members, verdicts),
    )


def capacity_band(
    curves: Sequence[CapacityCurve], members: Sequence[Member]
) -> CapacityBand | None:
    """Over the curves of the members, the chosen model's first; None without one."""
    if not curves:
        return None
    asked = [c.recommended_index for c in curves]
    low, high = curves[0].points[min(asked)], curves[0].points[max(asked)]
    return CapacityBand(
        low_fraction=low.fraction,
        high_fraction=high.fraction,
        low_bytes=low.bytes,
        high_bytes=high.bytes,
        flips=_flips(members, asked),
    )


def policy_bands(
    table: PolicyTable, theirs: Sequence[PolicyTable], members: Sequence[Member]
) -> tuple[PolicyBand, ...]:
    """By capacity: ``table`` has the answers of the analysis, ``theirs`` those of each member."""
    return tuple(
        _policy(
            row,
            [there.rows[n] for there in theirs],
            savings={m.name: m.rows[n].saving_fraction for m in members},
            baseline=table.baseline,
        )
        for n, row in enumerate(table.rows)
    )


def _policy(
    row: PolicyRow, theirs: Sequence[PolicyRow], *, savings: Mapping[str, float], baseline: str
) -> PolicyBand:
    costs = [{c.policy: c.total_cost for c in r.cells} for r in theirs]
    best = always_cheapest(theirs, baseline)
    tied = () if best else tuple(dict.fromkeys(r.best for r in theirs))
    named = change_to(row)
    worth_changing = {name: saving >= WORTH_CHANGING for name, saving in savings.items()}
    flips = tuple(name for name, worth in worth_changing.items() if worth != (named is not None))
    return PolicyBand(
        fraction=row.fraction,
        bytes=row.bytes,
        label=row.label,
        best=best,
        tied=tied,
        tiers=tiers(costs),
        candidate=named,
        saving_low=min(savings.values()),
        saving_high=max(savings.values()),
        worth_changing=_reach(list(worth_changing.values())),
        flips=flips,
        verdict=_verdict(best, tied, flips),
    )


def tiers(costs: Sequence[dict[str, int]]) -> tuple[tuple[str, ...], ...]:
    """The finest ordered partition of the policies that every member agrees with.

    Parameters
    ----------
    costs : sequence of dict of str to int
        By member the cost of every policy; the first breaks ties.

    Examples
    --------
    >>> tiers([{"a": 1, "b": 2, "c": 3}, {"a": 2, "b": 1, "c": 9}])
    (('a', 'b'), ('c',))
    """
    order = sorted(costs[0], key=lambda p: costs[0][p])
    out: list[tuple[str, ...]] = []
    begin = 0
    for cut in range(1, len(order) + 1):
        top, rest = order[:cut], order[cut:]
        if not rest or all(max(c[p] for p in top) <= min(c[p] for p in rest) for c in costs):
            out.append(tuple(order[begin:cut]))
            begin = cut
    return tuple(out)


def _verdict(best: str | None, tied: Sequence[str], flips: Sequence[str]) -> str:
    ranking = (
        f"{best} is cheapest throughout" if best else f"tie within the band: {', '.join(tied)}"
    )
    change = f"flips under {', '.join(flips)}" if flips else "holds across the band"
    return f"{ranking}; whether to change {change}"


def bound_bands(
    context: Context, recovery: Recovery, others: Sequence[Answers], *, again: bool
) -> tuple[BoundBand, ...]:
    """By capacity, whether the word of question 4 holds.

    A schedule that pays exactly the compulsory cost loads no block twice, as every block costs
    something; it is then optimal under every cost function. The same holds for lru if it has
    nothing to recover. Otherwise question 4 is asked again under every other member, unless that
    takes too long.
    """
    argued = [r.feasible_cost == recovery.compulsory_cost for r in recovery.rows]
    flips: list[list[str]] = [[] for _ in argued]
    asked = [n for n, known in enumerate(argued) if not known]
    for other in others if again and asked else ():
        if other.table is not None:
            rows = tuple(other.table.rows[n] for n in asked)
            brackets = measure_brackets(
                context,
                other.of.cost.cumulative(context.forest.depth),
                [row.blocks for row in rows],
                about=f"sensitivity, {other.of.name}: ",
            )
            there = recovery_of(dataclasses.replace(other.table, rows=rows), brackets)
            for n, row in zip(asked, there.rows, strict=True):
                if row.word != recovery.rows[n].word:
                    flips[n].append(other.of.name)
    reach: BoundReach = "recomputed" if again else "not recomputed"
    return tuple(
        BoundBand(
            fraction=r.fraction,
            bytes=r.bytes,
            word=r.word,
            reach="every cost function" if known else reach,
            flips=tuple(flip),
        )
        for r, known, flip in zip(recovery.rows, argued, flips, strict=True)
    )


def pin_band(members: Sequence[Member]) -> PinBand | None:
    """Over the members, the chosen model first; None without a shared prefix."""
    shares = [
        m.top_pin_protected_fraction for m in members if m.top_pin_protected_fraction is not None
    ]
    if not shares:
        return None
    flips = _flips(members, [(m.top_pin, m.top_pin_depth) for m in members])
    return PinBand(low=min(shares), high=max(shares), flips=flips)


def _flips(members: Sequence[Member], answers: Sequence[object]) -> tuple[str, ...]:
    """The members whose answer is not that of the first."""
    pairs = zip(members, answers, strict=True)
    return tuple(m.name for m, answer in pairs if answer != answers[0])


def _reach(answers: Sequence[bool]) -> Reach:
    return "all" if all(answers) else "some" if any(answers) else "none"
