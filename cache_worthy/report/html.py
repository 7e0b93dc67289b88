"""The HTML rendering of an analysis: one page that needs nothing else, no network and no script.

Text, figures, tables and the JSON document come from the same object as the other renderings; tests
hold the tables against the JSON cell by cell and look at the page in a browser.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from cache_worthy.advise.analysis import Analysis
from cache_worthy.advise.capacity import CapacityCurve
from cache_worthy.advise.causes import Causes
from cache_worthy.advise.coldstart import ColdStarts
from cache_worthy.advise.pins import Pins
from cache_worthy.advise.pinsim import PinSim
from cache_worthy.advise.policy_table import WORTH_CHANGING, PolicyTable
from cache_worthy.advise.recoverable import Recovery
from cache_worthy.advise.sample import SampleReport
from cache_worthy.advise.sensitivity import Band, PolicyBand
from cache_worthy.advise.server import EngineAdvice, pins_text
from cache_worthy.advise.splits import Splits
from cache_worthy.advise.tails import Tails
from cache_worthy.advise.workload import Workload
from cache_worthy.documents import document, to_json
from cache_worthy.report import terminal as render
from cache_worthy.report.charts import (
    Interval,
    capacity_figure,
    interval_figure,
    reuse_figure,
    split_figure,
    swatch,
    text_of,
)
from cache_worthy.report.html_style import STYLE
from cache_worthy.report.layout import counted, gib, gib_short, percent, ratio
from cache_worthy.report.words.causes import causes_rows, causes_text
from cache_worthy.report.words.pinsim import pinsim_text
from cache_worthy.report.words.sample import (
    NO_BOUND_OF_SAMPLE,
    least_name,
    sample_text,
    saving_text,
)
from cache_worthy.report.words.sensitivity import (
    band_at,
    band_note,
    cheapest,
    saving_range,
    survivals,
)
from cache_worthy.report.words.server import NAMES, Typed, memory_facts, memory_parts
from cache_worthy.report.words.splits import splits_text

#: Nothing is loaded and nothing runs, whatever a log put into its names.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"

JSON_ID = "cache-worthy-document"


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table.

    Attributes
    ----------
    text : str
    css : str
    share : float or None
        Drawn as a bar below the text, 1 being the width of the cell.
    """

    text: str
    css: str = ""
    share: float | None = None


def render_html(a: Analysis) -> str:
    """The whole page."""
    parts = list(_sections(a))
    links = "".join(f'<li><a href="#{key}">{text_of(name)}</a></li>' for key, name, _ in parts)
    body = "".join(
        f'<section aria-labelledby="{key}"><h2 id="{key}">{text_of(name)}</h2>{content}</section>'
        for key, name, content in parts
    )
    w = a.workload
    server = "" if a.engine is None else f", {NAMES[a.engine.engine]}"
    about = f"{counted(w.requests, 'request')}, {a.parameters.model.name}{server}"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<link rel="icon" href="data:,">\n'
        f"<title>Prefix cache report: {text_of(a.input.source)}</title>\n"
        f"<style>{STYLE}</style></head>\n<body><header><h1>Prefix cache report</h1>"
        f'<p class="source">{text_of(a.input.source)}: {text_of(about)}</p></header>\n'
        f'<main>{_short(a)}<nav aria-label="Sections"><ul>{links}</ul></nav>\n{body}</main>\n'
        f"<footer>{_p(render.footer_text(a))}</footer>\n"
        f'<script type="application/json" id="{JSON_ID}">{_embedded(a)}</script>\n</body></html>\n'
    )


