"""The head of a report: the answers, a sentence each; their reasons follow."""

from __future__ import annotations

from cache_worthy.advise.analysis import Analysis
from cache_worthy.advise.band import Band
from cache_worthy.advise.capacity import CapacityCurve
from cache_worthy.advise.causes import Causes
from cache_worthy.advise.offer import EngineAdvice
from cache_worthy.advise.pin import Pins
from cache_worthy.advise.pinsim import PinSim
from cache_worthy.advise.policy_table import WORTH_CHANGING, PolicyRow, PolicyTable
from cache_worthy.advise.sample import SampleReport
from cache_worthy.advise.splits import Splits
from cache_worthy.advise.workload import Workload, Worth
from cache_worthy.numbers import counted, gib, percent, ratio
from cache_worthy.report.model import Part, Prose, Section, Tile, Tiles
from cache_worthy.report.words.causes import causes_summary
from cache_worthy.report.words.engine import summary
from cache_worthy.report.words.marks import (
    advice_mark,
    band_at,
    capacity_range,
    flip_text,
    pin_flip,
)
from cache_worthy.report.words.names import SERVERS
from cache_worthy.report.words.pinsim import simulated
from cache_worthy.report.words.sample import sample_head
from cache_worthy.report.words.splits import splits_flag
from cache_worthy.report.words.worth import hidden_text


def words(analysis: Analysis) -> Section:
    """The answers, and the options to type where there are any."""
    causes, band = analysis.of(Causes), analysis.of(Band)
    change = [Prose(text) for text in ([] if causes is None else causes_summary(causes))]
    flips = () if band is None else band.ceiling.flips
    unless = f" It {flip_text(flips)}." if flips else ""
    priced = analysis.parameters.priced
    first = [Prose(priced.mismatch)] if priced and priced.mismatch else []
    workload, worth = analysis.of(Workload), analysis.of(Worth)
    curve, policies, pins = analysis.of(CapacityCurve), analysis.of(PolicyTable), analysis.of(Pins)
    if workload is None or worth is None or curve is None or policies is None or pins is None:
        no = f"Prefix caching is not worth enabling on this log (question 1).{unless}"
        if worth is not None and worth.hidden_fraction is not None:
            no = hidden_text(worth)
        return Section("short", "In short", parts=(*first, Prose(no), *change))
    parts: list[Part] = [*first, _tiles(analysis, curve, policies)]
    sample = analysis.of(SampleReport)
    if sample is not None:
        parts.append(Prose(sample_head(sample, curve.recommended_bytes)))
    moves = band is not None and band.capacity is not None and bool(band.capacity.flips)
    best = curve.recommended
    parts += [
        Prose(
            f"Caching pays off: an unlimited cache would save {percent(worth.ceiling)} of your prefill "
            f"work.{unless}"
        ),
        Prose(
            f"Allocate {gib(best.bytes)} of KV cache ({percent(best.fraction)} of all distinct blocks). "
            f"The lower limit is {gib(workload.floor_bytes)}, one copy of your longest prompt."
            + (f" Under other cost models: {capacity_range(band)}." if band and moves else "")
        ),
        *_policy(analysis, policies, best.bytes),
        *_pins(analysis, pins),
        *change,
    ]
    return Section("short", "In short", parts=tuple(parts))


def _policy(analysis: Analysis, policies: PolicyTable, recommended: int) -> list[Part]:
    """What to run, and whether the answers hold over time."""
    advice, band = analysis.of(EngineAdvice), analysis.of(Band)
    out: list[Part] = []
    if advice is not None:
        out += summary(advice, policies, analysis.input.block_tokens)
    else:
        yours = analysis.parameters.capacity_bytes
        for where, size in (("At that size", recommended), (f"At your {gib(yours or 0)}", yours)):
            row = next((r for r in policies.rows if r.bytes == size), None)
            if row is not None:
                out.append(Prose(_advice(where, row, policies.baseline, band=band)))
    differ = splits_flag(analysis.of(Splits), server=advice is not None)
    return out if differ is None else [*out, Prose(differ)]


