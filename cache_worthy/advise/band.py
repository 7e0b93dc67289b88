"""Sensitivity band: which answers survive other cost coefficients.

Every cost ratio depends on a and b of ``prefill(n) = a n + b n^2``, which are counted from a
model's architecture and not measured on hardware. The questions are therefore answered again for
every member of a family of cost functions; an answer holds if all agree. Policies are compared with
lru under the same member: the band of a ratio is not an error bar for the difference of two ratios.

Evidence: rank 4, a three-request log computed by hand; rank 2, a common factor of a and b changes
nothing; rank 5, the member that is the chosen model equals the plain analysis in every cell, and a
re-priced result equals a replay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cache_worthy.advise.capacity import CapacityCurve
from cache_worthy.advise.context import Context
from cache_worthy.advise.members import (
    BoundBand,
    CapacityBand,
    CeilingBand,
    Member,
    PinBand,
    PolicyBand,
    agreed,
    answers,
    bound_bands,
    capacity_band,
    ceiling_band,
    member,
    pin_band,
    policy_bands,
)
from cache_worthy.advise.policy_table import WORTH_CHANGING, Policies
from cache_worthy.advise.quantity import nothing
from cache_worthy.advise.recoverable import Bracket, recovery_of
from cache_worthy.advise.section import Section
from cache_worthy.measure.replays import Replays

RECOMPUTE_REQUESTS = 2000
"""Question 4 is asked again under every member if the log has at most this many requests: a bound
then takes a tenth of a second, and ten times that on 12,031 requests, at every capacity."""


@dataclass(frozen=True, slots=True)
class Band:
    """All answers under all members."""

    threshold: float
    """Of "worth changing", as in question 5."""
    replays: int
    """Replays run for the band alone; everything else was kept or re-priced."""
    members: tuple[Member, ...]
    """The first is the chosen model itself."""
    ceiling: CeilingBand
    capacity: CapacityBand | None
    """This and the following fields are None if question 1 ended the run."""
    policy: tuple[PolicyBand, ...] | None
    bound: tuple[BoundBand, ...] | None
    """Also None if question 4 was skipped."""
    pin: PinBand | None
    """Also None without a shared prefix."""


@Section(
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
    brackets: Sequence[Bracket] | None,
) -> Band:
    """The answers under every cost function; only the ceiling if question 1 ends the run.

    Time: under every member but the first, one replay per capacity of the table and policy that
    weighs costs. lru, under which the capacity curve is measured, decides by time alone and is
    re-priced; a member with other bytes per block holds the same number of blocks.
    """
    asked = None if policies is None else policies.table
    base = None if asked is None else context.replays
    found, count = [], 0
    for of in context.members:
        context.step(f"sensitivity: {of.name}")
        mine = base
        if mine is None or of is not context.members[0]:
            same = {"workers": context.workers} if base is None else base.same
            mine = Replays(context.forest, of.size, of.cost, base=base, **same)
        before = mine.count
        found.append(answers(context, of, mine, curve=curve, table=asked))
        count += mine.count - before
    theirs = [there.table for there in found if there.table is not None]
    table = None if asked is None else agreed(asked, theirs)
    shown = tuple(member(there, table) for there in found)
    recovery = None if asked is None or brackets is None else recovery_of(asked, brackets)
    again = len(context.paths) <= RECOMPUTE_REQUESTS
    return Band(
        threshold=WORTH_CHANGING,
        replays=count,
        members=shown,
        ceiling=ceiling_band(shown),
        capacity=capacity_band([there.curve for there in found if there.curve is not None], shown),
        policy=None if table is None else policy_bands(table, theirs, shown),
        bound=None if recovery is None else bound_bands(context, recovery, found[1:], again=again),
        pin=None if table is None else pin_band(shown),
    )