def _embedded(a: Analysis) -> str:
    """The JSON document, with nothing in it that could end the element it stands in."""
    text = to_json(document("analyze", a))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _sections(a: Analysis) -> Iterable[tuple[str, str, str]]:
    """Anchor, title and content of each section that the run reached."""
    yield "workload", "Workload", _workload(a)
    head, text = render.worth_text(a.worth, a.band)
    yield "worth", "Question 1: is caching worth it?", _answer(head) + _p(text)
    if a.sample is not None:
        yield "sample", "From a sample", _p(sample_text(a.sample))
    if a.causes is not None:
        yield "causes", "Why the hit rate is no higher", _causes(a.causes)
    if a.capacity is not None and a.policy is not None:
        yield (
            "capacity",
            "Questions 2 and 3: how much memory?",
            _capacity(a, a.capacity, a.policy),
        )
    if a.coldstart is not None:
        yield "coldstart", "Cold start", _coldstart(a.coldstart)
    if a.policy is not None:
        yield (
            "recoverable",
            "Question 4: bound by capacity or by policy?",
            _recoverable(a.bound, a.policy, a.band, a.sample),
        )
        yield (
            "policy",
            "Question 5: which policy?",
            _policy(a.policy, a.band, a.sample)
            if a.engine is None
            else _engine(a.engine, a.policy),
        )
    if a.tails is not None:
        yield "tails", "Tails: single requests", _tails(a.tails)
    if a.band is not None and a.band.capacity is not None and a.band.policy is not None:
        yield "band", "Sensitivity: other cost coefficients", _band(a.band, a.band.policy, a.engine)
    if a.splits is not None:
        yield "splits", "Over time: halves and quarters", _splits(a.splits)
    if a.pin is not None:
        yield "pins", "Question 6: which prefixes to pin?", _pins(a, a.pin)


def _p(text: str, css: str = "") -> str:
    return f"<p{f' class={css}' if css else ''}>{text_of(text)}</p>" if text else ""


def _answer(text: str) -> str:
    return _p(text, "answer")


def _part(part: str | Typed) -> str:
    if isinstance(part, str):
        return _p(part)
    return f'<p class="typed">{text_of(part.label)} <code>{text_of(part.text)}</code></p>'


def _facts(facts: Iterable[tuple[str, str]], key: str) -> str:
    rows = "".join(f"<dt>{text_of(name)}</dt><dd>{text_of(text)}</dd>" for name, text in facts)
    return f'<dl class="facts" id="{key}">{rows}</dl>'


def _table(
    key: str,
    caption: str,
    head: Sequence[str],
    rows: Iterable[Sequence[str | Cell]],
    *,
    chosen: Callable[[int], bool] = lambda n: False,
) -> str:
    """A table that scrolls by itself where the page is too narrow."""
    heads = "".join(f'<th scope="col">{text_of(name)}</th>' for name in head)
    body = []
    for n, row in enumerate(rows):
        cells = [c if isinstance(c, Cell) else Cell(c) for c in row]
        first, *rest = cells
        body.append(
            f"<tr{' class=chosen' if chosen(n) else ''}>"
            f'<th scope="row">{text_of(first.text)}</th>{"".join(map(_cell, rest))}</tr>'
        )
    return (
        f'<p class="caption" id="{key}-caption">{text_of(caption)}</p>'
        f'<div class="scroll" role="region" tabindex="0" aria-labelledby="{key}-caption">'
        f'<table id="{key}" aria-labelledby="{key}-caption"><thead><tr>{heads}</tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table></div>"
    )


def _cell(cell: Cell) -> str:
    css = f' class="{cell.css}"' if cell.css else ""
    bar = ""
    if cell.share is not None:
        bar = f'<span class="bar" style="width:{100 * cell.share:.1f}%"></span>'
    return f"<td{css}>{text_of(cell.text)}{bar}</td>"


def _figure(
    picture: str, legend: Sequence[tuple[str, str, str]], caption: str, numbers: str
) -> str:
    """A figure, its legend (shape, colour, words), and its numbers in a table."""
    items = "".join(
        f"<li>{swatch(shape, css)}{text_of(words)}</li>" for shape, css, words in legend
    )
    keys = f'<ul class="legend">{items}</ul>' if legend else ""
    return (
        f"<figure>{keys}{picture}<figcaption>{text_of(caption)}</figcaption></figure>"
        f"<details><summary>The numbers of this figure</summary>{numbers}</details>"
    )


