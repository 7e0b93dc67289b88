"""The tables, parsed back, equal the JSON cell by cell (rank 5): the two cannot drift."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., tuple[int, str, str]]
Write = Callable[..., Path]


def gib(size: int) -> str:
    value = size / 2**30
    return f"{value:.2f} GiB" if value >= 0.1 or value == 0 else f"{value:.4f} GiB"


def percent(value: float, digits: int = 1) -> str:
    return f"{100 * value:.{digits}f}%"


def joined(text: str) -> str:
    """The text with its line breaks and indents gone."""
    return " ".join(text.split())


def between(text: str, begin: str, end: str) -> list[str]:
    lines = text.splitlines()
    first = next(i for i, line in enumerate(lines) if line.strip().startswith(begin))
    last = next(i for i in range(first + 1, len(lines)) if lines[i].strip().startswith(end))
    return lines[first:last]


def compare(text: str, document: dict[str, Any]) -> None:
    """Every number of every section, by position."""
    flat = joined(text)
    w = document["workload"]
    model = document["parameters"]["model"]["name"]
    assert f"model {model} records {w['requests']}" in flat
    assert (
        f"blocks {w['block_references']} references, {w['distinct_blocks']} distinct "
        f"({percent(w['reuse_fraction'])} reuse)" in flat
    )
    assert f"re-referenced {percent(w['rereferenced_fraction'])} of" in flat
    d = w["reuse_distance"]
    assert (
        f"reuse distance p50 {d['p50']:.4g}, p90 {d['p90']:.4g}, p99 {d['p99']:.4g} requests "
        f"(<=10: {percent(w['reuse_within_10'], 0)}, <=100: {percent(w['reuse_within_100'], 0)})"
        in flat
    )
    for name, key in (("request depth", "depth"), (f"{w['radix_nodes']} size", "node_blocks")):
        d = w[key]
        assert (
            f"{name} p50 {d['p50']:.4g}, p90 {d['p90']:.4g}, p99 {d['p99']:.4g}, "
            f"max {d['max']:.4g} blocks" in flat
        )
    assert f"largest subtree {w['largest_subtree_blocks']} blocks" in flat
    assert (
        f"cost spread {w['cost_per_node_p90_over_p10']:.1f}x p90/p10 per node, "
        f"{w['cost_per_byte_p90_over_p10']:.1f}x per byte" in flat
    )
    assert f"working set {gib(w['working_set_bytes'])}" in flat
    assert (
        f"minimum cache {gib(w['floor_bytes'])} = {w['floor_blocks']} blocks = "
        f"{percent(w['floor_fraction'])} of it" in flat
    )
    assert f"removes at most {percent(document['worth']['ceiling'])} of this log" in flat

    curve = document["capacity"]
    rows = [r for r in between(text, "capacity  ", "QUESTION 3")[1:] if r.strip()]
    assert len(rows) == len(curve["points"])
    for n, (row, p) in enumerate(zip(rows, curve["points"], strict=True)):
        elastic = "--" if p["elasticity"] is None else f"{p['elasticity']:z.3f}"
        cells = row.split()
        assert cells[:5] == [
            percent(p["fraction"], 2),
            *gib(p["bytes"]).split(),
            f"{p['cost_ratio']:.4f}",
            elastic,
        ]
        assert ("recommended" in row) == (n == curve["recommended_index"])
        assert ("floor" in row) == (n == 0)
    best = curve["points"][curve["recommended_index"]]
    assert best["fraction"] == curve["recommended_fraction"]
    assert best["bytes"] == curve["recommended_bytes"]
    assert best["blocks"] == curve["recommended_blocks"]
    assert best["cost_ratio"] == curve["recommended_cost_ratio"]
    assert f"ALLOCATE {percent(best['fraction'], 2)} = {gib(best['bytes'])}" in flat
    assert f"Costs {best['cost_ratio']:.4f}x the compulsory minimum" in flat
    assert f"remaining {gib(w['working_set_bytes'] - best['bytes'])} of KV" in flat

    bound = document["bound"]
    lines = between(text, "over       only", "QUESTION 4")[2:]
    body = [line.split() for line in lines if line.strip()]
    assert len(body) == len(bound["rows"]) == len(document["policy"]["rows"])
    for cells, row in zip(body, bound["rows"], strict=True):
        shares = [row[k] for k in ("only_memory", "undecided", "foresight", "best_shipped")]
        assert cells == [
            percent(row["fraction"]),
            "=",
            *gib(row["bytes"]).split(),
            percent(row["lru_cost"] / bound["compulsory_cost"] - 1),
            *["--" if x is None else percent(x) for x in shares],
        ]
        assert f"{percent(row['fraction'])} {row['word']}: {row['verdict']}" in flat
    assert bound["rule"] in flat.replace("policy- bound", "policy-bound")
    classes = {row["policy_class"] for row in bound["rows"]}
    assert all(c in flat for c in classes)

    pins = document["pin"]
    assert f"Give it {gib(best['bytes'])} ({percent(best['fraction'])} of the working set)" in flat
    there = next(r for r in document["policy"]["rows"] if r["bytes"] == best["bytes"])
    band = document["band"]
    across = {r["bytes"]: r for r in band["policy"]} if band else {}
    assert advice(there, across.get(best["bytes"])) in flat
    assert (
        f"Pinning {len(pins['pins'])} prefixes ({gib(pins['together_bytes'])}) protects at most "
        f"{percent(pins['together_protected_fraction'])} of what caching can save"
        + (f" (the first {flips(band['pin'])})." if band and band["pin"]["flips"] else ".")
        in flat
    )

    table = document["policy"]
    lines = between(text, "better; 1.0000", "* = cheapest")[1:]
    parsed = [line.replace(" [!]", "[!]").split() for line in lines if line.strip()]
    own = table["outside_oracle_coverage"]
    names = [f"{n}[!]" if n in own else n for n in table["policies"]]
    assert [cells[0] for cells in parsed] == ["capacity", "GiB", *names]
    assert all(len(line) <= 80 for line in lines)
    assert all(len(cells) == 1 + len(table["rows"]) for cells in parsed)
    for n, row in enumerate(table["rows"], 1):
        assert parsed[0][n] == percent(row["fraction"])
        assert float(parsed[1][n]) == pytest.approx(row["bytes"] / 2**30, rel=0.01)
        assert [cells[n] for cells in parsed[2:]] == [
            ("*" if c["cheapest"] else "") + f"{c['cost_ratio']:.4f}" for c in row["cells"]
        ]
        label = f" ({row['label']})" if row["label"] else ""
        line = verdict(row, across.get(row["bytes"]))
        assert f"{percent(row['fraction'])}{label} {line}" in flat
    assert f"compulsory cost {table['compulsory_cost']:.3e} FLOPs" in flat

    listed = [line.split() for line in text.splitlines() if re.match(r"\s+#\d", line)]
    assert len(listed) == len(pins["pins"])
    for n, (cells, p) in enumerate(zip(listed, pins["pins"], strict=True)):
        assert cells == [
            f"#{n}",
            str(p["references"]),
            str(p["depth"]),
            str(p["blocks"]),
            str(p["subtree_blocks"]),
            *gib(p["pin_bytes"]).split(),
            percent(p["protected_fraction"]),
            str(p["first_request"]),
        ]
    assert (
        f"Together: {gib(pins['together_bytes'])} held resident protects at most "
        f"{percent(pins['together_protected_fraction'])} of avoidable recompute = "
        f"{percent(pins['together_fraction_of_prefill'])} of the whole" in flat
    )

    compare_causes(text, document["causes"])
    compare_coldstart(text, document["coldstart"])
    compare_tails(text, document["tails"])
    compare_pinsim(text, document["pinsim"])
    if document["splits"]:
        compare_splits(text, flat, document["splits"])

    if band:
        compare_band(text, flat, band)
    else:
        assert "band" not in flat
    assert max(map(len, text.splitlines())) <= 80


CAUSES = {
    "shorter_than_a_block": "prompt shorter than a block",
    "tool_order": "same tools, another order",
    "near_identical_start": "near-identical first block",
    "new_start": "new from the first block on",
    "new_below": "new below a known prefix",
    "evicted": "evicted before it came again",
}


def compare_causes(text: str, causes: dict[str, Any]) -> None:
    lines = iter(between(text, "WHY", "CAPACITY")[3:])

    def cause(row: dict[str, Any]) -> None:
        cells = [str(row["requests"]), str(row["blocks"]), percent(row["fraction"])]
        if row["example_record"] is not None:
            cells += [str(row["example_record"]), str(row["example_token"])]
        line = next(lines)
        name = CAUSES[row["name"]]
        assert line.strip().startswith(name)
        assert line.split(name)[1].split() == (cells if row["known"] else ["--"] * 3)

    for row in causes["new"]:
        cause(row)
    missing = percent(causes["missing_fraction"])
    assert next(lines).split() == ["=", *["missing", "from", "the", "ceiling"], missing]
    cause(causes["evicted"])
    there = percent(causes["missing_there_fraction"])
    assert joined(next(lines)) == f"= missing at {gib(causes['capacity_bytes'])} {there}"
    flat = joined(text)
    if causes["compared"] == "nothing":
        assert "need prompts in the log" in flat
    elif not causes["prompts_with_tools"]:
        assert "No prompt has tools" in flat
    assert f"depends on capacity ({causes['policy']}, the recommended one)" in flat


def compare_coldstart(text: str, cold: dict[str, Any]) -> None:
    lines = between(text, "COLD START", "steady:")[4:]
    rows = [line for line in lines if re.search(r"%", line)]
    labels = joined(" ".join(line[2:20] for line in lines))
    assert labels == " ".join(row["label"] for row in cold["rows"])
    assert len(rows) == len(cold["rows"])
    for line, row in zip(rows, cold["rows"], strict=True):
        size, *cells = line[20:].split()
        assert float(size) == pytest.approx(row["bytes"] / 2**30, rel=0.01)
        assert cells[:2] == [
            "never" if row[k] is None else str(row[k]) for k in ("reached_after", "settled_after")
        ]
        assert cells[2:] == [
            percent(row[half][kind])
            for half in ("cold", "warm")
            for kind in ("block", "token", "request")
        ]
    flat = joined(text)
    assert f"hit rates; under {cold['policy']}" in flat
    assert f"{cold['rule']} (window {cold['window_requests']}, half {cold['half_requests']}" in flat
    assert f"Rates: {cold['rates']}." in flat


def compare_pinsim(text: str, sim: dict[str, Any]) -> None:
    where = f"SIMULATED at {gib(sim['bytes'])} ({sim['label']}) under {sim['policy']}"
    flat = joined(text)
    gain = sim["gain"]
    if gain is None:
        pinned, need = gib(sim["pinned_bytes"]), gib(sim["need_bytes"])
        assert f"{where}: {sim['verdict']} ({pinned} pinned, {need} needed with them)" in flat
        assert f"At {gib(sim['bytes'])} they do not fit beside the deepest request." in flat
        return
    saved = gain["saved_cost"]
    assert saved == gain["total"]["before"] - gain["total"]["after"]
    amount = f" {percent(abs(gain['saved_fraction']), 2)} of recompute" if saved else ""
    assert f"{where}: {sim['verdict']}{amount}" in flat
    if saved > 0:
        assert f"{percent(gain['of_ceiling'])} of that ceiling" in flat
    requests = gain["outside_requests"]
    for name, key in (
        ("blocks of the pinned prefixes", "pinned"),
        ("all other blocks, in the room left", "rest"),
        (f"{requests} request{'' if requests == 1 else 's'} through no pin", "outside"),
    ):
        before, after = gain[key]["before"], gain[key]["after"]
        assert f"{name} {before:.3e} {after:.3e} {before - after:.2e}" in flat
    verb = "saves" if saved > 0 else "would cost"
    amount = f"that {verb} {percent(abs(gain['saved_fraction']), 2)} of recompute."
    head = f"Simulated at {gib(sim['bytes'])} under {sim['policy']}, "
    assert head + (amount if saved else "that changes nothing.") in flat


def compare_tails(text: str, tails: dict[str, Any]) -> None:
    lines = between(text, "TAILS", "tail:")[2:]
    number = 0
    for at in tails["capacities"]:
        assert lines[number].strip() == f"{gib(at['bytes'])}, {at['label']}"
        for line, row in zip(lines[number + 2 :], at["rows"], strict=False):
            name, *cells = line.split()
            assert name == row["policy"].rpartition(":")[2][:13]
            assert cells == [
                *[f"{row[k]:.2e}" for k in ("p50", "p95", "p99", "max")],
                "--" if row["own_p99"] is None else f"{row['own_p99']:.3g}",
                *[str(row[k]["requests"]) for k in ("deep", "cold", "first")],
            ]
        number += 2 + len(at["rows"])
    assert not joined(" ".join(lines[number:]))
    flat = joined(text)
    last = tails["capacities"][-1]
    lru = next(r for r in last["rows"] if r["policy"] == "lru")
    where = f" at {gib(last['bytes'])}" if len(tails["capacities"]) > 1 else ""
    deep = tails["deep_over_blocks"]
    assert f"{tails['rule']} (p90: {deep} block{'' if deep == 1 else 's'})" in flat
    assert (
        f"Under lru{where}, {percent(lru['tail_evicted_cost'] / lru['tail_cost'])} of the tail had"
        in flat
    )
    for kind in ("deep", "cold", "first"):
        if lru[kind]["requests"]:
            assert f"{kind} {lru[kind]['example_record']}" in flat


def compare_splits(text: str, flat: str, splits: dict[str, Any]) -> None:
    lines = [line for line in between(text, "part       requests", "The parts")[1:] if line.strip()]
    assert len(lines) == len(splits["parts"])
    for line, part in zip(lines, splits["parts"], strict=True):
        name, cells = line[:12].strip(), line[12:].split()
        assert name == part["name"]
        assert cells[:2] == [str(part["requests"]), percent(part["ceiling"])]
        assert [float(c) for c in cells[2:4]] == pytest.approx(
            [part[k] / 2**30 for k in ("floor_bytes", "recommended_bytes")], rel=0.05
        )
        saving = part["saving_fraction"]
        named = [part["best_policy"][:13], percent(saving, 2)] if saving else [part["best_policy"]]
        assert cells[4:] == [*named, f"{part['whole_cost_ratio']:.4f}"]
    agree = [n if n != "capacity" else "capacity (within a factor of 2)" for n in splits["agree"]]
    assert f"The parts agree on {', '.join(agree)}. " in flat
    assert f"Parts are cut {splits['definition']}." in flat
    said = "Halves and quarters of this log differ on"
    if splits["disagree"]:
        assert f"{said} {', '.join(splits['disagree'])}." in flat
    else:
        assert said not in flat


def flips(answer: dict[str, Any]) -> str:
    names = answer["flips"]
    return f"flips under {', '.join(names)}" if names else "holds across the band"


def span(low: float, high: float, digits: int = 1) -> str:
    one, two = percent(low, digits), percent(high, digits)
    return one if one == two else f"{one} to {two}"


def advice(row: dict[str, Any], across: dict[str, Any] | None) -> str:
    """The head's sentence on the policy at one capacity."""
    saving = percent(row["saving_fraction"], 2)
    tie = across is not None and across["candidate"] is not None and across["best"] is None
    parts = [f"tie within the band: {', '.join(across['tied'])}"] if across and tie else []
    parts += [flips(across)] if across and across["flips"] else []
    mark = f" ({'; '.join(parts)})" if parts else ""
    if row["best"] == "lru":
        return f"At that size stay with lru{mark}."
    if row["saving_fraction"] < 0.01:
        return f"At that size stay with lru: {row['best']} would save no more than {saving}{mark}."
    if tie:
        return f"At that size no policy wins throughout{mark}; {row['best']} would save {saving}."
    return f"At that size {row['best']} would save {saving} of recompute{mark}."


