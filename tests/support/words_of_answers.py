"""What the report says of workload, questions 1 to 4 and the short answer, against the JSON."""

from __future__ import annotations

from typing import Any

from reports import Document, Read, counted, gib, percent, ratio, span
from words_of_band import flips, reach

from cache_worthy.report.model import Tiles


def compare_workload(read: Read, document: Document) -> None:
    """What was read, and what it is like."""
    w, given = document["workload"], document["input"]
    facts = dict(read.facts["facts"])
    assert len(facts) == len(read.facts["facts"])
    assert facts["model"] == document["parameters"]["model"]["name"]
    cut = given["skipped_truncated_lines"]
    skipped = f" ({cut} truncated last line skipped)" if cut else ""
    assert facts["records"] == f"{w['requests']}{skipped}"
    assert w["requests"] == given["requests"]
    assert f"log (field {given['field']!r})" in facts["read as"]
    assert facts["order"] == given["order"]
    if given["chars_per_block"] is not None:
        chars = document["parameters"]["chars_per_token"]
        expected = f"{given['chars_per_block']} chars/block at {chars:g} chars per token "
        assert facts["chunking"].startswith(expected)
    elif "characters_by_kind" in given:
        chars = document["parameters"]["chars_per_token"]
        kind, share = next(iter(given["characters_by_kind"].items()))
        assert (
            f": {chars:.1f} characters per token here ({kind} {percent(share, 0)}, "
            in (facts["chunking"])
        )
    assert facts["blocks"] == (
        f"{w['block_references']} references, {w['distinct_blocks']} distinct  "
        f"({percent(w['reuse_fraction'])} reuse)"
    )
    assert facts["re-referenced"].startswith(f"{percent(w['rereferenced_fraction'])} of ")
    d = w["reuse_distance"]
    assert facts["reuse distance"] == (
        f"p50 {d['p50']:.4g}, p90 {d['p90']:.4g}, p99 {d['p99']:.4g} requests  "
        f"(<=10: {percent(w['reuse_within_10'], 0)}, <=100: {percent(w['reuse_within_100'], 0)})"
    )
    for fact, start, key in (
        ("request depth", "", "depth"),
        ("radix nodes", f"{w['radix_nodes']}   size ", "node_blocks"),
    ):
        d = w[key]
        blocks = "block" if d["max"] == 1 else "blocks"
        quantiles = (
            f"p50 {d['p50']:.4g}, p90 {d['p90']:.4g}, p99 {d['p99']:.4g}, max {d['max']:.4g}"
        )
        assert facts[fact].startswith(f"{start}{quantiles} {blocks}")
    assert facts["request depth"].endswith(f" of {given['block_tokens']} tokens")
    assert facts["largest subtree"].endswith(f" {counted(w['largest_subtree_blocks'], 'block')}")
    assert facts["cost spread"] == (
        f"{w['cost_per_node_p90_over_p10']:.1f}x p90/p10 per node, "
        f"{w['cost_per_byte_p90_over_p10']:.1f}x per byte"
    )
    assert facts["working set"].startswith(f"{gib(w['working_set_bytes'])} ")
    assert facts["minimum cache"].startswith(
        f"{gib(w['floor_bytes'])} = {counted(w['floor_blocks'], 'block')} = "
        f"{percent(w['floor_fraction'])} of it "
    )
    compare_reuse(read, w)


def compare_reuse(read: Read, w: dict[str, Any]) -> None:
    """How long ago a block was last asked for."""
    bins = w["reuse_histogram"]
    total = sum(b["references"] for b in bins)
    assert total == w["block_references"] - w["distinct_blocks"]
    assert read.rows("reuse-table") == [
        [
            str(b["up_to"]) if b["least"] == b["up_to"] else f"{b['least']} to {b['up_to']}",
            str(b["references"]),
            percent(b["references"] / total),
        ]
        for b in bins
    ]
    assert [(label, share) for label, share, _ in read.chart("Reuse distance").bins] == [
        (str(b["up_to"]), b["references"] / total) for b in bins
    ]


def compare_worth(read: Read, document: Document) -> None:
    """Question 1."""
    prose, ceiling = read.prose("worth"), percent(document["worth"]["ceiling"])
    assert prose.startswith("Question 1: Worth caching ")
    assert f"removes at most {ceiling} of this log's" in prose