def _short(a: Analysis) -> str:
    """The answers: tiles, then a sentence each."""
    tiles: list[tuple[str, str, str]] = []
    if a.capacity is not None and a.policy is not None and a.pin is not None:
        best = a.capacity.recommended
        row = next(r for r in a.policy.rows if r.bytes == best.bytes)
        tiles = [
            (
                "Give the cache" if a.sample is None else "Give the cache, estimated",
                gib(best.bytes),
                f"{percent(best.fraction)} of the working set",
            ),
            ("Recompute there", f"{ratio(best.cost_ratio)}x", "the compulsory minimum"),
            ("At the least", gib(a.workload.floor_bytes), "the deepest request"),
            ("Caching removes at most", percent(a.worth.ceiling), "of prefill recompute"),
        ]
        if a.engine is None:
            default = a.policy.baseline
            saves = f"saves {percent(row.saving_fraction, 2)} against {default}"
            shown_policy = row.best
            if row.best == default:
                saves = "the deployed default: no policy here is cheaper"
            elif row.saving_fraction < WORTH_CHANGING:
                shown_policy = default
                saves = f"{row.best} {saves}: no reason to change"
            across = band_at(a.band, row)
            if across is not None and across.best is None:
                tied = f"within the band: {', '.join(across.tied)}"
                tiles.append(("Policy there", "a tie", tied))
            else:
                tiles.append(("Policy there", shown_policy, saves))
        else:
            tiles.append(_engine_tile(a.engine))
        protects = percent(a.pin.together_protected_fraction)
        tiles.append(
            (
                "Pins protect at most",
                protects,
                f"of what caching can save, with {gib(a.pin.together_bytes)}",
            )
        )
    shown = "".join(
        f"<div><dt>{text_of(name)}</dt><dd>{text_of(value)}<small>{text_of(unit)}</small></dd></div>"
        for name, value, unit in tiles
    )
    texts = "".join(map(_part, render.in_short(a)))
    tiled = f'<dl class="tiles">{shown}</dl>' if tiles else ""
    return f'<section aria-labelledby="short"><h2 id="short">In short</h2>{tiled}{texts}</section>'


def _engine_tile(advice: EngineAdvice) -> tuple[str, str, str]:
    name = f"To set on {NAMES[advice.engine]}"
    if advice.engine == "vllm":
        return name, "nothing", "it offers no eviction policy"
    if not advice.saving_cost:
        return name, advice.best, "the default: keep it"
    saves = f"saves {percent(advice.saving_fraction, 2)} against {advice.options[0].label}"
    return name, advice.best, saves


def _workload(a: Analysis) -> str:
    return _facts(render.workload_facts(a), "facts") + _reuse(a.workload)


def _reuse(w: Workload) -> str:
    if not w.reuse_histogram:
        return ""
    d = w.reuse_distance
    total = sum(b.references for b in w.reuse_histogram)
    description = (
        f"Bars by powers of two: {counted(total, 'repeated block reference')}, by the requests since "
        f"the block was last asked for; median {d.p50:g}, p90 {d.p90:g}, p99 {d.p99:g}, most {d.max:g}."
    )
    rows = [
        (
            f"{b.least} to {b.up_to}" if b.least < b.up_to else str(b.up_to),
            str(b.references),
            percent(b.references / total),
        )
        for b in w.reuse_histogram
    ]
    return "<h3>Reuse distance</h3>" + _figure(
        reuse_figure(w.reuse_histogram, description),
        [],
        "Share of repeated block references. What a small cache keeps is what comes back soon.",
        _table("reuse-table", "Reuse distance", ("requests", "references", "share"), rows),
    )


