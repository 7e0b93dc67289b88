"""What the report says of policies, engines, tails, pins and causes, against the JSON."""

from __future__ import annotations

from typing import Any

from reports import Document, Read, counted, gib, percent, ratio, short_gib, span
from words_of_band import flips

from cache_worthy.report.model import Command

CAUSES = {
    "shorter_than_a_block": "prompt shorter than a block",
    "tool_order": "same tools, another order",
    "near_identical_start": "near-identical first block",
    "common_start": "common start shorter than a block",
    "new_start": "new from the first block on",
    "new_below": "new below a known prefix",
    "evicted": "evicted before it came again",
}


def compare_policy(read: Read, document: Document) -> None:
    """Question 5: every policy at every capacity."""
    policies, engine = document["policy"], document["engine"]
    own, rows = policies["outside_oracle_coverage"], policies["rows"]
    assert read.head("policy-table") == ["capacity GiB", *capacities(document)]
    cells = read.rows("policy-table")
    names = [f"{n} [!]" if n in own else n for n in policies["policies"]]
    assert [row[0] for row in cells] == names
    for n, row in enumerate(rows, 1):
        assert [line[n] for line in cells] == [
            ("*" if c["cheapest"] else "") + ratio(c["cost_ratio"]) for c in row["cells"]
        ]
        marked = [line[n].cheapest for line in read.models["policy-table"].rows]
        assert marked == [c["cheapest"] for c in row["cells"]]
    section = "policy" if engine is None else "engine"
    prose = read.prose(section)
    assert ("[!] = your own policy" in prose) == bool(own)
    for name in own:
        assert name in read.report.footer
    if engine is not None:
        return
    assert f"Compulsory cost: {policies['compulsory_cost']:.3e} FLOPs" in prose
    assert read.facts["policy-verdicts"] == [
        (
            percent(r["fraction"]) + (f" ({r['label']})" if r["label"] else ""),
            banded(r["verdict"], document["band"], n) + sampled(document["sample"], n),
        )
        for n, r in enumerate(rows)
    ]


def capacities(document: Document) -> list[str]:
    """The heads of a table of policies."""
    rows = document["policy"]["rows"]
    return [f"{percent(r['fraction'])} {short_gib(r['bytes'])}" for r in rows]


def banded(verdict: str, band: dict[str, Any] | None, n: int) -> str:
    """What question 5 says at one capacity: no winner where the band has none."""
    if band is None:
        return verdict
    r = band["policy"][n]
    if r["best"] is None:
        saved = span(r["saving_low"], r["saving_high"], 2)
        named = f"; {r['candidate']} would save {saved}" if r["candidate"] else ""
        verdict = f"cannot be told apart: {', '.join(r['tied'])}{named}."
    return f"{verdict} {'Changing' if r['candidate'] else 'Staying'} {flips(r)}."


def sampled(sample: dict[str, Any] | None, n: int) -> str:
    """The error of a saving."""
    if sample is None:
        return ""
    s = sample["savings"][n]
    none = ", so it may be none" if s["saving_fraction"] <= s["error"] else ""
    error = f": +/- {percent(s['error'], 2)}{none}" if s["saving_fraction"] else ""
    return f" (from a sample{error})"


