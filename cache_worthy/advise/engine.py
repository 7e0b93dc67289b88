"""Advice in the words of one serving engine: its own options, the flag to type, memory, pins.

A table of what the engine offers stands at the same capacities and in the same unit as the
research policies, on equal terms: whole blocks, prompts only, one request at a time. Sources of
every statement about an engine: `cache_worthy.sim.sglang.versions`, the engines' documentation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cache_worthy.advise import sglang, vllm
from cache_worthy.advise.capacity import CapacityCurve
from cache_worthy.advise.context import Context
from cache_worthy.advise.memory import Demand, Memory, measure_memory
from cache_worthy.advise.offer import EngineOption, Offer, Served
from cache_worthy.advise.policy_table import Policies
from cache_worthy.advise.quantity import POLICY, Quantities, Quantity
from cache_worthy.advise.reader import Reader
from cache_worthy.advise.section import Section
from cache_worthy.advise.workload import Workload
from cache_worthy.sim.columns import RequestTable
from cache_worthy.sim.outcome import Outcome
from cache_worthy.sim.sglang.versions import CURRENT, server_for


@dataclass(frozen=True, slots=True)
class EngineAdvice:
    """What to do on one engine."""

    engine: str
    server: str
    """The version that the options are those of."""
    options: tuple[EngineOption, ...]
    """The default first."""
    at: int
    """Index of the capacity that the verdict is about: the user's, else the recommended."""
    best: str
    """Label of the option to run."""
    saving_cost: int
    """FLOPs that it saves against the default there."""
    saving_fraction: float
    """Of the default's total recompute."""
    verdict: str
    """In words."""
    type_this: str | None
    """The exact options for the command line, or None when there is nothing to set."""
    memory: Memory
    pins: str
    """Where this engine can hold a prefix, in words."""
    tail_cost_ratio: float | None
    """vLLM: recompute with room for everything, full blocks only, over the same with partial last
    blocks; over `TAILS_MATTER` the report says so. None for other engines."""


def _compare(document: Reader) -> Quantities:
    engine = document.maybe("engine")
    if engine is not None:
        yield POLICY, Quantity("engine's option", "words", engine.text("best"))


@Section(
    "engine",
    needs=("workload", "capacity", "policy_table"),
    title="Server",
    place=90,
    compare=_compare,
)
def engine(
    context: Context, workload: Workload, curve: CapacityCurve, policies: Policies
) -> EngineAdvice | None:
    """What to do on the engine of ``--engine``; None for the generic one."""
    name, log = context.options.engine, context.log
    if name == "generic":
        return None
    version = context.options.sglang_version
    server = CURRENT if version is None else server_for(version)
    served = Served(
        forest=context.forest,
        lengths=context.lengths,
        priorities=RequestTable.of(log.requests).priorities,
        block_tokens=log.block_tokens,
        from_text=log.tokenizer is not None or log.chars_per_block is not None,
    )
    offers = sglang.offers(served, server) if name == "sglang" else vllm.offers(served)
    capacities = [row.bytes for row in policies.table.rows]
    options = tuple(
        _option(context, offer, capacities, default=n == 0) for n, offer in enumerate(offers)
    )
    at, tails = capacities.index(policies.chosen), None
    if name == "vllm":
        # With room for everything, what is left is what full blocks alone cost.
        everything = context.forest.distinct
        dropped, kept = (_recompute(context, offer.replay(everything)) for offer in offers)
        tails = dropped / kept if kept else None
        choice = vllm.choose(options, served, tails)
    else:
        choice = sglang.choose(options, at)
    demand = Demand(
        asked=context.chosen,
        recommended=curve.recommended_bytes,
        floor=workload.floor_bytes,
        longest=max((r.input_length + (r.output_length or 0) for r in log.requests), default=0),
    )
    return EngineAdvice(
        engine=name,
        server=f"{server.label} (read: {server.source})" if name == "sglang" else "vLLM, v1 engine",
        options=options,
        at=at,
        best=choice.best,
        saving_cost=choice.saving_cost,
        saving_fraction=choice.saving_fraction,
        verdict=choice.verdict,
        type_this=choice.type_this,
        memory=measure_memory(name, context.size, demand, gpu_gib=context.options.gpu_gib),
        pins=sglang.pins_text(server) if name == "sglang" else vllm.PINS,
        tail_cost_ratio=tails,
    )


def _option(
    context: Context, offer: Offer, capacities: Sequence[int], *, default: bool
) -> EngineOption:
    """An option, replayed at every capacity."""
    compulsory, prompt = context.replays.compulsory_cost, sum(context.lengths)
    totals: list[int] = []
    rates: list[float | None] = []
    for number, capacity in enumerate(capacities, 1):
        context.step(
            f"{context.options.engine}: {offer.label} at capacity {number}/{len(capacities)}"
        )
        outcome = offer.replay(capacity // context.size.block)
        totals.append(_recompute(context, outcome))
        rates.append(outcome.total_hit_tokens / prompt if prompt else None)
    return EngineOption(
        label=offer.label,
        flag=offer.flag,
        default=default,
        total_cost=tuple(totals),
        cost_ratio=tuple(t / compulsory if compulsory else None for t in totals),
        token_hit_rate=tuple(rates),
        note=offer.note,
    )


def _recompute(context: Context, outcome: Outcome) -> int:
    """FLOPs under this project's cost model, whatever was matched."""
    table, lengths = context.replays.costs, context.forest.length
    return sum(table[n] - table[k] for n, k in zip(lengths, outcome.matched, strict=True))