def _capacity(a: Analysis, curve: CapacityCurve, table: PolicyTable) -> str:
    w, best = a.workload, curve.recommended
    whose = "the deployed default" if a.engine is None else "on the tree of this project"
    least = least_name(a.sample)
    certified = () if a.bound is None else a.bound.rows
    description = (
        f"Cost over capacity, from {ratio(curve.points[0].cost_ratio)}x the compulsory minimum at the "
        f"{least}, {gib(curve.points[0].bytes)}, to {ratio(curve.points[-1].cost_ratio)}x at the working set, "
        f"{gib(w.working_set_bytes)}, under {curve.policy}. Recommended: {gib(best.bytes)}, "
        f"{ratio(best.cost_ratio)}x."
    )
    if certified:
        first = certified[0]
        description += (
            f" The best shipped policy pays {ratio(_over(first.best_cost, w))}x at the floor; no "
            f"policy of the class pays less than {ratio(first.lower_bound_ratio)}x there."
        )
    legend = [
        ("dot", "lru", f"{curve.policy}, {whose}"),
        ("diamond", "best", "cheapest policy, where all were replayed"),
    ]
    if certified:
        legend.append(("square", "bound", "certified lower bound: nobody is in the shaded part"))
    points = [
        (
            percent(p.fraction, 2),
            gib(p.bytes),
            ratio(p.cost_ratio),
            percent(p.block_hit_rate),
            "--" if p.elasticity is None else f"{p.elasticity:z.3f}",
            *(() if a.sample is None else (f"{a.sample.curve[n].error:.4f}",)),
            Cell(render.remarks(curve, n, least), "words"),
        )
        for n, p in enumerate(curve.points)
    ]
    error = () if a.sample is None else ("+/- of cost",)
    head = ("capacity", "size", "cost", "block hit rate", "elasticity", *error, "")
    numbers = _table(
        "capacity-table",
        f"Cost over capacity, {curve.policy}" + ("" if a.sample is None else ", from a sample"),
        head,
        points,
        chosen=lambda n: n == curve.recommended_index,
    )
    if certified:
        numbers += _table(
            "bound-table",
            "Cheapest policy and certified lower bound",
            ("capacity", "size", "policy", "its cost", "lower bound"),
            [
                (
                    percent(r.fraction),
                    gib(r.bytes),
                    r.best_policy,
                    ratio(_over(r.best_cost, w)),
                    ratio(r.lower_bound_ratio),
                )
                for r in certified
            ],
        )
    errors = [0.0] * len(curve.points) if a.sample is None else [e.error for e in a.sample.curve]
    if any(errors):
        description += f" From a sample: plus or minus {max(errors):.3f} at the most."
        legend[0] = ("dot", "lru", f"{legend[0][2]}, estimated, with its error")
    picture = capacity_figure(
        curve,
        table,
        a.bound,
        a.parameters.capacity_bytes,
        "floor: deepest request" if least == "floor" else least,
        errors,
        description,
    )
    return (
        _answer(
            f"Minimum cache: {gib(w.floor_bytes)} = {percent(w.floor_fraction, 2)} of the working set"
        )
        + _p(render.FLOOR_TEXT)
        + _answer(f"Allocate {percent(best.fraction, 2)} = {gib(best.bytes)}")
        + _p(render.allocate_text(a, curve))
        + _figure(
            picture,
            legend,
            "Recompute as a multiple of the compulsory minimum, which any cache pays.",
            numbers,
        )
    )


def _over(cost: int, w: Workload) -> float | None:
    return cost / w.compulsory_cost if w.compulsory_cost else None


