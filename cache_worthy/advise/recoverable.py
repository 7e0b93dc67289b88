"""Question 4: how much any policy could still recover, by the certified lower bound.

At a capacity, what the baseline pays over compulsory is split into three parts that sum to it:

* only memory recovers: up to the certified bound, below which no policy of the class pays;
* undecided: between the bound and the best schedule that was found;
* foresight recovers: the part that this schedule, which knows the future, recovers.

What the best shipped policy recovers lies within the last two.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from cache_worthy.advise.context import Context
from cache_worthy.advise.policy_table import Policies, PolicyRow, PolicyTable
from cache_worthy.advise.section import Section
from cache_worthy.advise.workload import share
from cache_worthy.errors import UsageError
from cache_worthy.measure.replays import BASELINE
from cache_worthy.workers import SERIAL

if TYPE_CHECKING:
    from cache_worthy.oracles.bound.groups import BlockTrace, Grouped

CAPACITY_SHARE = 0.5
"""Capacity-bound if at least this share of the excess is beyond every policy."""

RULE = (
    f"capacity-bound when the certified bound puts at least {CAPACITY_SHARE:.0%} of what lru pays "
    "over compulsory beyond every policy, else policy-bound"
)


@dataclass(frozen=True, slots=True)
class Recoverable:
    """Question 4 at one capacity; costs in exact FLOPs, shares of lru's excess over compulsory."""

    fraction: float
    """Of the working set."""
    bytes: int
    blocks: int
    lru_cost: int
    lower_bound: int
    """Certified."""
    lower_bound_ratio: float | None
    """Over compulsory."""
    feasible_cost: int
    """Of the best clairvoyant schedule that was found."""
    feasible_ratio: float | None
    """Over compulsory."""
    best_policy: str
    best_cost: int
    """Of the best shipped policy."""
    recoverable_fraction: float
    """``1 - lower_bound / lru_cost``: at most this share of lru's cost can be saved."""
    only_memory: float | None
    """Share of the excess that only more memory recovers; None without an excess."""
    undecided: float | None
    """Share of the excess between the bound and the schedule that was found."""
    foresight: float | None
    """Share of the excess that a schedule that knows the future recovers."""
    best_shipped: float | None
    """Share of the excess that the best shipped policy recovers."""
    word: str
    """"capacity-bound", "policy-bound" or "nothing to recover"."""
    verdict: str
    certified: Literal[True]
    """Always true: a bound that is not verified in exact integers is not given."""
    policy_class: str
    solver: str


@dataclass(frozen=True, slots=True)
class Recovery:
    """Question 4 at every capacity of the policy table."""

    rule: str
    compulsory_cost: int
    rows: tuple[Recoverable, ...]


@dataclass(frozen=True, slots=True)
class Bracket:
    """What is known of the optimum at one capacity, in exact FLOPs."""

    compulsory: int
    """Every block once."""
    lower: int
    """The certified bound."""
    feasible: int
    """The best clairvoyant schedule that was found."""
    policy_class: str
    """The policies that the bound covers."""
    solver: str


@Section("recoverable", needs=("policy_table",), shown=False)
def recoverable(context: Context, policies: Policies) -> tuple[Bracket, ...]:
    """Bracket the optimum at every capacity of the policy table."""
    return measure_brackets(context, context.costs, [row.blocks for row in policies.table.rows])


def measure_brackets(
    context: Context, costs: Sequence[int], blocks: Sequence[int], *, about: str = ""
) -> tuple[Bracket, ...]:
    """Bracket the optimum at every capacity.

    ``costs`` are cumulative by depth; ``about`` is a prefix of the progress messages.

    Raises
    ------
    UsageError
        If no solver is installed, or the search was interrupted.
    """
    from cache_worthy.oracles.bound.groups import group_references, trace_of_requests

    def step(text: str) -> None:
        context.step(f"{about}{text}")

    workers = context.workers
    trace = trace_of_requests(context.paths, costs)
    shared = (trace, group_references(trace))
    found = workers.map_tasks(
        functools.partial(_bracket, progress=step if workers is SERIAL else None),
        shared,
        blocks,
        step=step,
        label=lambda item: f"lower bound at capacity {blocks.index(item) + 1}/{len(blocks)}",
    )
    workers.forget(shared)
    return tuple(found)


