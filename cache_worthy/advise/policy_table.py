"""Every policy at the capacities that matter, from which question 5 is answered."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from cache_worthy.advise.capacity import CapacityCurve
from cache_worthy.advise.context import Context
from cache_worthy.advise.memory import gpu_room
from cache_worthy.advise.section import Section
from cache_worthy.advise.workload import Workload
from cache_worthy.measure.replays import BASELINE, Replays
from cache_worthy.sim.outcome import Outcome
from cache_worthy.sim.radix.policies import POLICIES

FRACTIONS = (0.02, 0.05, 0.10, 0.25)
"""Capacities of the table besides the floor, the recommendation and the user's own."""

WORTH_CHANGING = 0.01
"""A policy that saves a smaller share of recompute is not worth a change."""


@dataclass(frozen=True, slots=True)
class PolicyCell:
    """One policy at one capacity."""

    policy: str
    total_cost: int
    cost_ratio: float | None
    evictions: int
    block_hit_rate: float | None
    cheapest: bool
    covered: bool


@dataclass(frozen=True, slots=True)
class PolicyRow:
    """All policies at one capacity, and the verdict."""

    fraction: float
    """Of the working set."""
    bytes: int
    blocks: int
    label: str
    """"floor", "recommended", "yours", several of them joined by commas, or ""."""
    best: str
    """The cheapest policy; in a tie the baseline, then one that is cheapest across the band."""
    saving_cost: int
    """FLOPs that ``best`` saves against the baseline."""
    saving_fraction: float
    """Of the baseline's total recompute."""
    verdict: str
    """In words."""
    cells: tuple[PolicyCell, ...]


@dataclass(frozen=True, slots=True)
class PolicyTable:
    """Question 5 over the capacities that matter."""

    baseline: str
    compulsory_cost: int
    policies: tuple[str, ...]
    outside_oracle_coverage: tuple[str, ...]
    rows: tuple[PolicyRow, ...]


@dataclass(frozen=True, slots=True)
class Policies:
    """The table under the chosen model alone."""

    table: PolicyTable
    """In a tie for the cheapest it names the first."""
    yours: int | None
    """The user's own capacity in bytes, or what fits on the user's GPU."""
    chosen: int
    """The capacity that verdicts are about: ``yours``, else the recommended one."""


@Section("policy_table", needs=("workload", "capacity"), shown=False)
def policy_table(context: Context, workload: Workload, curve: CapacityCurve) -> Policies:
    """Replay every policy at the capacities of the table."""
    replays, options = context.replays, context.options
    yours = context.chosen
    if yours is None and options.gpu_gib is not None:
        room = gpu_room(options.model, options.gpu_gib)
        if workload.floor_bytes <= room < curve.recommended_bytes:
            yours = room
    floor = replays.least
    labels = {floor: ["floor" if floor == workload.floor_bytes else "least answered"]}
    for fraction in FRACTIONS:
        capacity = int(fraction * workload.working_set_bytes)
        if capacity > floor:
            labels.setdefault(capacity, [])
    labels.setdefault(curve.recommended_bytes, []).append("recommended")
    if yours is not None:
        labels.setdefault(yours, []).append("yours")
    capacities = [(c, ", ".join(labels[c])) for c in sorted(labels)]
    return Policies(
        table=measure_policies(replays, capacities, context.step),
        yours=yours,
        chosen=curve.recommended_bytes if yours is None else yours,
    )


def change_to(row: PolicyRow) -> str | None:
    """The policy worth changing to at a capacity, by the threshold of question 5, or None."""
    return row.best if row.saving_fraction >= WORTH_CHANGING else None


def preferring(row: PolicyRow, best: str | None, own: Sequence[str]) -> PolicyRow:
    """The row, naming ``best`` if it is worth changing to and ties with the policy named so far."""
    cheapest = [cell.policy for cell in row.cells if cell.cheapest]
    if best is None or best not in cheapest or change_to(row) in (None, best):
        return row
    verdict = _saves(best, own, fraction=row.saving_fraction, cost=row.saving_cost)
    return dataclasses.replace(row, best=best, verdict=verdict)


def measure_policies(
    replays: Replays,
    capacities: Sequence[tuple[int, str]],
    step: Callable[[str], None] = lambda text: None,
) -> PolicyTable:
    """Replay every policy at every capacity; capacities come with their labels."""
    pairs = [(name, capacity) for capacity, _ in capacities for name in replays.policies]
    replays.ahead(pairs, step, "policy table")
    return PolicyTable(
        baseline=BASELINE,
        compulsory_cost=replays.compulsory_cost,
        policies=tuple(replays.policies),
        outside_oracle_coverage=tuple(_own(replays)),
        rows=tuple(_row(replays, capacity, label) for capacity, label in capacities),
    )


def _own(replays: Replays) -> list[str]:
    """The user's own policies."""
    return [name for name in replays.policies if name not in POLICIES]


def _row(replays: Replays, capacity: int, label: str) -> PolicyRow:
    results = {name: replays.run(name, capacity) for name in replays.policies}
    least = min(r.total_cost for r in results.values())
    base = results[BASELINE].total_cost
    best = BASELINE if base == least else min(results, key=lambda n: results[n].total_cost)
    own = _own(replays)
    return PolicyRow(
        fraction=capacity / replays.working_set,
        bytes=capacity,
        blocks=capacity // replays.size.block,
        label=label,
        best=best,
        saving_cost=base - least,
        saving_fraction=(base - least) / base if base else 0.0,
        verdict=_verdict(results, best, own),
        cells=tuple(
            PolicyCell(
                policy=name,
                total_cost=r.total_cost,
                cost_ratio=r.cost_ratio,
                evictions=r.evictions,
                block_hit_rate=r.block_hit_rate,
                cheapest=r.total_cost == least,
                covered=name not in own,
            )
            for name, r in results.items()
        ),
    )


def _verdict(results: Mapping[str, Outcome], best: str, own: Sequence[str]) -> str:
    costs, base = {r.total_cost for r in results.values()}, results[BASELINE]
    if costs == {base.compulsory_cost}:
        return "every policy costs exactly the same, and all of it is unavoidable."
    if len(costs) == 1:
        return "every policy costs exactly the same here."
    if best == BASELINE:
        return f"no policy here beats {BASELINE}, the deployed default. Changing it would not help."
    cost = base.total_cost - results[best].total_cost
    return _saves(best, own, fraction=cost / base.total_cost, cost=cost)


def _saves(best: str, own: Sequence[str], *, fraction: float, cost: int) -> str:
    mark = " (outside oracle coverage)" if best in own else ""
    return f"{best}{mark} saves {fraction:.2%} of total recompute vs {BASELINE} ({cost:.3e} FLOPs)."