def _recoverable(
    bound: Recovery | None, table: PolicyTable, band: Band | None, sample: SampleReport | None
) -> str:
    if bound is None and sample is not None and sample.not_answered:
        return _answer("Not answered") + _p(NO_BOUND_OF_SAMPLE)
    if bound is None:
        return _answer("Not asked") + _p(render.NO_BOUND_TEXT)
    labels = [row.label for row in table.rows]
    shares = [
        f"at {percent(r.fraction)} only memory {percent(r.only_memory)}, undecided "
        f"{percent(r.undecided)}, foresight {percent(r.foresight)}"
        for r in bound.rows
    ]
    rows = [
        (
            percent(r.fraction),
            gib(r.bytes),
            percent(r.lru_cost / bound.compulsory_cost - 1 if bound.compulsory_cost else None),
            percent(r.only_memory),
            percent(r.undecided),
            percent(r.foresight),
            percent(r.best_shipped),
            r.best_policy,
        )
        for r in bound.rows
    ]
    verdicts = _facts(
        ((f"{percent(r.fraction)}  {r.word}", r.verdict) for r in bound.rows),
        "recoverable-verdicts",
    )
    figure = _figure(
        split_figure(
            bound, labels, f"Shares of what lru pays over compulsory: {'; '.join(shares)}."
        ),
        [
            ("box", "memory", "only more memory recovers it"),
            ("box", "undecided", "undecided"),
            ("box", "foresight", "perfect foresight recovers it"),
            ("tick", "tick", "the best shipped policy recovers what is right of the line"),
        ],
        "Each bar is what lru pays over the compulsory cost at one capacity.",
        _table(
            "split-table",
            "Shares of what lru pays over compulsory",
            (
                "capacity",
                "size",
                "over compulsory",
                "only memory",
                "undecided",
                "foresight",
                "best shipped",
                "policy",
            ),
            rows,
        ),
    )
    return figure + verdicts + _p(render.recovery_text(bound, band), "note")


def _policy_rows(table: PolicyTable) -> list[list[str | Cell]]:
    own = table.outside_oracle_coverage
    rows: list[list[str | Cell]] = []
    for n, name in enumerate(table.policies):
        cells = [row.cells[n] for row in table.rows]
        rows.append(
            [
                f"{name} [!]" if name in own else name,
                *(
                    Cell(("*" if c.cheapest else "") + ratio(c.cost_ratio), "cheapest" * c.cheapest)
                    for c in cells
                ),
            ]
        )
    return rows


def _heads(table: PolicyTable) -> list[str]:
    return [f"{percent(row.fraction)}\n{gib_short(row.bytes)} GiB" for row in table.rows]


def _policy(table: PolicyTable, band: Band | None, sample: SampleReport | None) -> str:
    marks = ["* cheapest at that capacity"]
    if table.outside_oracle_coverage:
        marks.append("[!] your own policy, outside oracle coverage")
    verdicts = (
        (
            f"{percent(row.fraction)}{f' ({row.label})' if row.label else ''}",
            render.policy_verdict(row, band)
            + ("" if sample is None else saving_text(sample.savings[n])),
        )
        for n, row in enumerate(table.rows)
    )
    return (
        _facts(verdicts, "policy-verdicts")
        + _table(
            "policy-table",
            "Recompute as a multiple of the compulsory minimum; lower is better"
            + ("" if sample is None else "; from a sample"),
            ("policy", *_heads(table)),
            _policy_rows(table),
        )
        + _p(
            f"{'; '.join(marks)}. 1.0000: nothing was ever prefilled twice. Compulsory cost: "
            f"{table.compulsory_cost:.3e} FLOPs, which any cache pays.",
            "note",
        )
    )


def _engine(advice: EngineAdvice, table: PolicyTable) -> str:
    name, row = NAMES[advice.engine], table.rows[advice.at]
    choice = any(o.flag is not None for o in advice.options)
    least = [min(costs) for costs in zip(*(o.total_cost for o in advice.options), strict=True)]
    options: list[list[str | Cell]] = [
        [
            o.label,
            *(
                Cell(("*" if choice and cost == low else "") + ratio(value))
                for cost, low, value in zip(o.total_cost, least, o.cost_ratio, strict=True)
            ),
        ]
        for o in advice.options
    ]
    label = f" ({row.label})" if row.label else ""
    out = _answer(f"What to set on {name}, at {percent(row.fraction)}{label}")
    out += _p(advice.verdict)
    if advice.type_this is not None:
        out += _part(Typed("type", advice.type_this))
    out += _table(
        "engine-table",
        f"What {name} offers ({advice.server}): recompute over the compulsory minimum",
        ("option", *_heads(table)),
        options,
    )
    out += _facts(((o.label, o.note) for o in advice.options if o.note), "engine-notes")
    if choice:
        out += _p(f"* cheapest of what {name} offers at that capacity.", "note")
    out += _table(
        "policy-table",
        f"Research policies, no flags of {name} (lru: on the tree of this project)",
        ("policy", *_heads(table)),
        _policy_rows(table),
    )
    out += f"<h3>Memory, as flags of {text_of(name)}</h3>"
    out += _facts(memory_facts(advice.memory), "memory")
    return out + "".join(map(_part, memory_parts(advice.memory, advice.engine)))


