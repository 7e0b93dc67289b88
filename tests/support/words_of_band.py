"""What the report says of the sensitivity band, of parts of the log and of a sample, against the JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from reports import Document, Read, gib, percent, ratio, short_gib, span


def flips(answer: dict[str, Any]) -> str:
    """Whether an answer survives."""
    names = answer["flips"]
    return f"flips under {', '.join(names)}" if names else "holds across the band"


def reach(rows: Sequence[dict[str, Any]]) -> str:
    """Where question 4's word holds."""
    said: dict[str, list[str]] = {}
    for row in rows:
        how = {
            "every cost function": "holds under every cost function (a schedule loads no block twice)",
            "recomputed": flips(row),
            "not recomputed": "not recomputed",
        }[row["reach"]]
        said.setdefault(how, []).append(percent(row["fraction"]))
    return "; ".join(f"{how} at {', '.join(at)}" for how, at in said.items())


def shown(name: str) -> str:
    """A name as it is printed: what cannot be printed, escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)


def compare_band(read: Read, document: Document) -> None:
    """The section, and the marks beside the recommendations."""
    band = document["band"]
    if band is None:
        assert "band" not in read.sections
        assert not [text for text in read.strings() if "the band" in text or "Band:" in text]
        return
    c, k, p, members = (band[name] for name in ("ceiling", "capacity", "pin", "members"))
    ceilings, protects = span(c["low"], c["high"]), span(p["low"], p["high"])
    assert (c["low"], c["high"]) == (
        min(m["ceiling"] for m in members),
        max(m["ceiling"] for m in members),
    )
    fractions = span(k["low_fraction"], k["high_fraction"], 2)
    low, high = gib(k["low_bytes"]), gib(k["high_bytes"])
    memory = low if low == high else f"{low} to {high}"

    def survival(answer: dict[str, Any]) -> str:
        return flips(answer).removesuffix(" across the band")

    expected = [
        ("family", ", ".join(m["name"] for m in members)),
        ("worth caching", f"{survival(c)}: ceiling {ceilings}"),
        ("allocate", f"{survival(k)}: {fractions} = {memory}"),
        ("top pin", f"{survival(p)}: protects {protects}"),
    ]
    if band["bound"] is not None:
        expected.insert(3, ("question 4", reach(band["bound"])))
    assert read.facts["survivals"] == expected
    assert f"The verdict {flips(c)} ({ceilings})." in read.prose("worth")
    if k["flips"]:
        assert read.prose("capacity").endswith(f"Across the band: {fractions} ({flips(k)}).")
    else:
        assert read.prose("capacity").endswith("memory added). Holds across the band.")
    assert f"Rank #0 {flips(p)} ({protects})." in read.prose("pin")
    compare_savings(read, band)


def compare_savings(read: Read, band: dict[str, Any]) -> None:
    """The tables and the figure."""
    members = band["members"]
    assert read.head("band-table") == ["capacity", "size", "least", "most", "worth it", "cheapest"]
    assert read.rows("band-table") == [
        [
            percent(r["fraction"]),
            gib(r["bytes"]),
            percent(r["saving_low"], 2),
            percent(r["saving_high"], 2),
            r["worth_changing"],
            r["best"] if r["best"] is not None else f"tie: {', '.join(r['tied'])}",
        ]
        for r in band["policy"]
    ]
    for r in band["policy"]:
        savings = [
            row["saving_fraction"]
            for m in members
            for row in m["rows"]
            if math.isclose(row["fraction"], r["fraction"])
        ]
        assert (r["saving_low"], r["saving_high"]) == (min(savings), max(savings))
    assert read.rows("members-table") == [
        [
            m["name"],
            percent(m["ceiling"]),
            gib(m["recommended_bytes"]),
            percent(m["recommended_fraction"], 2),
            ratio(m["recommended_cost_ratio"]),
        ]
        for m in members
    ]
    own = [row["saving_fraction"] for row in members[0]["rows"]]
    assert [
        (i.low, i.high, i.point, i.value) for i in read.chart("Saving across the band").rows
    ] == [
        (r["saving_low"], r["saving_high"], point, span(r["saving_low"], r["saving_high"], 2))
        for r, point in zip(band["policy"], own, strict=True)
    ]


def compare_splits(read: Read, document: Document) -> None:
    """The answers on halves and quarters, and what the head says of them."""
    splits, said = document["splits"], "Caution: parts of this log give different answers on"
    if splits is None:
        assert "splits" not in read.sections
        assert said not in read.prose("short")
        return
    assert read.head("splits-table")[-1] == f"cost at {short_gib(splits['whole_bytes'])}"
    assert read.rows("splits-table") == [
        [
            p["name"],
            str(p["requests"]),
            percent(p["ceiling"]),
            short_gib(p["floor_bytes"]),
            "--" if p["recommended_bytes"] is None else short_gib(p["recommended_bytes"]),
            p["best_policy"] or "not worth caching",
            percent(p["saving_fraction"], 2),
            ratio(p["whole_cost_ratio"]),
        ]
        for p in splits["parts"]
    ]
    gibs = [
        (p["floor_bytes"] / 2**30, p["recommended_bytes"] / 2**30)
        for p in splits["parts"]
        if p["recommended_bytes"] is not None
    ]
    chart = read.chart("Capacity over time")
    assert [(i.low, i.high, i.point) for i in chart.rows] == [(a, b, b) for a, b in gibs]
    assert chart.mark[0] == splits["whole_bytes"] / 2**30
    agree = [n if n != "capacity" else "capacity (within a factor of 2)" for n in splits["agree"]]
    prose = read.prose("splits")
    assert prose.startswith(f"The parts agree on {', '.join(agree)}. ")
    assert f"Parts are cut {splits['definition']}." in prose
    for name in splits["disagree"]:
        assert f"{name} (" in prose.partition("They differ on ")[2]
    told = [
        name
        for name in splits["disagree"]
        if name != "policy" or document["parameters"]["engine"] == "generic"
    ]
    assert (said in read.prose("short")) == bool(told)
    if told:
        assert f"{said} {' and '.join(told)} (OVER TIME)." in read.prose("short")


def compare_sample(read: Read, document: Document) -> None:
    """What was kept."""
    s = document["sample"]
    if s is None:
        assert "sample" not in read.sections
        return
    prose = read.prose("sample")
    kept = ", ".join(f"{s[f'kept_{k}']} of {s[k]} {k}" for k in ("subtrees", "requests", "blocks"))
    assert prose.startswith(f"Kept: {kept}, of which {s['shared_blocks']} are shared ")
    assert f" scaled by {s['scale']:.4f}. Errors: {s['method']}. " in prose
    assert f" is {gib(s['least_bytes'])}: " in prose
    assert f"Not answered from a sample: {', '.join(s['not_answered'])}." in prose
