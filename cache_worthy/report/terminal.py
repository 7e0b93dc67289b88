"""The text rendering of an analysis; ``--json`` is the other rendering of the same object."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from cache_worthy.advise.analysis import Analysis
from cache_worthy.advise.capacity import CapacityCurve
from cache_worthy.advise.pins import Pins
from cache_worthy.advise.policy_table import WORTH_CHANGING, PolicyRow, PolicyTable
from cache_worthy.advise.recoverable import Recovery
from cache_worthy.advise.sample import SampleReport
from cache_worthy.advise.sensitivity import Band
from cache_worthy.advise.server import pins_text
from cache_worthy.advise.workload import Distribution, Worth
from cache_worthy.report.layout import (
    WIDTH,
    counted,
    fact,
    gib,
    gib_short,
    percent,
    plain,
    prose,
    question,
    ratio,
    title,
    wrap,
)
from cache_worthy.report.words import sensitivity as render_sensitivity
from cache_worthy.report.words.causes import causes_summary, render_causes
from cache_worthy.report.words.coldstart import render_coldstart
from cache_worthy.report.words.pinsim import render_pinsim, simulated
from cache_worthy.report.words.sample import (
    NO_BOUND_OF_SAMPLE,
    least_name,
    render_sample,
    sample_head,
    saving_text,
)
from cache_worthy.report.words.sensitivity import (
    bound_mark,
    capacity_mark,
    capacity_range,
    ceiling_mark,
    flip_text,
    pin_flip,
    pin_mark,
)
from cache_worthy.report.words.server import (
    NAMES,
    Typed,
    memory_section,
    pins_note,
    policy_section,
    summary,
    typed,
)
from cache_worthy.report.words.splits import render_splits, splits_flag
from cache_worthy.report.words.tails import render_tails
from cache_worthy.sim.trace import BLOCK_SIZE_TOKENS


def render(analysis: Analysis) -> str:
    """All sections that the run reached, and the footer.

    In this order: in short, workload, question 1, causes, capacity (2 and 3), cold start,
    recoverable (4), policy (5), tails, sensitivity, over time, pins (6).
    """
    out = [*_summary(analysis), *_workload(analysis)]
    out += _question_1(analysis)
    if analysis.causes is not None:
        out += render_causes(analysis.causes)
    if analysis.capacity is not None:
        if analysis.sample is not None:
            out += render_sample(analysis.sample)
        out += _capacity(analysis, analysis.capacity)
    if analysis.coldstart is not None:
        out += render_coldstart(analysis.coldstart)
    if analysis.policy is not None and analysis.capacity is not None:
        out += _question_4(analysis.bound, analysis.band, analysis.sample)
        if analysis.engine is None:
            out += _policy(analysis.policy, analysis.band, analysis.sample)
        else:
            out += policy_section(analysis.engine, analysis.policy)
            out += memory_section(analysis.engine.memory, analysis.engine.engine)
    if analysis.tails is not None:
        out += render_tails(analysis.tails)
    if analysis.band is not None:
        server = None if analysis.engine is None else NAMES[analysis.engine.engine]
        out += render_sensitivity.section(analysis.band, server)
    if analysis.splits is not None:
        out += render_splits(analysis.splits)
    if analysis.pin is not None:
        advice = analysis.engine
        out += _pins(analysis.pin, analysis.parameters.engine, analysis.band)
        if analysis.pinsim is not None:
            out += render_pinsim(analysis.pinsim)
        out += pins_note(pins_text("generic") if advice is None else advice.pins)
    out += _footer(analysis)
    return plain("\n".join(out) + "\n")


def _dist(d: Distribution, *, with_max: bool = True) -> str:
    if d.p50 is None:
        return "--"
    parts = [f"p50 {d.p50:.4g}", f"p90 {d.p90:.4g}", f"p99 {d.p99:.4g}"]
    return ", ".join(parts + ([f"max {d.max:.4g}"] if with_max else []))


def _blocks(d: Distribution) -> str:
    return f"{_dist(d)} block{'' if d.max == 1 else 's'}"


def _tally(counts: Mapping[str, int]) -> str:
    shown = [f"{name} ({n})" for name, n in list(counts.items())[:5]]
    return ", ".join(shown) + (f" and {len(counts) - 5} more" if len(counts) > 5 else "")


def _times(value: float | None) -> str:
    return "--" if value is None else f"{value:.1f}x"


def _summary(a: Analysis) -> list[str]:
    """The answers in a line each; their reasons follow."""
    out = title("IN SHORT")
    for part in in_short(a):
        out += prose(part) if isinstance(part, str) else typed(part, indent=6)
    return out


def in_short(a: Analysis) -> list[str | Typed]:
    """The answers, a sentence each, and the flags to type where there are any."""
    change = [] if a.causes is None else causes_summary(a.causes)
    flips = () if a.band is None else a.band.ceiling.flips
    if a.capacity is None or a.policy is None or a.pin is None:
        unless = f" It {flip_text(flips)}." if flips else ""
        return [f"Prefix caching is not worth enabling on this log (question 1).{unless}", *change]
    moves = a.band is not None and a.band.capacity is not None and bool(a.band.capacity.flips)
    best = a.capacity.recommended
    row = next(r for r in a.policy.rows if r.bytes == best.bytes)
    out: list[str | Typed] = [
        (
            f"Caching pays: an unlimited cache removes {percent(a.worth.ceiling)} of prefill "
            "recompute." + (f" It {flip_text(flips)}." if flips else "")
        ),
        (
            f"Give it {gib(best.bytes)} ({percent(best.fraction)} of the working set); "
            f"{gib(a.workload.floor_bytes)} is the least that serves this log."
            + (f" Across the band: {capacity_range(a.band)}." if a.band and moves else "")
        ),
    ]
    if a.sample is not None:
        out.insert(0, sample_head(a.sample, best.bytes))
    if a.engine is not None:
        out += summary(a.engine, a.policy, a.input.block_tokens)
    else:
        out.append(_advice("At that size", row, a.policy.baseline, a.band))
        yours = next((r for r in a.policy.rows if r.bytes == a.parameters.capacity_bytes), None)
        if yours is not None:
            out.append(_advice(f"At your {gib(yours.bytes)}", yours, a.policy.baseline, a.band))
    differ = None if a.splits is None else splits_flag(a.splits, a.engine is not None)
    if differ is not None:
        out.append(differ)
    if a.parameters.engine == "vllm":
        out.append("vLLM cannot pin a prefix; what protects one is memory.")
    elif a.pin.pins:
        out.append(
            f"Pinning {counted(len(a.pin.pins), 'prefix', 'es')} ({gib(a.pin.together_bytes)}) "
            f"protects at most {percent(a.pin.together_protected_fraction)} of what caching can save"
            + pin_flip(a.band)
        )
        if a.pinsim is not None:
            out.append(simulated(a.pinsim))
    return [*out, *change]


def _advice(where: str, row: PolicyRow, baseline: str, band: Band | None) -> str:
    """Which policy; a saving under the threshold is no reason to change one."""
    saving = percent(row.saving_fraction, 2)
    across = render_sensitivity.band_at(band, row)
    mark = "" if across is None else render_sensitivity.advice_mark(across)
    if row.best == baseline:
        return f"{where} stay with {baseline}{mark}."
    if row.saving_fraction < WORTH_CHANGING:
        return f"{where} stay with {baseline}: {row.best} would save no more than {saving}{mark}."
    if across is not None and across.best is None:
        return f"{where} no policy wins throughout{mark}; {row.best} would save {saving}."
    return f"{where} {row.best} would save {saving} of recompute{mark}."


def _workload(a: Analysis) -> list[str]:
    out = title("WORKLOAD")
    for name, text in workload_facts(a):
        if name == "working set":
            out.append("")
        out += fact(name, text)
    return out


def workload_facts(a: Analysis) -> Iterable[tuple[str, str]]:
    """What was read and what it is like, by name."""
    w, i = a.workload, a.input
    kind = f"{'an' if i.format[0] in 'aeiou' else 'a'} {i.format} log"
    yield ("read as", f"{kind} (field {i.field!r})")
    if i.chars_per_block is not None:
        yield (
            "chunking",
            (
                f"{i.chars_per_block} chars/block at {a.parameters.chars_per_token:g} chars a token "
                "(--chars-per-token; the sharing is exact, the scale is approximate)"
            ),
        )
        if i.tokenizer == "chars+log":
            yield (
                "token ids",
                (
                    "of the log beside text cut by characters: the two share no block; --tokenizer "
                    "lets them meet"
                ),
            )
    elif i.tokenizer is not None:
        what = "token ids of the log" if i.tokenizer == "log" else f"--tokenizer {i.tokenizer}"
        yield ("tokens", f"{what}, {i.block_tokens} a block")
    elif i.block_tokens != BLOCK_SIZE_TOKENS:
        yield ("block size", f"{i.block_tokens} tokens")
    if i.template is not None:
        yield (
            "template",
            f"{i.template} (--template; tools and messages as one text, by its rules)",
        )
    if i.ids_reinterned:
        yield (
            "block ids",
            "do not fix their prefix (an id occurs under two parents); read as (parent, id)",
        )
    if i.length_mismatches:
        yield (
            "lengths",
            (
                f"{i.length_mismatches} records have more or fewer blocks than input_length / "
                f"{i.block_tokens} rounded up; their blocks are taken as they are"
            ),
        )
    yield ("model", a.parameters.model.name)
    cut = f" ({i.skipped_truncated_lines} truncated last line skipped)"
    yield ("records", f"{i.requests}{cut if i.skipped_truncated_lines else ''}")
    yield ("left out", i.records.text())
    yield ("order", i.order)
    if len(i.models) > 1:
        yield ("models", _tally(i.models))
    if i.salts:
        yield ("salts", f"{_tally(i.salts)}; they share no block")
    yield (
        "blocks",
        (
            f"{w.block_references} references, {w.distinct_blocks} distinct  "
            f"({percent(w.reuse_fraction)} reuse)"
        ),
    )
    yield (
        "re-referenced",
        f"{percent(w.rereferenced_fraction)} of distinct blocks are ever asked for twice",
    )
    if w.reuse_distance.p50 is not None:
        yield (
            "reuse distance",
            (
                f"{_dist(w.reuse_distance, with_max=False)} requests  (<=10: "
                f"{percent(w.reuse_within_10, 0)}, <=100: {percent(w.reuse_within_100, 0)})"
            ),
        )
    yield ("request depth", f"{_blocks(w.depth)} of {i.block_tokens} tokens")
    yield ("radix nodes", f"{w.radix_nodes}   size {_blocks(w.node_blocks)}")
    yield (
        "largest subtree",
        f"{counted(w.largest_subtree_blocks, 'block')} must leave before its root can",
    )
    yield (
        "cost spread",
        (
            f"{_times(w.cost_per_node_p90_over_p10)} p90/p10 per node, "
            f"{_times(w.cost_per_byte_p90_over_p10)} per byte"
        ),
    )
    yield ("working set", f"{gib(w.working_set_bytes)}   (this much never evicts)")
    yield (
        "minimum cache",
        (
            f"{gib(w.floor_bytes)} = {counted(w.floor_blocks, 'block')} = {percent(w.floor_fraction)} of it   "
            "(your deepest request; less cannot serve it)"
        ),
    )


def _question_1(a: Analysis) -> list[str]:
    answer, text = worth_text(a.worth, a.band)
    return question(1, answer.upper()) + prose(text)


def worth_text(worth: Worth, band: Band | None = None) -> tuple[str, str]:
    """The answer to question 1, and its reason."""
    mark = "" if band is None or worth.ceiling is None else ceiling_mark(band)
    if worth.worth_caching:
        return "Worth caching", (
            "With unlimited memory and a perfect policy, prefix caching removes at most "
            f"{percent(worth.ceiling)} of this log's prefill recompute. That is a ceiling: no "
            "capacity and no policy can beat it, and a real cache lands under it." + mark
        )
    gain = (
        "There is nothing to cache: no record has a block."
        if worth.ceiling is None
        else f"Even an unlimited cache would remove only {percent(worth.ceiling, 2)} of this "
        "log's prefill recompute."
    )
    return "Not worth caching", (
        f"{gain} Rule: {worth.rule}. Capacity, policy and pins would be answers to a question "
        "that does not arise, so the run ends here." + mark
    )


def _capacity(a: Analysis, curve: CapacityCurve) -> list[str]:
    w = a.workload
    whose = "the deployed default" if a.engine is None else "on the tree of this project"
    estimated = () if a.sample is None else a.sample.curve
    from_sample = ", from a sample" if estimated else ""
    out = title(f"CAPACITY   under {curve.policy}, {whose}{from_sample}")
    out += [
        (
            f"  QUESTION 2       MINIMUM CACHE {gib(w.floor_bytes)} = "
            f"{percent(w.floor_fraction, 2)} of the working set"
        )
    ]
    out += prose(FLOOR_TEXT)
    error, wide = ("  +/-   ", 7) if estimated else ("", 11)
    named = "elast." if estimated else "elasticity"
    out += ["", f"     {'capacity':<24}{'cost':>8}{error} {named:>{wide}}"]
    for n, p in enumerate(curve.points):
        elastic = "--" if p.elasticity is None else f"{p.elasticity:z.3f}"
        error = f"  {estimated[n].error:.4f}" if estimated else ""
        line = (
            f"    {percent(p.fraction, 2):>8} {gib(p.bytes):>15}{ratio(p.cost_ratio):>9}{error} "
            f"{elastic:>{wide}}   "
        )
        first, *rest = wrap(remarks(curve, n, least_name(a.sample)), WIDTH + 8 - len(line)) or [""]
        out += [(line + first).rstrip(), *(" " * len(line) + part for part in rest)]
    best = curve.recommended
    out += question(3, f"ALLOCATE {percent(best.fraction, 2)} = {gib(best.bytes)}")
    return out + prose(allocate_text(a, curve))


FLOOR_TEXT = (
    "A request pins its own path while it is served, so less memory than the deepest request "
    "cannot serve this log at all."
)


def remarks(curve: CapacityCurve, n: int, least: str = "floor") -> str:
    """What the point ``n`` of the curve is."""
    last = len(curve.points) - 1
    named = ((0, least), (curve.recommended_index, "recommended"), (last, "working set"))
    return ", ".join(name for index, name in named if index == n)


def allocate_text(a: Analysis, curve: CapacityCurve) -> str:
    """What the recommended capacity costs, and what more would buy."""
    w, best = a.workload, curve.recommended
    rest = w.working_set_bytes - best.bytes
    over = best.total_cost - w.compulsory_cost
    share = percent(over / best.total_cost if best.total_cost else 0.0)
    more = (
        f"Past it, the remaining {gib(rest)} of KV buys {share} of the recompute you would still be "
        "paying there."
        if rest
        else "It is the whole working set: more memory buys nothing."
    )
    return (
        f"Costs {ratio(best.cost_ratio)}x the compulsory minimum. {more} Rule: {curve.rule} "
        "(elasticity: percent of recompute removed a percent of memory added)."
        + ("" if a.band is None else capacity_mark(a.band))
    )


def _question_4(
    bound: Recovery | None, band: Band | None, sample: SampleReport | None
) -> list[str]:
    if bound is None and sample is not None and sample.not_answered:
        return question(4, "NOT ANSWERED") + prose(NO_BOUND_OF_SAMPLE)
    if bound is None:
        return question(4, "NOT ASKED") + prose(NO_BOUND_TEXT)
    out = title("RECOVERABLE   what lru pays over compulsory, and who could get it back")
    out += [
        f"  {'':<23}{'over':>11}{'only':>11}{'':>11}{'perfect':>11}{'best':>9}",
        (
            f"  {'capacity':<23}{'compulsory':>11}{'memory':>11}{'undecided':>11}{'foresight':>11}"
            f"{'shipped':>9}"
        ),
    ]
    for r in bound.rows:
        head = f"{percent(r.fraction):>7} = {gib(r.bytes):>12}"
        over = None if not bound.compulsory_cost else r.lru_cost / bound.compulsory_cost - 1
        out.append(
            f"  {head:<23}{percent(over):>11}{percent(r.only_memory):>11}"
            f"{percent(r.undecided):>11}{percent(r.foresight):>11}{percent(r.best_shipped):>9}"
        )
    out += ["", "  QUESTION 4       CAPACITY-BOUND OR POLICY-BOUND"]
    for r in bound.rows:
        out += wrap(
            f"{percent(r.fraction)}  {r.word}: {r.verdict}",
            WIDTH,
            initial_indent="    ",
            subsequent_indent=" " * 10,
        )
    return [*out, "", *prose(recovery_text(bound, band))]


NO_BOUND_TEXT = "--skip bound was given: what any policy could still recover was not computed."


def recovery_text(bound: Recovery, band: Band | None = None) -> str:
    """The rule of question 4, and what its words do not say."""
    return (
        f"Rule: {bound.rule}. The last four columns are shares of the first. "
        "Policy-bound does not say that a policy on offer gets it: read the last column; what it "
        "leaves needs the future, or more memory (the curve above)."
        + ("" if band is None or band.bound is None else f" Band: {bound_mark(band.bound)}.")
    )


def _policy(table: PolicyTable, band: Band | None, sample: SampleReport | None) -> list[str]:
    out = title("POLICY" if sample is None else "POLICY   from a sample")
    out += [
        f"  compulsory cost  {table.compulsory_cost:.3e} FLOPs  (any cache pays this)",
        "",
        "  Total recompute cost as a multiple of the compulsory minimum. Lower is",
        "  better; 1.0000 means that nothing was ever prefilled twice.",
        "",
    ]
    names = [f"{n} [!]" if n in table.outside_oracle_coverage else n for n in table.policies]
    first = max(len(n) for n in [*names, "capacity"])
    columns = [[percent(row.fraction) for row in table.rows]]
    columns.append([gib_short(row.bytes) for row in table.rows])
    for n in range(len(names)):
        columns.append(
            [
                ("*" if r.cells[n].cheapest else "") + ratio(r.cells[n].cost_ratio)
                for r in table.rows
            ]
        )
    for name, cells in zip(["capacity", "GiB", *names], columns, strict=True):
        out.append(f"  {name:<{first}}" + "".join(f"{c:>9}" for c in cells))
        if name == "GiB":
            out.append("")
    out += ["", "  * = cheapest at that capacity."]
    if table.outside_oracle_coverage:
        out += ["  [!] = your own policy, outside oracle coverage."]
    out += ["", "  QUESTION 5       VERDICT"]
    for n, row in enumerate(table.rows):
        label = f" ({row.label})" if row.label else ""
        doubt = "" if sample is None else saving_text(sample.savings[n])
        out += wrap(
            f"{percent(row.fraction)}{label}  {policy_verdict(row, band)}{doubt}",
            WIDTH,
            initial_indent="    ",
            subsequent_indent=" " * 10,
        )
    return out


def policy_verdict(row: PolicyRow, band: Band | None) -> str:
    """The answer to question 5 at one capacity; no winner where the band has none."""
    across = render_sensitivity.band_at(band, row)
    return row.verdict if across is None else render_sensitivity.verdict(across, row.verdict)


_PIN_TITLES = {
    "generic": "through your server's retention interface, where it has one",
    "sglang": "softly: SGLang has no hard pin",
    "vllm": "what it would be worth; vLLM cannot pin",
}


def _pins(pins: Pins, engine: str, band: Band | None) -> list[str]:
    out = title(f"PIN   {_PIN_TITLES[engine]}")
    out += [
        f"  QUESTION 6       {pins_answer(pins)}",
        "",
        "           refs   depth  blocks  subtree        pin KV  protects  first record",
    ]
    for n, p in enumerate(pins.pins):
        out.append(
            f"    #{n:<3}{p.references:>7}{p.depth:>8}{p.blocks:>8}{p.subtree_blocks:>9}"
            f"{gib(p.pin_bytes):>14}{percent(p.protected_fraction):>10}{p.first_request:>14}"
        )
    return [*out, "", *prose(together_text(pins, band))]


def pins_answer(pins: Pins) -> str:
    """The answer to question 6."""
    shown = counted(len(pins.pins), "prefix", "es")
    return (
        f"{shown} {'protect' if len(pins.pins) != 1 else 'protects'} at most "
        f"{percent(pins.together_protected_fraction)} of what caching can save"
    )


def together_text(pins: Pins, band: Band | None = None) -> str:
    """What the pins do together, and what that number is not."""
    return (
        f"Together: {gib(pins.together_bytes)} held resident protects at most "
        f"{percent(pins.together_protected_fraction)} of avoidable recompute = "
        f"{percent(pins.together_fraction_of_prefill)} of the whole prefill bill. It is a "
        "ceiling: your cache keeps some of these already. Pin KV includes the ancestors that a "
        "pin implies." + ("" if band is None else pin_mark(band))
    )


def _footer(a: Analysis) -> list[str]:
    return ["", *wrap(footer_text(a), WIDTH, initial_indent="  ", subsequent_indent="  ")]


def footer_text(a: Analysis) -> str:
    """What the numbers are not."""
    sentences = [
        (
            "These are recomputation FLOPs under the analytic cost model of sim/cost.py, not measured "
            "latency; no GPU was timed, and FLOPs are not turned into seconds or dollars."
        ),
        "Blocks are whole: a partial last block counts as a full one.",
    ]
    if a.input.chars_per_block is not None:
        sentences.append(
            "Prompts were cut by characters, not tokens, so sizes and costs are approximate."
        )
    if a.policy is not None:
        sentences.append(
            "The shipped policies and the replay are inside oracle coverage (README, status)"
            + (
                f"; {', '.join(a.policy.outside_oracle_coverage)} is your own code and outside it."
                if a.policy.outside_oracle_coverage
                else "."
            )
        )
    if a.bound is not None:
        classes = "; or ".join(dict.fromkeys(r.policy_class for r in a.bound.rows))
        sentences.append(
            "The lower bounds of question 4 are certified: evaluated in exact integers, valid "
            f"whatever the solver did (cache-worthy bound writes the certificate). They bound: "
            f"{classes}. Nothing else here is a bound."
        )
    else:
        sentences.append("Nothing here is a bound.")
    return " ".join(sentences)