def _causes(causes: Causes) -> str:
    return _table(
        "causes-table",
        "What was no hit, by cause, as a share of the uncached prefill cost",
        ("cause", "requests", "blocks", "share", "example record", "at token"),
        causes_rows(causes),
    ) + _p(causes_text(causes), "note")


_RATES = ("block", "token", "request")


def _coldstart(cold: ColdStarts) -> str:
    rows = [
        (
            r.label,
            gib(r.bytes),
            "never" if r.reached_after is None else str(r.reached_after),
            "never" if r.settled_after is None else str(r.settled_after),
            *(percent(v) for h in (r.cold, r.warm) for v in (h.block, h.token, h.request)),
        )
        for r in cold.rows
    ]
    return _table(
        "coldstart-table",
        f"Requests until an empty cache is warm, and hit rates, under {cold.policy}",
        (
            "capacity",
            "size",
            "reached",
            "settled",
            *(f"{part}\n{rate}" for part in ("cold", "warm") for rate in _RATES),
        ),
        rows,
    ) + _p(
        f"{cold.rule} (window {cold.window_requests}, half {cold.half_requests} requests). "
        f"Cold: the whole log from an empty cache; warm: its second half. Rates: {cold.rates}.",
        "note",
    )


def _tails(tails: Tails) -> str:
    out = ""
    for n, at in enumerate(tails.capacities):
        rows = [
            (
                row.policy,
                *(f"{v:.2e}" for v in (row.p50, row.p95, row.p99, row.max)),
                "--" if row.own_p99 is None else f"{row.own_p99:.3g}",
                *(str(kind.requests) for kind in (row.deep, row.cold, row.first)),
            )
            for row in at.rows
        ]
        out += _table(
            f"tails-table-{n}",
            f"Recompute of a single request, FLOPs, at {gib(at.bytes)} ({at.label})",
            ("policy", "p50", "p95", "p99", "max", "p99 over own", "deep", "cold", "first"),
            rows,
        )
    return out + _p(f"{tails.rule} (p90: {counted(tails.deep_over_blocks, 'block')}).", "note")


def _band(band: Band, policy: Sequence[PolicyBand], advice: EngineAdvice | None) -> str:
    def share(value: float | None, digits: int = 2) -> str:
        return percent(value, digits)

    intervals = [
        Interval(
            label=f"{percent(r.fraction)} = {gib(r.bytes)}",
            value=saving_range(r),
            low=r.saving_low,
            high=r.saving_high,
            point=own.saving_fraction,
            title=f"{cheapest(r)}: {share(own.saving_fraction)} by {band.members[0].name}",
        )
        for r, own in zip(policy, band.members[0].rows, strict=True)
    ]
    description = "Saving against lru at each capacity, over all cost functions: " + "; ".join(
        f"{i.label} {i.value}" for i in intervals
    )
    picture = interval_figure(
        "Saving across the band",
        intervals,
        "saving against lru",
        f"{description}.",
        (WORTH_CHANGING, "worth changing"),
        log=False,
    )
    members = _table(
        "members-table",
        "Answers under each cost function",
        ("cost function", "ceiling", "allocate", "of the working set", "cost there"),
        [
            (
                m.name,
                percent(m.ceiling),
                "--" if m.recommended_bytes is None else gib(m.recommended_bytes),
                share(m.recommended_fraction),
                ratio(m.recommended_cost_ratio),
            )
            for m in band.members
        ],
    )
    savings = _table(
        "band-table",
        "Question 5 across the band",
        ("capacity", "size", "saving, least", "most", "worth it", "cheapest"),
        [
            (
                percent(r.fraction),
                gib(r.bytes),
                share(r.saving_low),
                share(r.saving_high),
                r.worth_changing,
                Cell(cheapest(r), "words"),
            )
            for r in policy
        ],
    )
    return (
        _facts(survivals(band), "survivals")
        + _figure(
            picture,
            [],
            f"From the least to the largest saving; the dot is {band.members[0].name}.",
            savings + members,
        )
        + _p(band_note(band, None if advice is None else NAMES[advice.engine]), "note")
    )