def compare_capacity(read: Read, document: Document) -> None:
    """Questions 2 and 3: the curve, its marks and what is recommended."""
    curve, w, sample = document["capacity"], document["workload"], document["sample"]
    points, chosen = curve["points"], curve["recommended_index"]
    head = ["capacity", "size", "cost", "block hit rate", "elasticity"]
    errors = [] if sample is None else [f"{e['error']:.4f}" for e in sample["curve"]]
    assert read.head("capacity-table") == [*head, *(["+/- of cost"] if errors else []), ""]
    rows = read.rows("capacity-table")
    assert [row[:-1] for row in rows] == [
        [
            percent(p["fraction"], 2),
            gib(p["bytes"]),
            ratio(p["cost_ratio"]),
            percent(p["block_hit_rate"]),
            "--" if p["elasticity"] is None else f"{p['elasticity']:z.3f}",
            *errors[n : n + 1],
        ]
        for n, p in enumerate(points)
    ]
    least, last = "floor" if sample is None else "least answered", len(points) - 1
    for n, row in enumerate(rows):
        named = {least: n == 0, "recommended": n == chosen, "working set": n == last}
        assert row[-1] == ", ".join(name for name, here in named.items() if here)
    assert read.models["capacity-table"].chosen == chosen
    best = points[chosen]
    assert best["fraction"] == curve["recommended_fraction"]
    assert best["bytes"] == curve["recommended_bytes"]
    assert best["blocks"] == curve["recommended_blocks"]
    assert best["cost_ratio"] == curve["recommended_cost_ratio"]
    prose = read.prose("capacity")
    floor = f"{gib(w['floor_bytes'])} = {percent(w['floor_fraction'], 2)} of the working set"
    assert prose.startswith(f"Question 2: Minimum cache {floor} ")
    allocate = f"Allocate {percent(best['fraction'], 2)} = {gib(best['bytes'])} "
    assert f"Question 3: {allocate}Costs {ratio(best['cost_ratio'])}x the compulsory" in prose
    rest = w["working_set_bytes"] - best["bytes"]
    over = (best["total_cost"] - w["compulsory_cost"]) / best["total_cost"]
    if rest:
        more = f"The other {gib(rest)} would save only another {percent(over)}."
    else:
        more = "It is the whole working set: more memory saves nothing."
    assert more in prose
    assert f"Rule: {curve['rule']} (" in prose
    about = read.sections["capacity"].about
    assert about.startswith(f"under {curve['policy']}, ")
    assert about.endswith(", from a sample") == (sample is not None)
    compare_curve(read, document)


def compare_curve(read: Read, document: Document) -> None:
    """What the figure of the curve is drawn from."""
    curve, bound, sample = (document[k] for k in ("capacity", "bound", "sample"))
    chart, points = read.chart("Capacity curve"), curve["points"]
    errors = [0.0] * len(points) if sample is None else [e["error"] for e in sample["curve"]]
    assert [(p.size, p.value, p.error) for p in chart.curve] == [
        (p["bytes"], p["cost_ratio"], e) for p, e in zip(points, errors, strict=True)
    ]
    cheapest = [
        (row["bytes"], cell["cost_ratio"])
        for row in document["policy"]["rows"]
        for cell in row["cells"]
        if cell["policy"] == row["best"]
    ]
    assert [(p.size, p.value) for p in chart.best] == cheapest
    certified = [(r["bytes"], r["lower_bound_ratio"]) for r in bound["rows"]] if bound else []
    assert [(p.size, p.value) for p in chart.bound] == certified
    assert bool(chart.steps) == bool(certified)
    best, yours = curve["recommended_bytes"], document["parameters"]["capacity_bytes"]
    least = "floor" if sample is None else "least answered"
    marks = [(least, points[0]["bytes"]), ("recommended", best)]
    marks += [("yours", yours)] if yours is not None else []
    assert chart.marks == tuple((f"{name}: {gib(size)}", size) for name, size in marks)
    figure = read.figures["Capacity curve"]
    assert f"Recommended: {gib(best)}, {ratio(curve['recommended_cost_ratio'])}x" in (
        figure.description
    )
    assert [item.colour for item in figure.legend] == ["lru", "best", *(["bound"] * bool(bound))]


def compare_bound(read: Read, document: Document) -> None:
    """Question 4."""
    bound, prose = document["bound"], read.prose("bound")
    if bound is None:
        assert "split-table" not in read.models
        assert "bound-table" not in read.models
        said = "Not asked" if document["sample"] is None else "Not answered"
        assert f"Question 4: {said}" in prose
        assert "Nothing here is a bound." in read.report.footer
        return
    rows, compulsory = bound["rows"], bound["compulsory_cost"]
    assert len(rows) == len(document["policy"]["rows"])
    shares = ("only_memory", "undecided", "foresight", "best_shipped")
    assert read.head("split-table") == [
        "capacity", "size", "over compulsory", "only memory", "undecided", "perfect foresight",
        "best shipped", "policy",
    ]  # fmt: skip
    assert read.rows("split-table") == [
        [
            percent(r["fraction"]),
            gib(r["bytes"]),
            percent(r["lru_cost"] / compulsory - 1),
            *(percent(r[k]) for k in shares),
            r["best_policy"],
        ]
        for r in rows
    ]
    assert read.rows("bound-table") == [
        [
            percent(r["fraction"]),
            gib(r["bytes"]),
            ratio(r["best_cost"] / compulsory),
            ratio(r["lower_bound_ratio"]),
            r["best_policy"],
        ]
        for r in rows
    ]
    assert read.facts["recoverable-verdicts"] == [
        (f"{percent(r['fraction'])}  {r['word']}", r["verdict"]) for r in rows
    ]
    assert f"Rule: {bound['rule']}." in prose
    assert all(r["policy_class"] in read.report.footer for r in rows)
    for bar, r in zip(read.chart("Who could get it back").bars, rows, strict=True):
        assert bar.label == f"{percent(r['fraction'])} = {gib(r['bytes'])}"
        assert bar.value == f"{percent(r['lru_cost'] / compulsory - 1)} over compulsory"
        split = [] if r["only_memory"] is None else [r[k] or 0.0 for k in shares[:3]]
        assert [share for share, _, _ in bar.pieces] == split
        assert bar.tick == (1 - r["best_shipped"] if r["best_shipped"] else None)
    band = document["band"]
    if band and band["bound"] is not None:
        assert f" Band: {reach(band['bound'])}." in prose