def verdict(row: dict[str, Any], across: dict[str, Any] | None) -> str:
    """The line of question 5 at one capacity."""
    if across is None:
        return str(row["verdict"])
    plain = row["verdict"]
    if across["best"] is None:
        named = across["candidate"]
        saving = span(across["saving_low"], across["saving_high"], 2)
        plain = f"tie within the band: {', '.join(across['tied'])}"
        plain += f"; {named} would save {saving}." if named else "."
    return f"{plain} {'Changing' if across['candidate'] else 'Staying'} {flips(across)}."


def compare_band(text: str, flat: str, band: dict[str, Any]) -> None:
    """The section, and the marks beside the recommendations."""
    names = [m["name"] for m in band["members"]]
    assert f"family {', '.join(names)} worth caching" in flat
    c, k, p = band["ceiling"], band["capacity"], band["pin"]
    ceilings = span(c["low"], c["high"])
    assert (c["low"], c["high"]) == (
        min(m["ceiling"] for m in band["members"]),
        max(m["ceiling"] for m in band["members"]),
    )
    assert f"worth caching {flips(c).removesuffix(' across the band')}: ceiling {ceilings}" in flat
    assert f"The verdict {flips(c)} ({ceilings})." in flat
    fractions = span(k["low_fraction"], k["high_fraction"], 2)
    low, high = gib(k["low_bytes"]), gib(k["high_bytes"])
    memory = low if low == high else f"{low} to {high}"
    how = flips(k).removesuffix(" across the band")
    assert f"allocate {how}: {fractions} = {memory}" in flat
    if k["flips"]:
        assert f"Across the band: {fractions} ({flips(k)})." in flat
        assert f"Across the band: {span(k['low_fraction'], k['high_fraction'])}. At" in flat
    else:
        assert "a percent of memory added). Holds across the band." in flat
    protects = span(p["low"], p["high"])
    assert f"top pin {flips(p).removesuffix(' across the band')}: protects {protects}" in flat
    assert f"Rank #0 {flips(p)} ({protects})." in flat
    if band["bound"] is not None:
        said: dict[str, list[str]] = {}
        for row in band["bound"]:
            how = {
                "every cost function": "holds under every cost function (a schedule loads no block "
                "twice)",
                "recomputed": flips(row),
                "not recomputed": "not recomputed",
            }[row["reach"]]
            said.setdefault(how, []).append(percent(row["fraction"]))
        assert flat.count("; ".join(f"{h} at {', '.join(at)}" for h, at in said.items())) == 2

    lines = between(text, "capacity    saving against lru", "Prefill of n")[1:]
    body = joined("\n".join(lines))
    for row in band["policy"]:
        saving = span(row["saving_low"], row["saving_high"], 2)
        named = row["best"] if row["best"] is not None else f"tie: {', '.join(row['tied'])}"
        cells = f"{percent(row['fraction'])} {saving} {row['worth_changing']} {named}"
        assert body.startswith(cells)
        body = body[len(cells) :].lstrip()
        savings = [
            r["saving_fraction"]
            for m in band["members"]
            for r in m["rows"]
            if math.isclose(r["fraction"], row["fraction"])
        ]
        assert (row["saving_low"], row["saving_high"]) == (min(savings), max(savings))
    assert body == ""