def _splits(splits: Splits) -> str:
    drawn = [
        Interval(
            label=p.name,
            value=gib(p.recommended_bytes),
            low=p.floor_bytes / 2**30,
            high=p.recommended_bytes / 2**30,
            point=p.recommended_bytes / 2**30,
            title=f"{p.name}: floor {gib(p.floor_bytes)}, allocate {gib(p.recommended_bytes)}",
        )
        for p in splits.parts
        if p.recommended_bytes is not None
    ]
    description = "; ".join(i.title for i in drawn)
    picture = interval_figure(
        "Capacity over time",
        drawn,
        "KV cache, GiB (log scale)",
        f"What each part of the log asks for. {description}.",
        (splits.whole_bytes / 2**30, "whole log"),
        log=True,
    )
    rows = [
        (
            p.name,
            str(p.requests),
            percent(p.ceiling),
            gib(p.floor_bytes),
            "--" if p.recommended_bytes is None else gib(p.recommended_bytes),
            "not worth caching" if p.best_policy is None else p.best_policy,
            percent(p.saving_fraction, 2),
            ratio(p.whole_cost_ratio),
        )
        for p in splits.parts
    ]
    numbers = _table(
        "splits-table",
        "The answers on each part",
        (
            "part",
            "requests",
            "ceiling",
            "floor",
            "allocate",
            "cheapest",
            "saves",
            f"cost at {gib(splits.whole_bytes)}",
        ),
        rows,
    )
    caption = "From the floor of each part to the capacity that it asks for."
    return _p(splits_text(splits)) + _figure(picture, [], caption, numbers)


def _pinsim(sim: PinSim) -> str:
    out = "<h3>Simulated</h3>" + _p(f"A{pinsim_text(sim)[1:]}.")
    if sim.gain is None:
        return out
    changes = (
        ("blocks of the pinned prefixes", sim.gain.pinned),
        ("all other blocks, in the room left", sim.gain.rest),
        (f"{counted(sim.gain.outside_requests, 'request')} through no pin", sim.gain.outside),
        ("all", sim.gain.total),
    )
    return out + _table(
        "pinsim-table",
        "Recompute in FLOPs, without and with the pins",
        ("", "without", "with pins", "saved"),
        [(name, f"{c.before:.3e}", f"{c.after:.3e}", f"{c.saved:.2e}") for name, c in changes],
    )


def _pins(a: Analysis, pins: Pins) -> str:
    rows = [
        (
            f"#{n}",
            str(p.references),
            str(p.depth),
            str(p.blocks),
            str(p.subtree_blocks),
            gib(p.pin_bytes),
            Cell(
                percent(p.protected_fraction),
                share=p.protected_cost / pins.pins[0].protected_cost,
            ),
            str(p.first_request),
        )
        for n, p in enumerate(pins.pins)
    ]
    note = pins_text("generic") if a.engine is None else a.engine.pins
    return (
        _answer(render.pins_answer(pins))
        + _table(
            "pins-table",
            "Prefixes by the recompute that holding them protects",
            (
                "",
                "references",
                "depth",
                "blocks",
                "subtree",
                "pin KV",
                "protects",
                "first record",
            ),
            rows,
        )
        + _p(render.together_text(pins, a.band))
        + ("" if a.pinsim is None else _pinsim(a.pinsim))
        + _p(note, "note")
    )
