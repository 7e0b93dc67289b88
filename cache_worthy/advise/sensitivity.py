"""Sensitivity band: which answers survive other cost coefficients.

Every cost ratio depends on a and b of ``prefill(n) = a n + b n^2``, which are counted from a
model's architecture and measured on no hardware. The questions are therefore answered again for
every member of a family of cost functions, and an answer is said to hold where all agree. Members
are compared in pairs (a policy against lru under the same member): the band of a ratio is no error
bar for the difference of two.

Evidence: rank 4, a three-request log computed by hand; rank 2, a common factor of a and b changes
nothing; rank 5, the member that is the chosen model equals the plain analysis in every cell, and
what is priced anew equals a replay.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from cache_worthy.advise.capacity import CapacityCurve, CapacityPoint, measure_curve
from cache_worthy.advise.context import Context
from cache_worthy.advise.family import CostMember
from cache_worthy.advise.pins import Pin, measure_pins
from cache_worthy.advise.policy_table import (
    WORTH_CHANGING,
    Policies,
    PolicyRow,
    PolicyTable,
    change_to,
    measure_policies,
    preferring,
)
from cache_worthy.advise.quantity import nothing
from cache_worthy.advise.recoverable import Brackets, Recovery, measure_brackets, recovery_of
from cache_worthy.advise.section import section
from cache_worthy.advise.workload import judge
from cache_worthy.measure.replays import Replays
from cache_worthy.sim.forest import PrefixForest
from cache_worthy.sim.trace import BlockId
from cache_worthy.workers import SERIAL, Workers

Reach = Literal["all", "some", "none"]

RECOMPUTE_REQUESTS = 2000
"""Question 4 is asked again under every member in logs of at most this many requests: there a
bound takes a tenth of a second; on 12,031 requests it takes ten times that, at every capacity."""

BoundReach = Literal["every cost function", "recomputed", "not recomputed"]


@dataclass(frozen=True, slots=True)
class MemberRow:
    """One capacity of the policy table under one member.

    Attributes
    ----------
    fraction : float
        Of the working set, as in the policy table.
    cost_ratios : dict of str to float or None
        By policy, over that member's compulsory cost.
    best : str
        Cheapest policy; the baseline when it ties.
    saving_fraction : float
        Against the baseline, of ``PolicyBand.candidate``, or of ``best`` without one; negative where
        it costs more.
    """

    fraction: float
    cost_ratios: dict[str, float | None]
    best: str
    saving_fraction: float


@dataclass(frozen=True, slots=True)
class Member:
    """The answers under one cost function.

    Attributes
    ----------
    name : str
    linear, quadratic : int or None
        a and b in FLOPs; None for a measured curve, whose unit is the user's.
    block_bytes : int
    ceiling : float or None
    worth_caching : bool
    recommended_fraction, recommended_bytes, recommended_cost_ratio
        Question 3 under this member; None where question 1 ended the run.
    rows : tuple of MemberRow
        Question 5, at the capacities of the policy table.
    top_pin : int or None
        First record of the prefix that protects most; None without a shared prefix.
    top_pin_depth : int or None
        Blocks above that prefix.
    top_pin_protected_fraction : float or None
    """

    name: str
    linear: int | None
    quadratic: int | None
    block_bytes: int
    ceiling: float | None
    worth_caching: bool
    recommended_fraction: float | None
    recommended_bytes: int | None
    recommended_cost_ratio: float | None
    rows: tuple[MemberRow, ...]
    top_pin: int | None
    top_pin_depth: int | None
    top_pin_protected_fraction: float | None


@dataclass(frozen=True, slots=True)
class CeilingBand:
    """Question 1 over the family; ``flips`` names the members that say otherwise."""

    low: float | None
    high: float | None
    worth_caching: Reach
    flips: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CapacityBand:
    """Question 3 over the family.

    ``low_bytes`` and ``high_bytes`` are at the chosen model's bytes a block; ``flips`` names the
    members that recommend another point of the curve.
    """

    low_fraction: float
    high_fraction: float
    low_bytes: int
    high_bytes: int
    flips: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PolicyBand:
    """Question 5 over the family, at one capacity.

    Attributes
    ----------
    fraction, bytes, label
        The capacity, as in the policy table.
    best : str or None
        The policy that no other beats under any member; None if there is none.
    tied : tuple of str
        Without such a policy, those that are cheapest under some member.
    tiers : tuple of tuple of str
        The part of the ranking on which all members agree: every policy of a tier costs no more
        than every policy of the tiers after it, under every member. Cheapest first.
    candidate : str or None
        The policy that the analysis would change to, of those that tie for the cheapest ``best``;
        None where it stays with the baseline, and the saving is then that of each member's own
        cheapest.
    saving_low, saving_high : float
        Over the members, ``MemberRow.saving_fraction``.
    worth_changing : {"all", "some", "none"}
        Members whose saving reaches the threshold of question 5.
    flips : tuple of str
        Members that answer "change the policy?" otherwise than the analysis.
    verdict : str
    """

    fraction: float
    bytes: int
    label: str
    best: str | None
    tied: tuple[str, ...]
    tiers: tuple[tuple[str, ...], ...]
    candidate: str | None
    saving_low: float
    saving_high: float
    worth_changing: Reach
    flips: tuple[str, ...]
    verdict: str


@dataclass(frozen=True, slots=True)
class BoundBand:
    """Question 4 at one capacity.

    Attributes
    ----------
    fraction, bytes
        The capacity.
    word : str
        As the analysis says.
    reach : str
        "every cost function" where that follows by an argument, "recomputed" under every member,
        or "not recomputed" (the log is long, and nothing is known).
    flips : tuple of str
        Members under which a recomputed word is another.
    """

    fraction: float
    bytes: int
    word: str
    reach: BoundReach
    flips: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PinBand:
    """Question 6 over the family: whether the top prefix stays, and what it protects."""

    low: float
    high: float
    flips: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Band:
    """All answers under all members.

    Attributes
    ----------
    threshold : float
        Of "worth changing", repeated from question 5.
    replays : int
        Replays run for the band alone; everything else was there or was priced anew.
    members : tuple of Member
        The first is the chosen model itself.
    ceiling : CeilingBand
    capacity, policy, bound, pin
        None where question 1 ended the run; ``bound`` also where question 4 was skipped, ``pin``
        also without a shared prefix.
    """

    threshold: float
    replays: int
    members: tuple[Member, ...]
    ceiling: CeilingBand
    capacity: CapacityBand | None
    policy: tuple[PolicyBand, ...] | None
    bound: tuple[BoundBand, ...] | None
    pin: PinBand | None


@section(
    "band",
    wants=("capacity", "policy_table", "recoverable"),
    title="Sensitivity",
    place=110,
    skip="whether each answer survives other cost coefficients",
    gated=False,
    compare=nothing,
)
def band(
    context: Context,
    curve: CapacityCurve | None,
    policies: Policies | None,
    brackets: Brackets | None,
) -> Band:
    """The answers again under every cost function; the ceiling alone where question 1 ends the run."""
    table = None if policies is None else policies.table
    return measure_sensitivity(
        context.members,
        context.forest,
        context.paths,
        None if curve is None else context.replays,
        () if curve is None else curve.points,
        table,
        None if brackets is None or table is None else recovery_of(table, brackets),
        context.step,
        context.workers,
    )


def measure_sensitivity(
    members: Sequence[CostMember],
    forest: PrefixForest,
    paths: Sequence[Sequence[BlockId]],
    replays: Replays | None,
    points: Sequence[CapacityPoint],
    table: PolicyTable | None,
    recovery: Recovery | None,
    step: Callable[[str], None] = lambda text: None,
    workers: Workers = SERIAL,
) -> Band:
    """Answer the questions again under every member.

    Parameters
    ----------
    members : sequence of CostMember
        Of ``family``; the first is what the analysis itself counted with.
    forest : PrefixForest
    paths : sequence of sequence of (int or str)
        The requests that the forest was built from.
    replays : Replays or None
        Those of the analysis; None where question 1 ended the run, and then only the ceiling is
        asked again.
    points : sequence of CapacityPoint
        Of the capacity curve of the analysis; its other members are measured at the same fractions.
    table, recovery
        Questions 5 and 4 of the analysis.

    Notes
    -----
    Time: under every member but the first, one replay a policy that weighs costs a capacity of
    the table. lru, under which the capacity curve is measured, decides by time alone and is priced
    anew; a member with other bytes a block holds the same number of blocks.
    """
    found: list[tuple[Member, CapacityCurve | None, PolicyTable | None]] = []
    count = 0
    for number, member in enumerate(members):
        step(f"sensitivity: {member.name}")
        if number == 0 and replays is not None:
            mine = replays
        else:
            own = {} if replays is None else replays.own
            mine = Replays(forest, member.size, member.cost, own, workers, replays)
        before = mine.count
        found.append(_answers(member, mine, replays, points, table, step))
        count += mine.count - before
    if table is not None:
        table = agreed(table, [there for _, _, there in found if there is not None])
    answers = [(_with_rows(m, table, there), curve, there) for m, curve, there in found]
    shown = tuple(member for member, _, _ in answers)
    worth = shown[0].worth_caching
    ceilings = [m.ceiling for m in shown if m.ceiling is not None]
    ceiling = CeilingBand(
        low=min(ceilings, default=None),
        high=max(ceilings, default=None),
        worth_caching=_reach([m.worth_caching for m in shown]),
        flips=tuple(m.name for m in shown if m.worth_caching != worth),
    )
    return Band(
        threshold=WORTH_CHANGING,
        replays=count,
        members=shown,
        ceiling=ceiling,
        capacity=_capacity([curve for _, curve, _ in answers if curve is not None], shown),
        policy=None
        if table is None
        else tuple(
            _policy(
                row,
                [t.rows[n] for _, _, t in answers if t is not None],
                shown,
                n,
                table.baseline,
            )
            for n, row in enumerate(table.rows)
        ),
        bound=None
        if recovery is None
        else _bound(
            recovery,
            [
                (member, there)
                for member, (_, _, there) in zip(members[1:], answers[1:], strict=True)
                if there is not None
            ],
            paths,
            forest.depth,
            step,
            workers,
        ),
        pin=None if table is None else _pin(shown),
    )


def _answers(
    member: CostMember,
    mine: Replays,
    base: Replays | None,
    points: Sequence[CapacityPoint],
    table: PolicyTable | None,
    step: Callable[[str], None],
) -> tuple[Member, CapacityCurve | None, PolicyTable | None]:
    uncached = mine.uncached_cost
    worth = judge(uncached, mine.compulsory_cost)
    curve = there = None
    pins: tuple[Pin, ...] = ()
    if table is not None and base is not None:

        def told(text: str) -> None:
            step(f"sensitivity, {member.name}: {text}")

        def scaled(capacity: int) -> int:
            return capacity * member.size.block // base.size.block

        curve = measure_curve(mine, told, [scaled(p.bytes) for p in points])
        there = measure_policies(mine, [(scaled(r.bytes), r.label) for r in table.rows], told)
        pins = measure_pins(mine.forest, member.size, member.cost, uncached, 1).pins
    top = pins[0] if pins else None
    return (
        Member(
            name=member.name,
            linear=member.linear,
            quadratic=member.quadratic,
            block_bytes=member.size.block,
            ceiling=worth.ceiling,
            worth_caching=worth.worth_caching,
            recommended_fraction=None if curve is None else curve.recommended_fraction,
            recommended_bytes=None if curve is None else curve.recommended_bytes,
            recommended_cost_ratio=None if curve is None else curve.recommended_cost_ratio,
            rows=(),
            top_pin=top.first_request if top else None,
            top_pin_depth=top.depth if top else None,
            top_pin_protected_fraction=top.protected_fraction if top else None,
        ),
        curve,
        there,
    )


def _with_rows(member: Member, table: PolicyTable | None, there: PolicyTable | None) -> Member:
    if table is None or there is None:
        return member
    rows = tuple(
        MemberRow(
            fraction=row.fraction,
            cost_ratios={c.policy: c.cost_ratio for c in mine.cells},
            best=mine.best,
            saving_fraction=_saving(mine, change_to(row), table.baseline),
        )
        for row, mine in zip(table.rows, there.rows, strict=True)
    )
    return dataclasses.replace(member, rows=rows)


def agreed(table: PolicyTable, theirs: Sequence[PolicyTable]) -> PolicyTable:
    """The table, naming of the policies that tie for the cheapest one that no member disagrees with.

    A tie under the model is a tie by chance of its coefficients: to name the first of the list would
    advise one policy while another costs no more under any member.
    """
    rows = []
    for n, row in enumerate(table.rows):
        best = always_cheapest([t.rows[n] for t in theirs], table.baseline)
        rows.append(preferring(row, best, table.outside_oracle_coverage))
    return dataclasses.replace(table, rows=tuple(rows))


def always_cheapest(theirs: Sequence[PolicyRow], baseline: str) -> str | None:
    """The policy that is cheapest under every member; the baseline first, None without one."""
    common = set.intersection(*({c.policy for c in r.cells if c.cheapest} for r in theirs))
    order = [baseline, *(c.policy for c in theirs[0].cells)]
    return next((p for p in order if p in common), None)


def _saving(row: PolicyRow, policy: str | None, baseline: str) -> float:
    if policy is None:
        return row.saving_fraction
    costs = {c.policy: c.total_cost for c in row.cells}
    base = costs[baseline]
    return (base - costs[policy]) / base if base else 0.0


def _reach(answers: Sequence[bool]) -> Reach:
    return "all" if all(answers) else "some" if any(answers) else "none"


def _capacity(curves: Sequence[CapacityCurve], members: Sequence[Member]) -> CapacityBand | None:
    if not curves:
        return None
    base = curves[0]
    points = [base.points[c.recommended_index] for c in curves]
    return CapacityBand(
        low_fraction=min(p.fraction for p in points),
        high_fraction=max(p.fraction for p in points),
        low_bytes=min(p.bytes for p in points),
        high_bytes=max(p.bytes for p in points),
        flips=tuple(
            m.name
            for m, c in zip(members, curves, strict=True)
            if c.recommended_index != base.recommended_index
        ),
    )


def _policy(
    row: PolicyRow,
    theirs: Sequence[PolicyRow],
    members: Sequence[Member],
    number: int,
    baseline: str,
) -> PolicyBand:
    costs = [{c.policy: c.total_cost for c in r.cells} for r in theirs]
    best = always_cheapest(theirs, baseline)
    tied = () if best else tuple(dict.fromkeys(r.best for r in theirs))
    named = change_to(row)
    savings = [m.rows[number].saving_fraction for m in members]
    flips = tuple(
        m.name
        for m, s in zip(members, savings, strict=True)
        if (s >= WORTH_CHANGING) != (named is not None)
    )
    reach = _reach([s >= WORTH_CHANGING for s in savings])
    return PolicyBand(
        fraction=row.fraction,
        bytes=row.bytes,
        label=row.label,
        best=best,
        tied=tied,
        tiers=tiers(costs),
        candidate=named,
        saving_low=min(savings),
        saving_high=max(savings),
        worth_changing=reach,
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


def _bound(
    recovery: Recovery,
    others: Sequence[tuple[CostMember, PolicyTable]],
    paths: Sequence[Sequence[BlockId]],
    depth: int,
    step: Callable[[str], None],
    workers: Workers,
) -> tuple[BoundBand, ...]:
    """Where the optimum loads every block once it costs the compulsory minimum under any cost.

    A schedule found that pays exactly the compulsory cost loads no block twice, since every block
    costs something; the same schedule then pays exactly the compulsory cost of every cost
    function, which none undercuts. Likewise lru where it has nothing to recover. Elsewhere the
    bound is computed again, where that is quick.
    """
    argued = [r.feasible_cost == recovery.compulsory_cost for r in recovery.rows]
    again = len(paths) <= RECOMPUTE_REQUESTS and not all(argued)
    flips: list[list[str]] = [[] for _ in argued]
    if again:
        open_rows = [n for n, known in enumerate(argued) if not known]
        for member, table in others:

            def told(text: str, name: str = member.name) -> None:
                step(f"sensitivity, {name}: {text}")

            asked = dataclasses.replace(table, rows=tuple(table.rows[n] for n in open_rows))
            brackets = measure_brackets(
                paths,
                member.cost.cumulative(depth),
                [row.blocks for row in asked.rows],
                step=told,
                workers=workers,
            )
            there = recovery_of(asked, brackets)
            for n, row in zip(open_rows, there.rows, strict=True):
                if row.word != recovery.rows[n].word:
                    flips[n].append(member.name)
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


def _pin(members: Sequence[Member]) -> PinBand | None:
    shares = [
        m.top_pin_protected_fraction for m in members if m.top_pin_protected_fraction is not None
    ]
    if not shares:
        return None
    base = members[0]
    return PinBand(
        low=min(shares),
        high=max(shares),
        flips=tuple(
            m.name
            for m in members
            if (m.top_pin, m.top_pin_depth) != (base.top_pin, base.top_pin_depth)
        ),
    )
