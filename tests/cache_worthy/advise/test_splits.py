"""Splits over time: parts partition the log (rank 2) and equal analyses of their own (rank 5)."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from analyses import document
from hypothesis import given
from hypothesis import strategies as st

from cache_worthy.advise.splits import spans

Run = Callable[..., tuple[int, str, str]]
Write = Callable[..., Path]

REST = "bound,band,tails,coldstart,causes,pinsim"
ALL = ["worth caching", "capacity", "policy"]


def splits(run: Run, log: Path, *options: str) -> dict[str, Any]:
    found: dict[str, Any] = document(run, log, "--skip", REST, *options)["splits"]
    return found


def text_of(run: Run, log: Path) -> str:
    return " ".join(run("analyze", log, "--skip", REST)[1].split())


def ids(*paths: list[int]) -> list[dict[str, object]]:
    return [{"hash_ids": path} for path in paths]


@given(st.integers(0, 500))
def test_parts_partition_the_log(requests: int) -> None:
    """Every request lies in one half and one quarter; parts differ by one request at most."""
    found = list(spans(requests))
    for noun, count in (("half", 2), ("quarter", 4)):
        parts = [(begin, end) for name, begin, end in found if name.startswith(noun)]
        if requests < count:
            assert parts == []
            continue
        assert [n for begin, end in parts for n in range(begin, end)] == list(range(requests))
        lengths = [end - begin for begin, end in parts]
        assert len(parts) == count
        assert max(lengths) - min(lengths) <= 1
        assert min(lengths) > 0


def test_a_part_alone_gives_the_same_figures(run: Run, sample: Path, tmp_path: Path) -> None:
    """Each part of the sample written to a file and analysed by itself."""
    found = splits(run, sample)
    lines = sample.read_text(encoding="utf-8").splitlines(keepends=True)
    assert [p["name"] for p in found["parts"]] == [
        "whole",
        *[name for name, _, _ in spans(len(lines))],
    ]
    for noun in ("half", "quarter"):
        ranges = [
            range(p["first_request"], p["last_request"] + 1)
            for p in found["parts"]
            if p["name"].startswith(noun)
        ]
        assert [n for r in ranges for n in r] == list(range(1, len(lines) + 1))
    for n, part in enumerate(found["parts"]):
        file = tmp_path / f"{n}.jsonl"
        file.write_text(
            "".join(lines[part["first_request"] - 1 : part["last_request"]]), encoding="utf-8"
        )
        skip = f"splits,{REST}"
        alone = document(run, file, "--skip", skip, "--capacity-gib", found["whole_bytes"] / 2**30)
        w, curve = alone["workload"], alone["capacity"]
        assert alone["splits"] is None
        assert {k: part[k] for k in ("requests", "distinct_blocks", "working_set_bytes")} == {
            k: w[k] for k in ("requests", "distinct_blocks", "working_set_bytes")
        }
        assert part["floor_bytes"] == w["floor_bytes"]
        assert part["ceiling"] == alone["worth"]["ceiling"]
        assert part["worth_caching"] is alone["worth"]["worth_caching"] is True
        for key in ("fraction", "bytes", "cost_ratio"):
            assert part[f"recommended_{key}"] == curve[f"recommended_{key}"]
        rows = {row["bytes"]: row for row in alone["policy"]["rows"]}
        row = rows[curve["recommended_bytes"]]
        assert (part["best_policy"], part["saving_fraction"]) == (
            row["best"],
            row["saving_fraction"],
        )
        assert part["change_to"] == (row["best"] if row["saving_fraction"] >= 0.01 else None)
        there = {c["policy"]: c["cost_ratio"] for c in rows[found["whole_bytes"]]["cells"]}
        assert part["whole_cost_ratio"] == there["lru"]
        assert part["whole_saving_fraction"] is None


def test_the_policy_of_the_whole_log_is_tried_on_every_part(
    run: Run, write: Write, tmp_path: Path
) -> None:
    log = write(*traffic(12))
    found = splits(run, log)
    assert found["whole_change_to"] is not None
    for part in found["parts"]:
        lines = log.read_text(encoding="utf-8").splitlines(keepends=True)
        file = tmp_path / "part.jsonl"
        file.write_text(
            "".join(lines[part["first_request"] - 1 : part["last_request"]]), encoding="utf-8"
        )
        code, out, _ = run(
            "replay", file, "--policy", found["whole_change_to"], "--json",
            "--capacity-gib", found["whole_bytes"] / 2**30,
        )  # fmt: skip
        ratio = json.loads(out)["cost_ratio"]
        assert code == 0
        assert part["whole_saving_fraction"] == pytest.approx(
            1 - ratio / part["whole_cost_ratio"], abs=1e-12
        )
    shares = [p["whole_saving_fraction"] for p in found["parts"]]
    low, high = (f"{100 * s:.2f}%" for s in (min(shares), max(shares)))
    assert f"{found['whole_change_to']} there saves {low} to {high}." in text_of(run, log)


def test_traffic_that_repeats_itself_agrees(run: Run, write: Write) -> None:
    """Eight times the same requests: all parts of one length have the same figures."""
    period = ids([1, 2, 3], [1, 4], [5, 6], [1, 2, 7], [5, 6, 8], [1, 4, 9])
    log = write(*period * 8)
    found = splits(run, log)
    assert (found["agree"], found["disagree"]) == (ALL, [])
    for noun in ("half", "quarter"):
        parts = [p for p in found["parts"] if p["name"].startswith(noun)]
        names = ("name", "first_request", "last_request")
        figures = [{k: v for k, v in p.items() if k not in names} for p in parts]
        assert all(f == figures[0] for f in figures)
    text = text_of(run, log)
    assert "The parts agree on worth caching, capacity (within a factor of 2), policy." in text
    assert "of this log differ" not in text


def test_a_second_half_without_reuse_is_flagged(run: Run, write: Write) -> None:
    shared = ids([1, 2, 3], [1, 2, 4]) * 20
    fresh = ids(*[[1000 + n] for n in range(40)])
    log = write(*shared, *fresh)
    found = splits(run, log)
    assert "worth caching" in found["disagree"]
    half = {p["name"]: p for p in found["parts"]}["half 2"]
    assert (half["ceiling"], half["worth_caching"]) == (0.0, False)
    assert [v for k, v in half.items() if k.startswith(("recommended", "whole"))] == [None] * 5
    text = text_of(run, log)
    assert "Caution: parts of this log give different answers on worth caching" in text
    assert "worth caching (no in half 2, quarter 3, quarter 4, else yes)" in text
    assert "half 2 40 0.0% 0.0625 -- not worth caching --" in text


def test_a_second_half_of_larger_loops_is_flagged(run: Run, write: Write) -> None:
    """Loops over 4 prompts, then over 40: under lru a loop needs room for all of it."""
    small = ids(*[[10 * n, 10 * n + 1] for n in range(4)]) * 40
    large = ids(*[[1000 + 10 * n, 1001 + 10 * n] for n in range(40)]) * 4
    log = write(*small, *large)
    found = splits(run, log)
    assert "capacity" in found["disagree"]
    by_name = {p["name"]: p for p in found["parts"]}
    assert by_name["half 1"]["recommended_bytes"] == 8 * 2**26
    assert by_name["half 2"]["recommended_bytes"] == 80 * 2**26
    text = text_of(run, log)
    assert "differ on capacity" in text
    assert "capacity (0.50 GiB to 5.00 GiB)" in text


def traffic(seed: int, base: int = 0) -> list[dict[str, object]]:
    """Short prompts that come often among long ones that come back late."""
    rng = random.Random(seed)
    often = [[10 * k + j for j in range(2)] for k in range(6)]
    out = []
    seen = 0
    for _ in range(60):
        if rng.random() < 0.5:
            path = rng.choice(often)
        else:
            k = seen if rng.random() < 0.7 else rng.randrange(max(1, seen))
            seen = max(seen, k + 1)
            path = [1000 + 10 * k + j for j in range(8)]
        out.append([base + block for block in path])
    return ids(*out)


def test_a_second_half_that_wants_another_policy_is_flagged(run: Run, write: Write) -> None:
    loop = ids(*[[10**6 + 10 * n, 10**6 + 10 * n + 1] for n in range(6)]) * 10
    log = write(*loop, *traffic(12))
    found = splits(run, log)
    halves = [p["change_to"] for p in found["parts"][1:3]]
    assert halves == [None, "size_only"]
    assert "policy" in found["disagree"]
    assert "policy (" in text_of(run, log)
    assert "size_only in half 2" in text_of(run, log)
    said = "Caution: parts of this log give different answers on"
    assert f"{said} {' and '.join(found['disagree'])} (OVER TIME)." in text_of(run, log)
    others = [name for name in found["disagree"] if name != "policy"]
    server = " ".join(run("analyze", log, "--skip", REST, "--engine", "vllm")[1].split())
    assert (f"{said} {' and '.join(others)} (OVER TIME)." in server) == bool(others)
    assert (said in server) == bool(others)


def test_short_logs_have_the_parts_that_they_can(run: Run, write: Write) -> None:
    for count, names in ((2, 3), (3, 3), (4, 7)):
        found = splits(run, write(*ids([1, 2]) * count))
        assert len(found["parts"]) == names
    assert document(run, write(*ids([1], [2])), "--skip", REST)["splits"] is None


@pytest.mark.traces
def test_the_parts_of_conversation(run: Run, traces: Path) -> None:
    """They agree on worth and capacity; one quarter alone would change the policy."""
    found = splits(run, traces / "conversation_trace.jsonl", "--policies", "all")
    assert (found["agree"], found["disagree"]) == (ALL[:2], ["policy"])
    assert [p["name"] for p in found["parts"] if p["change_to"] is not None] == ["quarter 4"]