def both(run: Run, *argv: object) -> tuple[str, dict[str, Any]]:
    code, text, _ = run("analyze", *argv)
    assert code == 0
    code, out, _ = run("analyze", *argv, "--json")
    assert code == 0

    def refuse(constant: str) -> float:
        raise AssertionError(f"{constant} in strict JSON")

    return text, json.loads(out, parse_constant=refuse)


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--model", "Llama-3.1-70B"],
        ["--capacity-gib", "0.7"],
        ["--capacity-fraction", "0.04"],
        ["--capacity-fraction", "0.5", "--pins", "9"],
        ["--chars-per-token", "3"],
        ["--skip", "band,splits"],
    ],
)
def test_tables_equal_json(run: Run, sample: Path, options: list[str]) -> None:
    text, document = both(run, sample, *options)
    compare(text, document)


@pytest.mark.parametrize(
    "cell",
    [
        "cost_ratio",
        "elasticity",
        "protected_fraction",
        "verdict",
        "share",
        "settled_after",
        "warm",
        "p99",
        "cold",
        "band saving",
        "band best",
        "band ceiling",
        "band capacity",
        "band flips",
        "band reach",
        "band pin",
        "pinned",
        "saved_fraction",
        "part ceiling",
        "part policy",
        "part cost",
        "parts agree",
        "cause",
        "evicted",
    ],
)
def test_the_comparison_bites(run: Run, sample: Path, cell: str) -> None:
    """One changed number in the JSON must be seen."""
    text, document = both(run, sample)
    if cell == "cost_ratio":
        document["policy"]["rows"][1]["cells"][2]["cost_ratio"] += 0.0001
    elif cell == "elasticity":
        document["capacity"]["points"][3]["elasticity"] += 0.001
    elif cell == "protected_fraction":
        document["pin"]["pins"][1]["protected_fraction"] += 0.001
    elif cell == "share":
        document["bound"]["rows"][0]["foresight"] += 0.001
    elif cell == "settled_after":
        document["coldstart"]["rows"][1]["settled_after"] = 7
    elif cell == "warm":
        document["coldstart"]["rows"][0]["warm"]["request"] += 0.001
    elif cell == "p99":
        document["tails"]["capacities"][0]["rows"][2]["p99"] *= 1.01
    elif cell == "cold":
        document["tails"]["capacities"][0]["rows"][1]["cold"]["requests"] += 1
    elif cell == "part ceiling":
        document["splits"]["parts"][1]["ceiling"] += 0.001
    elif cell == "part policy":
        document["splits"]["parts"][2]["best_policy"] = "gdsf"
    elif cell == "part cost":
        document["splits"]["parts"][3]["whole_cost_ratio"] += 0.0001
    elif cell == "parts agree":
        document["splits"]["disagree"].append(document["splits"]["agree"].pop())
    elif cell == "band saving":
        document["band"]["policy"][1]["saving_high"] += 0.0001
    elif cell == "band best":
        document["band"]["policy"][2]["best"] = "gdsf"
    elif cell == "band ceiling":
        document["band"]["ceiling"]["high"] += 0.001
    elif cell == "band capacity":
        document["band"]["capacity"]["high_fraction"] += 0.001
    elif cell == "band flips":
        document["band"]["policy"][0]["flips"] = ["linear only"]
    elif cell == "band reach":
        document["band"]["bound"][0]["reach"] = "not recomputed"
    elif cell == "band pin":
        document["band"]["pin"]["low"] -= 0.001
    elif cell == "cause":
        document["causes"]["new"][4]["blocks"] += 1
    elif cell == "evicted":
        document["causes"]["missing_there_fraction"] += 0.001
    elif cell == "pinned":
        document["pinsim"]["gain"]["pinned"]["before"] *= 1.01
    elif cell == "saved_fraction":
        document["pinsim"]["gain"]["saved_fraction"] += 0.01
    else:
        document["policy"]["rows"][0]["verdict"] = "nothing"
    with pytest.raises(AssertionError):
        compare(text, document)


