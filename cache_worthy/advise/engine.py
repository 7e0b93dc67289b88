"""Advice for one server: its own options, the flag to type, memory flags, pins.

The options of the server are replayed at the same capacities and in the same unit as the research
policies: whole blocks, prompts only, one request at a time. Sources of every statement about a
server: `cache_worthy.sim.sglang.versions`, the engines' documentation.
"""

from __future__ import annotations

from collections.abc import Sequence

from cache_worthy.advise import sglang, vllm
from cache_worthy.advise.capacity import CapacityCurve
from cache_worthy.advise.context import Context
from cache_worthy.advise.memory import measure_memory
from cache_worthy.advise.offer import EngineAdvice, EngineOption, Offer
from cache_worthy.advise.policy_table import Policies, PolicyRow
from cache_worthy.advise.quantity import POLICY, Quantities, Quantity
from cache_worthy.advise.reader import Reader
from cache_worthy.advise.section import Section
from cache_worthy.advise.workload import Workload, share

_SERVERS = {"sglang": (sglang.offers, sglang.choose), "vllm": (vllm.offers, vllm.choose)}


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
    """What to do on the server of ``--engine``; None for the generic one."""
    name, policy_rows = context.options.engine, policies.table.rows
    if name == "generic":
        return None
    offered, choose = _SERVERS[name]
    offers = offered(context)
    options = tuple(
        _option(context, offer, policy_rows, default=not n) for n, offer in enumerate(offers)
    )
    at = [row.bytes for row in policy_rows].index(policies.chosen)
    memory = measure_memory(
        name,
        context.size,
        recommended=curve.recommended_bytes,
        floor=workload.floor_bytes,
        asked=context.chosen,
        longest=max(
            (r.input_length + (r.output_length or 0) for r in context.log.requests), default=0
        ),
        gpu_gib=context.options.gpu_gib,
    )
    return choose(context, offers, options=options, at=at, memory=memory)


def _option(
    context: Context, offer: Offer, rows: Sequence[PolicyRow], *, default: bool
) -> EngineOption:
    """An option, replayed at every capacity; its cost under this project's model."""
    totals: list[int] = []
    rates: list[float | None] = []
    for number, row in enumerate(rows, 1):
        context.step(f"{context.options.engine}: {offer.label} at capacity {number}/{len(rows)}")
        outcome = offer.replay(row.blocks)
        totals.append(context.forest.recomputed(context.costs, outcome.matched))
        rates.append(share(outcome.total_hit_tokens, sum(context.lengths)))
    return EngineOption(
        label=offer.label,
        flag=offer.flag,
        default=default,
        total_cost=tuple(totals),
        cost_ratio=tuple(share(total, context.replays.compulsory_cost) for total in totals),
        token_hit_rate=tuple(rates),
        note=offer.note,
    )