def _bracket(
    shared: tuple[BlockTrace, Grouped], blocks: int, progress: Callable[[str], None] | None
) -> Bracket:
    from cache_worthy.oracles.bound.offline import offline_bound
    from cache_worthy.oracles.solver import SolverError

    trace, grouped = shared
    try:
        bound = offline_bound(trace, blocks, grouped=grouped, progress=progress)
    except SolverError as error:
        raise UsageError(f"question 4: {error}; --skip bound leaves it out") from error
    if bound.interrupted:
        raise KeyboardInterrupt
    return Bracket(
        compulsory=bound.compulsory,
        lower=bound.lower,
        feasible=bound.feasible,
        policy_class=bound.certified.policy_class,
        solver=bound.solver,
    )


def recovery_of(table: PolicyTable, brackets: Sequence[Bracket]) -> Recovery:
    """Question 4, from the costs of the policies and the brackets of the optimum."""
    rows = tuple(_split(*pair) for pair in zip(table.rows, brackets, strict=True))
    return Recovery(rule=RULE, compulsory_cost=table.compulsory_cost, rows=rows)


def _split(row: PolicyRow, bracket: Bracket) -> Recoverable:
    costs = {c.policy: c.total_cost for c in row.cells if c.covered}
    lru, best = costs[BASELINE], min(costs.values())
    bracket = replace(bracket, feasible=min(bracket.feasible, best))
    compulsory, lower, feasible = bracket.compulsory, bracket.lower, bracket.feasible
    if not compulsory <= lower <= feasible:
        raise ArithmeticError(f"bracket out of order: {compulsory}, {lower}, {feasible}")
    excess = lru - compulsory
    # Of several shipped policies that recover as much, the one that question 5 names.
    named = BASELINE if lru == best else min(costs, key=lambda name: costs[name])
    if costs.get(row.best) == best:
        named = row.best
    word, verdict = _verdict(bracket, lru=lru, best=best, named=named)
    return Recoverable(
        fraction=row.fraction,
        bytes=row.bytes,
        blocks=row.blocks,
        lru_cost=lru,
        lower_bound=lower,
        lower_bound_ratio=share(lower, compulsory),
        feasible_cost=feasible,
        feasible_ratio=share(feasible, compulsory),
        best_policy=named,
        best_cost=best,
        recoverable_fraction=1 - lower / lru if lru else 0.0,
        only_memory=share(lower - compulsory, excess),
        undecided=share(feasible - lower, excess),
        foresight=share(lru - feasible, excess),
        best_shipped=share(lru - best, excess),
        word=word,
        verdict=verdict,
        certified=True,
        policy_class=bracket.policy_class,
        solver=bracket.solver,
    )


def _verdict(bracket: Bracket, *, lru: int, best: int, named: str) -> tuple[str, str]:
    """The word by ``RULE``, and a sentence on what it means."""
    excess = lru - bracket.compulsory
    if not excess:
        return "nothing to recover", "lru already pays only what every cache must pay."
    gained = (
        "no shipped policy recovers any of it"
        if best == lru
        else f"{named} recovers {(lru - best) / excess:.1%} of it"
    )
    if bracket.feasible == bracket.compulsory:
        return "policy-bound", (
            "with perfect foresight this capacity would cost exactly the compulsory minimum; "
            f"{gained}. The rest is information about the future, not slack of the bound."
        )
    unavoidable = (bracket.lower - bracket.compulsory) / excess
    word = "capacity-bound" if unavoidable >= CAPACITY_SHARE else "policy-bound"
    return word, (
        f"{unavoidable:.1%} of lru's excess is beyond every policy (only memory helps), foresight "
        f"recovers {(lru - bracket.feasible) / excess:.1%}; {gained}."
    )
