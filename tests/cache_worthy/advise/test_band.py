"""The sensitivity band: invariants (rank 2), against plain analyses (rank 5)."""

from __future__ import annotations

import dataclasses
import html
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from analyses import REST, document
from contexts import context_of, policies_at

from cache_worthy.advise.band import Band, band
from cache_worthy.advise.capacity import measure_curve
from cache_worthy.advise.family import CostMember, family
from cache_worthy.logs.session import read_log
from cache_worthy.sim.cost import DEFAULT_MODEL, TableCost
from cache_worthy.sim.trace import paths_of

Run = Callable[..., tuple[int, str, str]]
Write = Callable[..., Path]
Paths = Sequence[Sequence[int]]


def sample_paths(sample: Path) -> list[tuple[int | str, ...]]:
    return list(paths_of(read_log(sample, block_size=512, chars_per_token=4.0).requests))


def cells(analysis: dict[str, Any]) -> list[tuple[float, dict[str, float]]]:
    return [
        (row["fraction"], {c["policy"]: c["cost_ratio"] for c in row["cells"]})
        for row in analysis["policy"]["rows"]
    ]


@pytest.mark.parametrize("position", [0, -1])
def test_a_member_that_is_a_model_equals_the_plain_analysis(
    coarse: Run, sample: Path, position: int
) -> None:
    """In every cell: the chosen model itself, and the other shipped one with its own bytes."""
    found = document(coarse, sample, "--skip", REST)["band"]
    member = found["members"][position]
    plain = document(coarse, sample, "--skip", f"band,{REST}", "--model", member["name"])
    assert plain["band"] is None
    curve, pin = plain["capacity"], plain["pin"]["pins"][0]
    assert member["ceiling"] == plain["worth"]["ceiling"]
    assert member["block_bytes"] == plain["workload"]["block_bytes"]
    assert member["recommended_cost_ratio"] == curve["recommended_cost_ratio"]
    # Capacities are of whole bytes, so those of the other model differ in the tenth digit.
    within = {"rel": 0} if position == 0 else {"rel": 1e-9}
    for key in ("fraction", "bytes"):
        shown, there = member[f"recommended_{key}"], curve[f"recommended_{key}"]
        assert shown == pytest.approx(there, **within)
    mine, theirs = [(r["fraction"], r["cost_ratios"]) for r in member["rows"]], cells(plain)
    assert [r for _, r in mine] == [r for _, r in theirs]
    assert [f for f, _ in mine] == pytest.approx([f for f, _ in theirs], **within)
    assert [r["best"] for r in member["rows"]] == [r["best"] for r in plain["policy"]["rows"]]
    assert (member["top_pin"], member["top_pin_depth"], member["top_pin_protected_fraction"]) == (
        pin["first_request"],
        pin["depth"],
        pin["protected_fraction"],
    )


def band_of(paths: Paths, members: Sequence[CostMember], capacities: Sequence[int]) -> Band:
    context = context_of(paths)
    context.members = members
    policies = policies_at(context, *((c, "") for c in capacities))
    found: Band = band.measure(context, measure_curve(context.replays), policies, None)
    return found


@pytest.mark.parametrize("factor", [2, 3, 10])
def test_a_common_factor_changes_nothing(sample: Path, factor: int) -> None:
    """(Rank 2.) Nor which member is which: the factor is applied to every second one, too."""
    paths = sample_paths(sample)
    depth = max(map(len, paths))
    members = family(DEFAULT_MODEL, 512, depth=depth)
    capacities = [n * members[0].size.block for n in (6, 11, 22)]
    plain = band_of(paths, members, capacities)  # type: ignore[arg-type]
    scaled = [
        CostMember(
            m.name,
            m.linear,
            m.quadratic,
            m.size,
            TableCost(tuple(factor**power * c for c in m.cost.cumulative(depth))),
        )
        for m, power in zip(members, (1, 0, 1, 2, 1), strict=True)
    ]
    assert band_of(paths, scaled, capacities) == plain  # type: ignore[arg-type]
    one = members[1]
    grown = tuple(c + one.linear * k for k, c in enumerate(one.cost.cumulative(depth)))  # type: ignore[operator]
    other = [scaled[0], dataclasses.replace(one, cost=TableCost(grown)), *scaled[2:]]
    assert band_of(paths, other, capacities) != plain  # type: ignore[arg-type]


def test_where_question_1_ends_the_run_the_ceiling_is_left(run: Run, write: Write) -> None:
    log = write(*[{"hash_ids": [n]} for n in range(20)])
    found = document(run, log, "--skip", REST)["band"]
    assert found["ceiling"] == {"low": 0.0, "high": 0.0, "worth_caching": "none", "flips": []}
    assert [found[k] for k in ("capacity", "policy", "bound", "pin")] == [None] * 4
    assert found["replays"] == 0
    assert "The verdict holds across the band (0.0%)." in " ".join(
        run("analyze", log, "--skip", REST)[1].split()
    )
    empty = write({"hash_ids": []}, name="empty.jsonl")
    assert document(run, empty, "--skip", REST)["band"]["ceiling"]["low"] is None


@pytest.mark.parametrize(("engine", "name"), [("sglang", "SGLang"), ("vllm", "vLLM")])
def test_a_server_s_own_options_are_said_to_be_outside(
    run: Run, sample: Path, tmp_path: Path, engine: str, name: str
) -> None:
    page = tmp_path / "page.html"
    argv = (sample, "--skip", REST, "--engine", engine, "--html", page)
    said = f"{name}'s own options were replayed under the model only."
    assert said in " ".join(run("analyze", *argv)[1].split())
    assert html.unescape(page.read_text(encoding="utf-8")).count(said) == 1


@pytest.mark.traces
def test_the_band_of_conversation(run: Run, traces: Path) -> None:
    """What is quoted of it: all but the capacity and one policy holds, and few winners are alone."""
    argv = (traces / "conversation_trace.jsonl", "--skip", REST, "--policies", "all")
    found = document(run, *argv)["band"]
    assert found["replays"] == 3 * 6 * 5 + 6 * 6
    assert found["ceiling"]["worth_caching"] == "all"
    assert found["capacity"]["flips"] == ["attention x0.5", "linear only", "Llama-3.1-70B"]
    assert [r["tied"] for r in found["policy"]] == [
        [],
        ["cost_only", "size_only"],
        ["freq_landlord", "gdsf"],
        ["freq_landlord", "landlord"],
        [],
        [],
    ]
    assert [r["worth_changing"] for r in found["policy"]] == [
        "none", "some", "all", "all", "none", "none",
    ]  # fmt: skip
    assert [r["flips"] for r in found["policy"]] == [[], ["linear only"], [], [], [], []]
    assert found["pin"]["flips"] == []


def test_not_worth_caching_under_the_model_alone_is_said_at_the_head(
    run: Run, write: Write
) -> None:
    """Two of 200 blocks are shared: 1% where all cost the same, less where depth costs."""
    log = write(
        *({"hash_ids": [1, 2, *range(start, start + 98)]} for start in (1000, 2000)),
    )
    code, text, err = run("analyze", log, "--skip", REST)
    assert code == 0, err
    head = " ".join(text.split("WORKLOAD")[0].split())
    assert "not worth enabling on this log (question 1). It flips under" in head
    assert "linear only" in head