def compare_short(read: Read, document: Document) -> None:
    """The answers, a sentence each."""
    text, w, pins = read.prose("short"), document["workload"], document["pin"]
    points = document["capacity"]["points"]
    best = points[document["capacity"]["recommended_index"]]
    band, sim, engine = (document[k] for k in ("band", "pinsim", "engine"))
    assert f"an unlimited cache would save {percent(document['worth']['ceiling'])} of your" in text
    size = f"{gib(best['bytes'])} of KV cache ({percent(best['fraction'])} of all distinct blocks)"
    assert f"Allocate {size}. The lower limit is {gib(w['floor_bytes'])}, one" in text
    if band and band["capacity"]["flips"]:
        low, high = (band["capacity"][f"{end}_fraction"] for end in ("low", "high"))
        assert f" Under other cost models: {span(low, high)}. " in text
    sample = document["sample"]
    if sample is not None:
        error = next(e["error"] for e in sample["curve"] if e["bytes"] == best["bytes"])
        kept = f"{sample['kept_requests']} of {sample['requests']} requests"
        assert f"ESTIMATED from --sample {sample['fraction']:g}, {kept}: " in text
        assert f"(cost there +/- {error:.3f} of the" in text
    if engine is None:
        rows = {r["bytes"]: r for r in document["policy"]["rows"]}
        yours = document["parameters"]["capacity_bytes"]
        for where, at in (("At that size", best["bytes"]), (f"At your {gib(yours or 0)}", yours)):
            if at is not None:
                across = {r["bytes"]: r for r in band["policy"]} if band else {}
                assert advice(where, rows[at], across.get(at)) in text
    if document["parameters"]["engine"] != "vllm":
        together = percent(pins["together_protected_fraction"])
        flip = f" (the first {flips(band['pin'])})." if band and band["pin"]["flips"] else "."
        count = counted(len(pins["pins"]), "prefix", "es")
        prefixes = f"the top {count} ({gib(pins['together_bytes'])})"
        if sim is None:
            most = f"protects at most {together} of what caching can save"
            assert f"Pinning {prefixes} {most}{flip}" in text
        else:
            assert simulated(sim, prefixes) + flip in text
    compare_tiles(read, document, best)


def compare_tiles(read: Read, document: Document, best: dict[str, Any]) -> None:
    """The figures to be seen first."""
    (tiles,) = (p.tiles for p in read.sections["short"].parts if isinstance(p, Tiles))
    pins, w = document["pin"], document["workload"]
    assert [t.value for t in tiles[:4]] == [
        gib(best["bytes"]),
        f"{ratio(best['cost_ratio'])}x",
        gib(w["floor_bytes"]),
        percent(document["worth"]["ceiling"]),
    ]
    assert tiles[0].unit == f"{percent(best['fraction'])} of the working set"
    assert tiles[-1].value == percent(pins["together_protected_fraction"])
    assert tiles[-1].unit.endswith(f" with {gib(pins['together_bytes'])}")


def advice(where: str, row: dict[str, Any], across: dict[str, Any] | None) -> str:
    """The sentence on the policy at one capacity."""
    saving = percent(row["saving_fraction"], 2)
    tie = across is not None and across["candidate"] is not None and across["best"] is None
    parts = [f"cannot be told apart: {', '.join(across['tied'])}"] if across and tie else []
    parts += [flips(across)] if across and across["flips"] else []
    mark = f" ({'; '.join(parts)})" if parts else ""
    if row["best"] == "lru":
        return f"{where} stay with lru{mark}."
    if row["saving_fraction"] < 0.01:
        return f"{where} stay with lru: {row['best']} would save no more than {saving}{mark}."
    if tie:
        return f"{where} no policy wins throughout{mark}; {row['best']} would save {saving}."
    return f"{where} {row['best']} would save another {saving} of prefill work{mark}."


def simulated(sim: dict[str, Any], prefixes: str) -> str:
    """The sentence on pins that were simulated, without its end."""
    gain, where = sim["gain"], gib(sim["bytes"])
    if gain is None:
        return f"At {where} the pinned prefixes and your longest prompt do not fit together"
    amount = f"{percent(abs(gain['saved_fraction']), 2)} of prefill work"
    if gain["saved_cost"] > 0:
        return f"At {where} under {sim['policy']}, pinning {prefixes} would save {amount}"
    effect = f"add {amount}" if gain["saved_cost"] else "change nothing"
    keeps = f"at {where} {sim['policy']} already keeps the hot prefixes"
    return f"Do not pin: {keeps}; pinning {prefixes} would {effect}"
