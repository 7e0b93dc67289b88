"""The advisor: six questions, each gating the next, answered from one log.

Nothing here decides what to evict; it reads, replays and compares.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TypeVar

from cache_worthy.advise.capacity import CapacityCurve, measure_curve
from cache_worthy.advise.causes import Causes, measure_causes
from cache_worthy.advise.coldstart import ColdStarts, measure_coldstart
from cache_worthy.advise.pins import DEFAULT_PINS, Pins, measure_pins
from cache_worthy.advise.pinsim import PinSim, measure_pinsim
from cache_worthy.advise.policy import BASELINE, PolicyTable, measure_policies, table_capacities
from cache_worthy.advise.recoverable import Recovery, measure_recovery, with_names
from cache_worthy.advise.sections import SECTIONS
from cache_worthy.advise.sensitivity import Band, as_the_band_says, family, measure_sensitivity
from cache_worthy.advise.server import Engine, EngineAdvice, advise, gpu_room
from cache_worthy.advise.splits import Splits, measure_splits
from cache_worthy.advise.tails import Tails, measure_tails
from cache_worthy.advise.workload import Workload, Worth, measure_workload, measure_worth
from cache_worthy.logs.log import Log, Records
from cache_worthy.measure.cost_curve import CostCurve
from cache_worthy.measure.floor import require_floor
from cache_worthy.measure.per_request import known_blocks
from cache_worthy.measure.replays import Replays
from cache_worthy.measure.sampling import (
    SampledReplays,
    SampleReport,
    draw,
    report,
    require_answered,
)
from cache_worthy.sim.columns import RequestTable
from cache_worthy.sim.cost import DEFAULT_MODEL, BlockCost, BlockSize, Model
from cache_worthy.sim.forest import build_forest
from cache_worthy.sim.outcome import Outcome
from cache_worthy.sim.radix.policies import EvictionPolicy
from cache_worthy.sim.sglang.versions import CURRENT, server_for
from cache_worthy.sim.trace import paths_of
from cache_worthy.workers import SERIAL, Workers

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Options:
    """What a user may choose.

    Attributes
    ----------
    model : Model
    chars_per_token : float
        As the log was read; repeated in the document.
    capacity : callable or None
        ``capacity(distinct_blocks, block_bytes)`` in bytes, or None.
    own_policies : mapping of str to callable
        Factories of the user's policies by display name.
    top_pins : int
    show_text : bool
        Whether a few characters of prompts may stand in the result.
    skip : frozenset of str
        Sections to leave out, by their names in ``sections.SECTIONS``.
    cost_curve : CostCurve or None
        A measured member of the sensitivity band.
    sample : float or None
        Estimate from this share of the log's subtrees.
    """

    model: Model = DEFAULT_MODEL
    chars_per_token: float = 4.0
    capacity: Callable[[int, int], int | None] | None = None
    own_policies: Mapping[str, Callable[[], EvictionPolicy]] = field(default_factory=dict)
    top_pins: int = DEFAULT_PINS
    skip: frozenset[str] = frozenset()
    cost_curve: CostCurve | None = None
    sample: float | None = None
    engine: Engine = "generic"
    gpu_gib: float | None = None
    sglang_version: str | None = None
    show_text: bool = True


@dataclass(frozen=True, slots=True)
class Input:
    """The log that was read."""

    source: str
    sha256: str
    format: str
    field: str
    requests: int
    skipped_truncated_lines: int
    length_mismatches: int
    block_tokens: int
    chars_per_block: int | None
    ids_reinterned: bool
    records: Records
    order: str
    moved: int
    tokenizer: str | None
    template: str | None
    models: dict[str, int]
    salts: dict[str, int]


@dataclass(frozen=True, slots=True)
class Parameters:
    """Everything that the numbers depend on beside the log."""

    model: Model
    chars_per_token: float
    capacity_bytes: int | None
    own_policies: tuple[str, ...]
    pins: int
    skip: tuple[str, ...]
    cost_curve: CostCurve | None
    engine: Engine
    gpu_gib: float | None
    sglang_version: str | None
    show_text: bool


@dataclass(frozen=True, slots=True)
class Analysis:
    """The whole result: what ``--json`` writes and the tables render.

    ``capacity``, ``policy``, ``pin`` and the sections of ``sections.SECTIONS`` are None when question
    1 ended the run (of ``band`` the ceiling is left; ``causes`` is there and says why), the sections
    also when they were skipped; ``engine`` is None for the generic engine too.
    """

    parameters: Parameters
    input: Input
    workload: Workload
    worth: Worth
    capacity: CapacityCurve | None
    policy: PolicyTable | None
    bound: Recovery | None
    pin: Pins | None
    engine: EngineAdvice | None
    coldstart: ColdStarts | None
    tails: Tails | None
    band: Band | None
    splits: Splits | None
    pinsim: PinSim | None
    sample: SampleReport | None
    causes: Causes | None

    def of(self, kind: type[R]) -> R | None:
        """The result of one type, or None where the run did not come to it."""
        for field_ in fields(self):
            value = getattr(self, field_.name)
            if isinstance(value, kind):
                return value
        return None


def analyze(
    log: Log,
    options: Options,
    step: Callable[[str], None] = lambda text: None,
    workers: Workers = SERIAL,
) -> Analysis:
    """Answer the questions for one log.

    Raises
    ------
    UsageError
        If the chosen capacity is under the floor.
    """
    model, tokens = options.model, log.block_tokens
    size, cost = BlockSize(model, tokens), BlockCost(model, tokens)
    step("interning blocks")
    paths = paths_of(log.requests)
    forest = build_forest(paths)
    workload = measure_workload(forest, model, tokens)
    worth = measure_worth(workload)
    chosen = None
    if options.capacity is not None:
        chosen = options.capacity(forest.distinct, size.block)
    members = family(model, tokens, forest.depth, options.cost_curve)
    replays = curve = table = recovery = pins = advice = coldstart = tails = band = None
    splits = pinsim = sampled = causes = None
    known = known_blocks(forest)
    lengths: Sequence[int] = (
        log.requests.lengths
        if isinstance(log.requests, RequestTable)
        else [r.input_length for r in log.requests]
    )
    recommended: Outcome | None = None
    if worth.worth_caching:
        require_floor(chosen, forest, size)
        replays = Replays(forest, size, cost, options.own_policies, workers)
        sample = None if options.sample is None else draw(forest, options.sample)
        if sample is not None and sample.fraction < 1:
            options = replace(options, skip=frozenset(SECTIONS))
            estimated = SampledReplays(replays, sample)
            require_answered(chosen, estimated)
            replays = estimated
        curve = measure_curve(replays, step)
        shown = chosen
        if shown is None and options.gpu_gib is not None:
            room = gpu_room(model, options.gpu_gib)
            if workload.floor_bytes <= room < curve.recommended_bytes:
                shown = room
        capacities = table_capacities(
            replays.least,
            workload.working_set_bytes,
            curve.recommended_bytes,
            shown,
            least="floor" if replays.least == workload.floor_bytes else "least answered",
        )
        table = measure_policies(replays, capacities, step)
        if sample is not None:
            sampled = report(replays, sample, curve, table, step)
        if "bound" not in options.skip:
            recovery = measure_recovery(paths, forest.depth, cost, table, step, workers)
        advice = advise(
            options.engine,
            log.requests,
            forest,
            size,
            cost,
            model,
            tokens,
            [capacity for capacity, _ in capacities],
            curve.recommended_bytes if shown is None else shown,
            chosen,
            curve.recommended_bytes,
            workload.floor_bytes,
            options.gpu_gib,
            CURRENT if options.sglang_version is None else server_for(options.sglang_version),
            step,
            from_text=log.tokenizer is not None or log.chars_per_block is not None,
        )
        pins = measure_pins(forest, size, cost, workload.uncached_cost, options.top_pins)
        if "causes" not in options.skip:
            recommended = replays.run(BASELINE, curve.recommended_bytes)
        if "coldstart" not in options.skip:
            step("cold start")
            coldstart = measure_coldstart(replays, known, lengths, tokens, table)
        if "tails" not in options.skip:
            step("tails")
            tails = measure_tails(replays, known, table)
        if "pinsim" not in options.skip:
            step("pins simulated")
            at, label = curve.recommended_bytes, "recommended"
            if shown is not None:
                at, label = shown, "yours"
            pinsim = measure_pinsim(replays, known, pins, options.top_pins, at, label)
    if "causes" not in options.skip:
        step("causes")
        causes = measure_causes(
            forest,
            cost.cumulative(forest.depth),
            paths,
            lengths,
            tokens,
            known,
            log.evidence,
            recommended,
            options.show_text,
        )
    if "band" not in options.skip:
        band = measure_sensitivity(
            members,
            forest,
            paths,
            replays,
            () if curve is None else curve.points,
            table,
            recovery,
            step,
            workers,
        )
    if band is not None and table is not None:
        table = as_the_band_says(table, band)
        recovery = None if recovery is None else with_names(recovery, table)
    if "splits" not in options.skip and replays is not None and curve is not None and table:
        splits = measure_splits(
            paths, replays, curve, table, cost, options.own_policies, step, workers
        )
    return Analysis(
        parameters=Parameters(
            model=model,
            chars_per_token=options.chars_per_token,
            capacity_bytes=chosen,
            own_policies=tuple(options.own_policies),
            pins=options.top_pins,
            skip=tuple(sorted(options.skip)),
            cost_curve=options.cost_curve,
            engine=options.engine,
            gpu_gib=options.gpu_gib,
            sglang_version=options.sglang_version,
            show_text=options.show_text,
        ),
        input=Input(
            source=log.source,
            sha256=log.sha256,
            format=log.format,
            field=log.field,
            requests=len(log.requests),
            skipped_truncated_lines=log.skipped_truncated,
            length_mismatches=log.length_mismatches,
            block_tokens=tokens,
            chars_per_block=log.chars_per_block,
            ids_reinterned=forest.reinterned,
            records=log.records,
            order=log.order,
            moved=log.moved,
            tokenizer=log.tokenizer,
            template=log.template,
            models=log.models,
            salts=log.salts,
        ),
        workload=workload,
        worth=worth,
        capacity=curve,
        policy=table,
        bound=recovery,
        pin=pins,
        engine=advice,
        coldstart=coldstart,
        tails=tails,
        band=band,
        splits=splits,
        pinsim=pinsim,
        sample=sampled,
        causes=causes,
    )