def _advice(where: str, row: PolicyRow, baseline: str, *, band: Band | None) -> str:
    """Which policy; a saving under the threshold is no reason to change one."""
    saving = percent(row.saving_fraction, 2)
    across = band_at(band, row)
    mark = "" if across is None else advice_mark(across)
    if row.best == baseline:
        return f"{where} stay with {baseline}{mark}."
    if row.saving_fraction < WORTH_CHANGING:
        return f"{where} stay with {baseline}: {row.best} would save no more than {saving}{mark}."
    if across is not None and across.best is None:
        return f"{where} no policy wins throughout{mark}; {row.best} would save {saving}."
    return f"{where} {row.best} would save another {saving} of prefill work{mark}."


def _pins(analysis: Analysis, pins: Pins) -> list[Prose]:
    """What pinning would do."""
    if analysis.parameters.engine == "vllm":
        return [Prose("vLLM cannot pin prefixes; only a larger cache keeps them.")]
    if not pins.pins:
        return []
    sim = analysis.of(PinSim)
    prefixes = f"the top {counted(len(pins.pins), 'prefix', 'es')} ({gib(pins.together_bytes)})"
    if sim is not None:
        return [Prose(simulated(sim, prefixes) + pin_flip(analysis.of(Band)))]
    most = f"{percent(pins.together_protected_fraction)} of what caching can save"
    return [Prose(f"Pinning {prefixes} protects at most {most}" + pin_flip(analysis.of(Band)))]


def _tiles(analysis: Analysis, curve: CapacityCurve, policies: PolicyTable) -> Tiles:
    """The figures to be seen first."""
    workload, worth, pins = analysis.of(Workload), analysis.of(Worth), analysis.of(Pins)
    advice, best = analysis.of(EngineAdvice), curve.recommended
    give = "Give the cache" + (", estimated" if analysis.of(SampleReport) is not None else "")
    tiles = [
        Tile(give, gib(best.bytes), f"{percent(best.fraction)} of the working set"),
        Tile("Cost there", f"{ratio(best.cost_ratio)}x", "the compulsory minimum"),
    ]
    if workload is not None:
        tiles.append(Tile("At the least", gib(workload.floor_bytes), "the longest prompt"))
    if worth is not None:
        tiles.append(Tile("Caching removes at most", percent(worth.ceiling), "of prefill work"))
    if advice is None:
        row = next(r for r in policies.rows if r.bytes == best.bytes)
        tiles.append(_policy_tile(row, policies.baseline, analysis.of(Band)))
    else:
        tiles.append(_engine_tile(advice))
    if pins is not None:
        protects = percent(pins.together_protected_fraction)
        unit = f"of what caching can save, with {gib(pins.together_bytes)}"
        tiles.append(Tile("Pins protect at most", protects, unit))
    return Tiles(tuple(tiles))


def _policy_tile(row: PolicyRow, baseline: str, band: Band | None) -> Tile:
    across = band_at(band, row)
    if across is not None and across.best is None:
        return Tile("Policy there", "a tie", f"within the band: {', '.join(across.tied)}")
    saves = f"saves {percent(row.saving_fraction, 2)} against {baseline}"
    if row.best == baseline:
        return Tile("Policy there", row.best, "the deployed default: no policy here is cheaper")
    if row.saving_fraction < WORTH_CHANGING:
        return Tile("Policy there", baseline, f"{row.best} {saves}: no reason to change")
    return Tile("Policy there", row.best, saves)


def _engine_tile(advice: EngineAdvice) -> Tile:
    name = f"To set on {SERVERS[advice.engine]}"
    if advice.engine == "vllm":
        return Tile(name, "nothing", "it offers no eviction policy")
    if not advice.saving_cost:
        return Tile(name, advice.best, "the default: keep it")
    saves = f"saves {percent(advice.saving_fraction, 2)} against {advice.options[0].label}"
    return Tile(name, advice.best, saves)