@pytest.mark.traces
@pytest.mark.parametrize("options", [[], ["--model", "Llama-3.1-70B"]])
def test_tables_equal_json_on_a_trace(run: Run, traces: Path, options: list[str]) -> None:
    text, document = both(run, traces / "conversation_trace.jsonl", *options)
    compare(text, document)


def test_the_document_carries_what_it_depends_on(run: Run, sample: Path) -> None:
    import hashlib

    _, document = both(run, sample, "--capacity-gib", "1")
    assert document["tool"] == "cache-worthy"
    assert document["version"]
    assert document["input"]["sha256"] == hashlib.sha256(sample.read_bytes()).hexdigest()
    assert document["parameters"]["capacity_bytes"] == 2**30
    assert document["parameters"]["model"]["d_model"] == 4096
    assert "yours" in [row["label"] for row in document["policy"]["rows"]]


def test_question_1_ends_the_run(run: Run, write: Write) -> None:
    """Just under the printed threshold the run stops, just over it goes on."""
    for repeats, worth in ((0, False), (1, False), (2, True)):
        # 150 one-block prompts, some asked twice: 1 of 151 is 0.66 %, 2 of 152 is 1.3 %.
        records = [{"hash_ids": [n]} for n in range(150)]
        records += [{"hash_ids": [n]} for n in range(repeats)]
        text, document = both(run, write(*records))
        ceiling = document["worth"]["ceiling"]
        assert ceiling == pytest.approx(repeats / (150 + repeats))
        assert document["worth"]["threshold"] == 0.01
        assert (ceiling >= 0.01) == worth == document["worth"]["worth_caching"]
        assert ("NOT WORTH CACHING" in text) != worth
        assert ("less than 1% of the prefill recompute" in joined(text)) != worth
        for section in ("capacity", "policy", "pin", "coldstart", "tails", "pinsim"):
            assert (document[section] is not None) == worth
        assert ("QUESTION 3" in text) == worth