def compare_engine(read: Read, document: Document) -> None:
    """The options of one server, and what to type."""
    advice = document["engine"]
    if advice is None:
        assert "engine" not in read.sections
        return
    options, memory, prose = advice["options"], advice["memory"], read.prose("engine")
    choice = any(o["flag"] is not None for o in options)
    least = [min(costs) for costs in zip(*(o["total_cost"] for o in options), strict=True)]
    assert read.head("engine-table") == ["capacity GiB", *capacities(document)]
    assert read.rows("engine-table") == [
        [
            o["label"],
            *(
                ("*" if choice and cost == low else "") + ratio(value)
                for cost, low, value in zip(o["total_cost"], least, o["cost_ratio"], strict=True)
            ),
        ]
        for o in options
    ]
    assert ("cheapest of what" in prose) == choice
    assert read.facts["engine-notes"] == [(o["label"], o["note"]) for o in options if o["note"]]
    assert read.facts["engine-version"] == [("options of", advice["server"])]
    row = document["policy"]["rows"][advice["at"]]
    label = f" ({row['label']})" if row["label"] else ""
    assert f"At {percent(row['fraction'])}{label}: {advice['verdict']}" in prose
    typed = [p for p in read.sections["engine"].parts if isinstance(p, Command)]
    flags, minimum = (
        [Command("or" if n else label, flag) for n, flag in enumerate(memory[key])]
        for key, label in (("flags", "type"), ("minimum", "at least"))
    )
    first = [] if advice["type_this"] is None else [Command("type", advice["type_this"])]
    assert typed == [*first, *flags, *minimum]
    yours = " (your capacity)" if memory["asked_bytes"] is not None else ""
    assert read.facts["memory"] == [
        ("KV cache", f"{gib(memory['kv_bytes'])} = {memory['kv_tokens']} tokens{yours}"),
        ("weights", gib(memory["weights_bytes"])),
    ]
    assert prose.endswith(f"Left out: {'; '.join(memory['left_out'])}.")
    assert advice["pins"] in read.prose("pin")


def compare_coldstart(read: Read, document: Document) -> None:
    """Requests until the cache is warm."""
    cold = document["coldstart"]
    if cold is None:
        assert "coldstart" not in read.sections
        return
    rates = ("block", "token", "request")
    assert read.head("coldstart-table") == [
        "capacity", "GiB", "reached after", "settled after",
        *(f"{half} {rate}" for half in ("cold", "warm") for rate in rates),
    ]  # fmt: skip
    assert read.rows("coldstart-table") == [
        [
            r["label"],
            short_gib(r["bytes"]),
            *("never" if r[k] is None else str(r[k]) for k in ("reached_after", "settled_after")),
            *(percent(r[half][rate]) for half in ("cold", "warm") for rate in rates),
        ]
        for r in cold["rows"]
    ]
    assert read.sections["coldstart"].about.endswith(f"hit rates; under {cold['policy']}")
    window = f"(window {cold['window_requests']}, half {cold['half_requests']} requests)"
    prose = read.prose("coldstart")
    assert prose.startswith(f"{cold['rule']} {window}. ")
    assert prose.endswith(f"Rates: {cold['rates']}.")


def compare_tails(read: Read, document: Document) -> None:
    """The recompute of single requests."""
    tails = document["tails"]
    if tails is None:
        assert "tails" not in read.sections
        return
    for n, at in enumerate(tails["capacities"]):
        key = f"tails-table-{n}"
        assert read.models[key].caption == f"{gib(at['bytes'])}, {at['label']}"
        assert read.rows(key) == [
            [
                r["policy"],
                *(f"{r[k]:.2e}" for k in ("p50", "p95", "p99", "max")),
                "--" if r["own_p99"] is None else f"{r['own_p99']:.3g}",
                *(str(r[k]["requests"]) for k in ("deep", "cold", "first")),
            ]
            for r in at["rows"]
        ]
    assert f"tails-table-{len(tails['capacities'])}" not in read.models
    last, prose = tails["capacities"][-1], read.prose("tails")
    lru = next(r for r in last["rows"] if r["policy"] == "lru")
    where = f" at {gib(last['bytes'])}" if len(tails["capacities"]) > 1 else ""
    assert prose.startswith(f"{tails['rule']} (p90: {counted(tails['deep_over_blocks'], 'block')})")
    share = percent(lru["tail_evicted_cost"] / lru["tail_cost"])
    assert f"Under lru{where}, {share} of the tail had" in prose
    for kind in ("deep", "cold", "first"):
        if lru[kind]["requests"]:
            assert f"{kind} {lru[kind]['example_record']}" in prose.partition("requests: ")[2]


