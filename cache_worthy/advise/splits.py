"""Splits over time: the answers on each half and each quarter of the log.

A log predicts the traffic after it only if its own parts agree. Parts are cut by request order, as
replayed, and each is a log of its own that starts from an empty cache, so parts see less reuse than
the whole.

Evidence: rank 5, a part written to a file and analysed alone gives the same figures; rank 2, the
parts partition the log; a log that repeats itself agrees, one whose second half is other traffic
is flagged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cache_worthy.advise.capacity import CapacityCurve, measure_curve
from cache_worthy.advise.context import Context
from cache_worthy.advise.policy_table import (
    WORTH_CHANGING,
    PolicyRow,
    PolicyTable,
    change_to,
    measure_policies,
    preferring,
)
from cache_worthy.advise.quantity import nothing
from cache_worthy.advise.section import Section
from cache_worthy.advise.workload import judge
from cache_worthy.measure.replays import Replays
from cache_worthy.sim.forest import build_forest

DEFINITION = "by request order; each part is a log of its own, from an empty cache"

SAME_CAPACITY = 2.0
"""Recommendations within this factor are equal: neighbours on the curve are up to 1.4 apart."""

RULES: dict[str, str] = {
    "worth caching": "question 1 has one answer",
    "capacity": f"parts of one length ask for memory within a factor of {SAME_CAPACITY:g}",
    "policy": f"one policy to change to, or none saves {WORTH_CHANGING:.0%}",
}
"""When the parts agree, by verdict."""


@dataclass(frozen=True, slots=True)
class Part:
    """The answers on one part of the log."""

    name: str
    """"whole", "half 1" ... "quarter 4"."""
    first_request: int
    """1-based position in the replayed order."""
    last_request: int
    """Included."""
    requests: int
    distinct_blocks: int
    working_set_bytes: int
    floor_bytes: int
    ceiling: float | None
    worth_caching: bool
    recommended_fraction: float | None
    """Of the part's own working set; this and the following are None if caching is not worth it."""
    recommended_bytes: int | None
    recommended_cost_ratio: float | None
    best_policy: str | None
    """Cheapest at the recommended capacity; in a tie the baseline, then the one that the whole log
    would change to."""
    saving_fraction: float | None
    """What that policy saves against the baseline."""
    change_to: str | None
    """That policy if it saves enough to change, else None."""
    whole_cost_ratio: float | None
    """Cost of this part under the baseline at the whole log's recommended capacity, over the part's
    compulsory cost."""
    whole_saving_fraction: float | None
    """What the whole log's policy to change to would save there; None if it keeps the baseline."""


@dataclass(frozen=True, slots=True)
class Splits:
    """The answers over time."""

    definition: str
    rules: dict[str, str]
    """What agreement means, by verdict."""
    whole_bytes: int
    """The capacity recommended for the whole log."""
    whole_change_to: str | None
    """The policy to change to there, or None."""
    parts: tuple[Part, ...]
    """The whole log first, then halves, then quarters (if there are four requests)."""
    agree: tuple[str, ...]
    """Verdicts of ``rules`` on which the parts agree."""
    disagree: tuple[str, ...]
    """The other ones."""


@Section(
    "splits",
    needs=("capacity", "policy"),
    title="Over time",
    place=120,
    skip="the answers on halves and quarters of the log",
    compare=nothing,
)
def splits(context: Context, curve: CapacityCurve, table: PolicyTable) -> Splits:
    """Answer questions 1, 2, 3 and 5 on each half and each quarter of the log.

    Time: twice that of questions 3 and 5 at one capacity, as halves and quarters each replay the
    log once.
    """
    paths, replays = context.paths, context.replays
    row = next(r for r in table.rows if r.bytes == curve.recommended_bytes)
    asked = (curve.recommended_bytes, change_to(row))
    parts = [_part(("whole", 0, len(paths)), replays, asked=asked, answers=(curve, row))]
    for span in spans(len(paths)):
        name, begin, end = span
        context.step(f"over time: {name}")
        forest = build_forest(paths[begin:end])
        mine = Replays(forest, replays.size, replays.cost, **replays.same)
        answers = None
        if judge(mine.uncached_cost, mine.compulsory_cost).worth_caching:
            theirs = measure_curve(mine)
            there = measure_policies(mine, [(theirs.recommended_bytes, "recommended")]).rows[0]
            answers = (theirs, preferring(there, asked[1], table.outside_oracle_coverage))
        parts.append(_part(span, mine, asked=asked, answers=answers))
        replays.workers.forget(forest)
        del mine, forest  # before the next part is read: a large log's takes tens of megabytes
    verdicts = {
        "worth caching": len({p.worth_caching for p in parts}) == 1,
        "capacity": all(_same_capacity(parts, noun) for noun in ("half", "quarter")),
        "policy": len({p.change_to for p in parts if p.worth_caching}) == 1,
    }
    return Splits(
        definition=DEFINITION,
        rules=RULES,
        whole_bytes=asked[0],
        whole_change_to=asked[1],
        parts=tuple(parts),
        agree=tuple(name for name, same in verdicts.items() if same),
        disagree=tuple(name for name, same in verdicts.items() if not same),
    )


def spans(requests: int) -> Iterator[tuple[str, int, int]]:
    """Name and half-open range of every part.

    Examples
    --------
    >>> list(spans(6))[:3], list(spans(6))[3]
    ([('half 1', 0, 3), ('half 2', 3, 6), ('quarter 1', 0, 1)], ('quarter 2', 1, 3))
    >>> list(spans(1))
    []
    """
    for count, noun in ((2, "half"), (4, "quarter")):
        if requests >= count:
            for n in range(count):
                yield f"{noun} {n + 1}", requests * n // count, requests * (n + 1) // count


def _part(
    span: tuple[str, int, int],
    replays: Replays,
    *,
    asked: tuple[int, str | None],
    answers: tuple[CapacityCurve, PolicyRow] | None,
) -> Part:
    """One part: its own answers to questions 3 and 5, and the effect of the whole log's answers.

    ``asked`` holds the whole log's answers: bytes, and the policy to change to.
    """
    name, begin, end = span
    capacity, policy = asked
    worth = judge(replays.uncached_cost, replays.compulsory_cost)
    curve, row = (None, None) if answers is None else answers
    ratio = saving = None
    if curve is not None:
        lru = replays.run(curve.policy, capacity)
        ratio = lru.cost_ratio
        if policy is not None and lru.total_cost:
            saving = 1 - replays.run(policy, capacity).total_cost / lru.total_cost
    return Part(
        name=name,
        first_request=begin + 1,
        last_request=end,
        requests=end - begin,
        distinct_blocks=replays.forest.distinct,
        working_set_bytes=replays.working_set,
        floor_bytes=replays.forest.depth * replays.size.block,
        ceiling=worth.ceiling,
        worth_caching=worth.worth_caching,
        recommended_fraction=None if curve is None else curve.recommended_fraction,
        recommended_bytes=None if curve is None else curve.recommended_bytes,
        recommended_cost_ratio=None if curve is None else curve.recommended_cost_ratio,
        best_policy=None if row is None else row.best,
        saving_fraction=None if row is None else row.saving_fraction,
        change_to=None if row is None else change_to(row),
        whole_cost_ratio=ratio,
        whole_saving_fraction=saving,
    )


def _same_capacity(parts: Sequence[Part], noun: str) -> bool:
    asked = [p.recommended_bytes for p in parts if p.name.startswith(noun)]
    sizes = [size for size in asked if size is not None]
    return not sizes or max(sizes) <= SAME_CAPACITY * min(sizes)