def test_a_log_of_empty_prompts(run: Run, write: Write) -> None:
    text, document = both(
        run, write({"hash_ids": [], "input_length": 0}, {"hash_ids": [], "input_length": 0})
    )
    assert document["worth"] == {
        "ceiling": None,
        "worth_caching": False,
        "threshold": 0.01,
        "rule": document["worth"]["rule"],
    }
    assert "no record has a block" in joined(text)


def test_the_script_prints_the_same_bytes(run: Run, sample: Path) -> None:
    import subprocess
    import sys

    _, text, _ = run("analyze", sample)
    script = sample.parents[1] / "scripts" / "will_this_help_me.py"
    done = subprocess.run([sys.executable, script, sample], capture_output=True, check=True)
    assert done.stdout == text.encode()


def test_a_log_whose_floor_is_its_working_set_stays_in_80_columns(run: Run, write: Write) -> None:
    log = write(*[{"hash_ids": [1, 2, 3]}] * 30)
    code, text, err = run("analyze", log, "--skip", "bound,splits,tails,band")
    assert code == 0, err
    assert max(map(len, text.splitlines())) <= 80
    assert "floor, recommended, working" in text
    assert "It is the whole working set: more memory buys nothing." in " ".join(text.split())
    assert "remaining 0.00" not in text
    assert "%100" not in text  # columns of the cold start stay apart


def test_names_of_others_do_not_act_in_the_terminal(run: Run, write: Write, tmp_path: Path) -> None:
    model = tmp_path / "model.json"
    model.write_text(
        json.dumps(
            {
                "name": "m\x1b[31m\u202e",
                "layers": 1,
                "d_model": 1,
                "heads": 1,
                "kv_heads": 1,
                "head_dim": 1,
                "d_ff": 1,
            }
        ),
        encoding="utf-8",
    )
    log = write(*[{"hash_ids": [1, 2]}] * 4)
    code, text, err = run("analyze", log, "--model", model)
    assert code == 0, err
    assert "m\\x1b[31m\\u202e" in text
    assert text.replace("\n", "").isprintable()


def test_the_tail_in_words_names_its_capacity_where_there_are_two(run: Run, sample: Path) -> None:
    skip = ("--skip", "bound,splits,band")
    both = " ".join(run("analyze", sample, *skip, "--capacity-fraction", "0.05")[1].split())
    assert "Under lru at 1.39 GiB, 42.0% of the tail" in both
    assert "Under lru, 42.0% of the tail" in " ".join(run("analyze", sample, *skip)[1].split())
