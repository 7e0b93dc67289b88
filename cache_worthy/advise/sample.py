"""How the figures of ``--sample`` were estimated, and their errors."""

from __future__ import annotations

from dataclasses import dataclass

from cache_worthy.advise.capacity import CapacityCurve
from cache_worthy.advise.context import Context
from cache_worthy.advise.policy_table import Policies
from cache_worthy.advise.quantity import nothing
from cache_worthy.advise.section import Section
from cache_worthy.measure.replays import BASELINE
from cache_worthy.measure.sampling import GROUPS, SampledReplays, cost_ratio, saving

METHOD = (
    f"95% by a delete-a-group jackknife over {GROUPS} parts of the kept subtrees, of costs on the log "
    "odds of what is lost; it sees the luck of the draw, not a bias that all parts share"
)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A point of the curve: ``cost_ratio`` plus or minus ``error``."""

    bytes: int
    cost_ratio: float | None
    error: float


@dataclass(frozen=True, slots=True)
class SavingEstimate:
    """What the best policy of a column saves against lru, plus or minus ``error``."""

    bytes: int
    policy: str
    saving_fraction: float
    error: float


@dataclass(frozen=True, slots=True)
class SampleReport:
    """How the figures were estimated."""

    fraction: float
    """Of the subtrees, as asked for."""
    seed: int
    """Of the hash."""
    subtrees: int
    kept_subtrees: int
    requests: int
    kept_requests: int
    blocks: int
    kept_blocks: int
    shared_blocks: int
    """Kept in every sample."""
    scale: float
    """Of the capacity beyond the shared blocks, sample over log."""
    least_bytes: int
    """The least capacity that the sample can answer."""
    method: str
    """Of the errors."""
    curve: tuple[Estimate, ...]
    """The points of the capacity curve."""
    savings: tuple[SavingEstimate, ...]
    """The columns of the policy table."""
    whole_log: tuple[str, ...]
    """Fields that are not estimated."""
    not_answered: tuple[str, ...]
    """Sections that a sample leaves out."""


@Section("sample", needs=("capacity", "policy_table"), title="Sample", place=40, compare=nothing)
def sample(context: Context, curve: CapacityCurve, policies: Policies) -> SampleReport | None:
    """What was sampled, and the errors of the curve and of the savings.

    None for an analysis of the whole log; a sample of all of it is exact.
    """
    drawn, replays, rows = context.sample, context.replays, policies.table.rows
    if drawn is None:
        return None
    errors, spreads = [0.0] * len(curve.points), [0.0] * len(rows)
    if isinstance(replays, SampledReplays):
        points = [(curve.policy, p.bytes) for p in curve.points]
        errors = replays.errors(points, cost_ratio, context.step)
        for part in replays.parts:
            part.ahead([(BASELINE, row.bytes) for row in rows], context.step, "error, baseline")
        spreads = replays.errors([(row.best, row.bytes) for row in rows], saving, context.step)
    return SampleReport(
        fraction=drawn.fraction,
        seed=drawn.seed,
        subtrees=drawn.subtrees,
        kept_subtrees=drawn.kept_subtrees,
        requests=replays.forest.requests,
        kept_requests=len(drawn.rows),
        blocks=drawn.log_blocks,
        kept_blocks=drawn.forest.distinct,
        shared_blocks=drawn.shared,
        scale=drawn.own / (drawn.log_blocks - drawn.shared),
        least_bytes=replays.least,
        method=METHOD,
        curve=tuple(
            Estimate(p.bytes, p.cost_ratio, error)
            for p, error in zip(curve.points, errors, strict=True)
        ),
        savings=tuple(
            SavingEstimate(
                bytes=row.bytes,
                policy=row.best,
                saving_fraction=row.saving_fraction,
                error=error,
            )
            for row, error in zip(rows, spreads, strict=True)
        ),
        whole_log=("input", "workload", "worth", "pin"),
        not_answered=context.skippable if isinstance(replays, SampledReplays) else (),
    )