def compare_pins(read: Read, document: Document) -> None:
    """Question 6, and the pins simulated."""
    found, sim = document["pin"], document["pinsim"]
    pins, together = found["pins"], percent(found["together_protected_fraction"])
    assert read.rows("pins-table") == [
        [
            f"#{n}",
            *(str(p[k]) for k in ("references", "depth", "blocks", "subtree_blocks")),
            gib(p["pin_bytes"]),
            percent(p["protected_fraction"]),
            str(p["first_request"]),
        ]
        for n, p in enumerate(pins)
    ]
    bars = [row[6].share for row in read.models["pins-table"].rows]
    assert bars == [p["protected_cost"] / pins[0]["protected_cost"] for p in pins]
    prose = read.prose("pin")
    protects = "protects" if len(pins) == 1 else "protect"
    assert f"{counted(len(pins), 'prefix', 'es')} {protects} at most {together} of what" in prose
    assert (
        f"Together: {gib(found['together_bytes'])} held in the cache protect at most {together} of "
        f"avoidable work = {percent(found['together_fraction_of_prefill'])} of all" in prose
    )
    if sim is None:
        assert "pinsim" not in read.sections
        return
    where = f"at {gib(sim['bytes'])} ({sim['label']}) under {sim['policy']}"
    assert read.sections["pinsim"].about == where
    gain, said = sim["gain"], sim["verdict"][0].upper() + sim["verdict"][1:]
    if gain is None:
        pinned, need = gib(sim["pinned_bytes"]), gib(sim["need_bytes"])
        assert read.prose("pinsim") == f"{said} ({pinned} pinned, {need} needed with them)."
        assert "pinsim-table" not in read.models
        return
    assert gain["saved_cost"] == gain["total"]["before"] - gain["total"]["after"]
    changed = gain["saved_cost"] != 0
    amount = f" {percent(abs(gain['saved_fraction']), 2)} of prefill work" if changed else ""
    of = f", {percent(gain['of_ceiling'])} of that ceiling" if gain["saved_cost"] > 0 else ""
    assert read.prose("pinsim") == f"{said}{amount}{of}."
    names = [
        "blocks of the pinned prefixes",
        "all other blocks, in the room left",
        f"{counted(gain['outside_requests'], 'request')} through no pin",
        "all",
    ]
    changes = [gain[key] for key in ("pinned", "rest", "outside", "total")]
    assert read.rows("pinsim-table") == [
        [name, f"{c['before']:.3e}", f"{c['after']:.3e}", f"{c['before'] - c['after']:.2e}"]
        for name, c in zip(names, changes, strict=True)
    ]


def compare_causes(read: Read, document: Document) -> None:
    """What was no hit."""
    causes = document["causes"]
    if causes is None:
        assert "causes" not in read.sections
        return
    rows = [
        [
            CAUSES[c["name"]],
            *(str(c[k]) if c["known"] else "--" for k in ("requests", "blocks")),
            percent(c["fraction"]) if c["known"] else "--",
            *("" if c[k] is None else str(c[k]) for k in ("example_record", "example_token")),
        ]
        for c in (*causes["new"], causes["evicted"])
    ]
    missing, there = (percent(causes[f"missing_{k}"]) for k in ("fraction", "there_fraction"))
    rows[-1:-1] = [["= out of reach for any cache", "", "", missing, "", ""]]
    rows.append([f"= missing at {gib(causes['capacity_bytes'])}", "", "", there, "", ""])
    assert read.rows("causes-table") == rows
    prose = read.prose("causes")
    if causes["compared"] == "nothing":
        assert "need prompts in the log" in prose
    elif not causes["prompts_with_tools"]:
        assert "No prompt has tools" in prose
    assert f"depends on capacity ({causes['policy']}, the recommended one)" in prose
