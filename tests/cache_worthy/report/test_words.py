"""The report's tables, facts and sentences equal the JSON cell by cell (rank 5): they cannot drift.

What is compared stands in ``tests/support/words_of_*.py``; the writers are tested against the model, in
test_terminal.py and test_html.py.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from reports import Document, Made, Read, made, percent
from words_of_answers import (
    compare_bound,
    compare_capacity,
    compare_short,
    compare_workload,
    compare_worth,
)
from words_of_band import compare_band, compare_sample, compare_splits, shown
from words_of_replays import (
    compare_causes,
    compare_coldstart,
    compare_engine,
    compare_pins,
    compare_policy,
    compare_tails,
)

SAMPLE = Path(__file__).resolve().parents[3] / "examples" / "sample_log.jsonl"
CUT = ("--block-size", 512, "--chars-per-token", 4)
"""Large blocks, so that a small cache is one of few blocks."""
Run = Callable[..., tuple[int, str, str]]
Write = Callable[..., Path]

COMPARISONS: tuple[Callable[[Read, Document], None], ...] = (
    compare_workload,
    compare_worth,
    compare_causes,
    compare_sample,
    compare_capacity,
    compare_coldstart,
    compare_bound,
    compare_policy,
    compare_engine,
    compare_tails,
    compare_band,
    compare_splits,
    compare_pins,
    compare_short,
)

OPTIONS: tuple[tuple[object, ...], ...] = (
    (),
    ("--model", "Llama-3.1-70B"),
    ("--capacity-gib", 0.7),
    ("--capacity-fraction", 0.04),
    ("--capacity-fraction", 0.5, "--pins", 9),
    ("--chars-per-token", 3),
    ("--block-size", 16),
    ("--skip", "band,splits"),
    ("--model", "Llama-3.1-70B", "--skip", "bound,splits", "--pins", 9),
    ("--capacity-gib", 0.7, "--skip", "bound,tails,coldstart,band,splits,pinsim,causes"),
    ("--sample", 0.95),
    ("--engine", "sglang", "--gpu-gib", 40, "--skip", "bound,splits,band"),
    ("--engine", "vllm", "--gpu-gib", 18, "--skip", "bound,splits,band"),
)


def compare(found: Made, document: Document) -> None:
    """Every section of the report with the document."""
    read = Read(found.report)
    assert read.report.source == document["input"]["source"]
    assert read.report.about.startswith(f"{document['workload']['requests']} request")
    assert f", {document['parameters']['model']['name']}" in read.report.about
    for one in COMPARISONS:
        one(read, document)


@pytest.mark.parametrize("options", OPTIONS, ids=lambda o: " ".join(map(str, o)) or "plain")
def test_the_report_equals_the_json(options: tuple[object, ...]) -> None:
    found = made(SAMPLE, *CUT, *options)
    compare(found, found.document)
    assert found.report.document == found.json


@pytest.mark.traces
@pytest.mark.parametrize("options", [(), ("--model", "Llama-3.1-70B"), ("--sample", 0.5)])
def test_the_report_equals_the_json_on_a_trace(traces: Path, options: tuple[object, ...]) -> None:
    found = made(traces / "conversation_trace.jsonl", *options)
    compare(found, found.document)


def add(amount: float) -> Callable[[Any], Any]:
    return lambda value: value + amount


def to(new: object) -> Callable[[Any], Any]:
    return lambda _: new


PLAIN: dict[str, Callable[[Any], Any]] = {
    "input/source": to("elsewhere"),
    "workload/reuse_fraction": add(0.001),
    "workload/reuse_distance/p99": add(1),
    "workload/reuse_histogram/1/references": add(1),
    "workload/cost_per_byte_p90_over_p10": add(0.1),
    "workload/floor_blocks": add(1),
    "worth/ceiling": add(0.001),
    "capacity/points/3/elasticity": add(0.001),
    "capacity/points/5/cost_ratio": add(0.0001),
    "capacity/points/5/block_hit_rate": add(0.001),
    "capacity/recommended_index": add(1),
    "bound/rows/0/foresight": add(0.001),
    "bound/rows/0/lower_bound_ratio": add(0.0001),
    "bound/rows/1/best_policy": to("lru"),
    "bound/rows/2/word": to("capacity-bound"),
    "bound/rows/3/verdict": to("nothing"),
    "bound/rows/0/policy_class": to("any"),
    "policy/rows/1/cells/2/cost_ratio": add(0.0001),
    "policy/rows/1/cells/1/cheapest": to(True),
    "policy/rows/0/verdict": to("nothing"),
    "policy/rows/0/bytes": add(2**25),
    "policy/compulsory_cost": add(10**13),
    "pin/pins/1/protected_fraction": add(0.001),
    "pin/pins/1/protected_cost": add(1),
    "pin/together_fraction_of_prefill": add(0.001),
    "coldstart/rows/1/settled_after": to(7),
    "coldstart/rows/0/warm/request": add(0.001),
    "tails/capacities/0/rows/2/p99": lambda value: value * 1.01,
    "tails/capacities/0/rows/1/cold/requests": add(1),
    "tails/deep_over_blocks": add(1),
    "splits/parts/1/ceiling": add(0.001),
    "splits/parts/2/best_policy": to("gdsf"),
    "splits/parts/3/whole_cost_ratio": add(0.0001),
    "splits/disagree": to(["policy"]),
    "splits/agree": to(["worth caching"]),
    "band/policy/1/saving_high": add(0.0001),
    "band/policy/2/best": to("gdsf"),
    "band/policy/0/flips": to(["linear only"]),
    "band/members/2/recommended_cost_ratio": add(0.0001),
    "band/ceiling/high": add(0.001),
    "band/capacity/high_fraction": add(0.001),
    "band/capacity/flips": to(["linear only"]),
    "band/bound/0/reach": to("not recomputed"),
    "band/pin/low": add(-0.001),
    "causes/new/4/blocks": add(1),
    "causes/missing_there_fraction": add(0.001),
    "pinsim/gain/pinned/before": lambda value: round(value * 1.01),
    "pinsim/gain/saved_fraction": add(0.01),
}

OTHERS: dict[tuple[object, ...], dict[str, Callable[[Any], Any]]] = {
    ("--sample", 0.95): {
        "sample/curve/0/error": add(0.0001),
        "sample/savings/0/error": add(0.0001),
        "sample/kept_blocks": add(1),
        "sample/shared_blocks": add(1),
        "sample/least_bytes": add(2**27),
    },
    ("--engine", "sglang", "--gpu-gib", 40, "--skip", "bound,splits,band"): {
        "engine/options/1/cost_ratio/0": add(0.0001),
        "engine/options/1/total_cost/3": to(0),
        "engine/options/1/note": to("nothing"),
        "engine/verdict": to("nothing"),
        "engine/type_this": to("--nothing"),
        "engine/memory/minimum": to([]),
        "engine/memory/left_out": to([]),
        "engine/memory/kv_tokens": add(1),
        "engine/pins": to("no such words"),
    },
    ("--engine", "vllm", "--gpu-gib", 18, "--skip", "bound,splits,band"): {
        "engine/options/1/cost_ratio/0": add(0.0001),
        "engine/memory/flags": to(["--nothing"]),
    },
}

PLANTED = [
    (options, path, change)
    for options, changes in {(): PLAIN, **OTHERS}.items()
    for path, change in changes.items()
]


@pytest.mark.parametrize(("options", "path", "change"), PLANTED, ids=[p for _, p, _ in PLANTED])
def test_the_comparison_bites(
    options: tuple[object, ...], path: str, change: Callable[[Any], Any]
) -> None:
    """One changed number or word in the JSON must be seen."""
    found = made(SAMPLE, *CUT, *options)
    document = found.document
    *above, last = [int(step) if step.isdigit() else step for step in path.split("/")]
    place: Any = document
    for step in above:
        place = place[step]
    before = place[last]
    place[last] = change(before)
    assert place[last] != before
    with pytest.raises(AssertionError):
        compare(found, document)


def test_the_document_carries_what_it_depends_on() -> None:
    import hashlib

    document = made(SAMPLE, "--capacity-gib", 1).document
    assert document["tool"] == "cache-worthy"
    assert document["version"]
    assert document["input"]["sha256"] == hashlib.sha256(SAMPLE.read_bytes()).hexdigest()
    assert document["parameters"]["capacity_bytes"] == 2**30
    assert document["parameters"]["model"]["d_model"] == 4096
    assert "yours" in [row["label"] for row in document["policy"]["rows"]]


def test_question_1_ends_the_run(write: Write) -> None:
    """Just under the printed threshold the run stops, just over it goes on."""
    for repeats, worth in ((0, False), (1, False), (2, True)):
        # 150 one-block prompts, some asked twice: 1 of 151 is 0.66 %, 2 of 152 is 1.3 %.
        records = [{"hash_ids": [n]} for n in range(150)]
        records += [{"hash_ids": [n]} for n in range(repeats)]
        found = made(write(*records, name=f"{repeats}.jsonl"))
        read, document = Read(found.report), found.document
        ceiling = document["worth"]["ceiling"]
        assert ceiling == pytest.approx(repeats / (150 + repeats))
        assert document["worth"]["threshold"] == 0.01
        assert (ceiling >= 0.01) == worth == document["worth"]["worth_caching"]
        assert read.prose("worth").startswith(
            "Question 1: Worth" if worth else "Question 1: Not worth"
        )
        assert ("less than 1% of the prefill recompute" in read.prose("worth")) != worth
        if not worth:
            removes = f"remove only {percent(ceiling, 2)} of this log's"
            assert removes in read.prose("worth")
            assert "not worth enabling on this log" in read.prose("short")
        for section in ("capacity", "policy", "pin", "coldstart", "tails", "pinsim"):
            assert (document[section] is not None) == (section in read.sections) == worth


def test_a_log_of_empty_prompts(write: Write) -> None:
    empty = {"hash_ids": [], "input_length": 0}
    found = made(write(empty, empty))
    document = found.document
    assert document["worth"] == {
        "ceiling": None,
        "worth_caching": False,
        "threshold": 0.01,
        "rule": document["worth"]["rule"],
    }
    assert "no record has a block" in Read(found.report).prose("worth")


@pytest.mark.parametrize(
    "records",
    [
        [{"hash_ids": [1, 2, 3]}] * 30,  # floor and working set are the same
        [{"hash_ids": [1]}] * 3,
        [{"hash_ids": [1, n]} for n in range(2, 40)] * 3,
    ],
)
def test_small_logs(write: Write, records: list[Document]) -> None:
    found = made(write(*records))
    compare(found, found.document)


def test_a_hostile_log(write: Write, tmp_path: Path) -> None:
    """Names of others stand in the model as they are; the writers escape them."""
    evil = "</script><img src=x onerror=alert(2)>\"'&\x00\ud800\u2028"
    shape = {"layers": 2, "d_model": 8, "heads": 2, "kv_heads": 1, "head_dim": 4, "d_ff": 16}
    model = tmp_path / "m.json"
    model.write_text(json.dumps({"name": evil, **shape}), encoding="utf-8")
    found = made(write(*[{"hash_ids": [1, 2]}] * 4), "--model", model)
    read = Read(found.report)
    assert dict(read.facts["facts"])["model"] == evil
    assert read.rows("members-table")[0][0] == evil
    assert shown("a\x00") == "a\\x00"


def test_your_own_policies_are_named_in_full(tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "a_module_of_mine.py").write_text(
        "from cache_worthy.sim.radix.policies.lru import LRU\n\n\n"
        "class TheFirstPolicyOfMine(LRU):\n    '''Own.'''\n\n\n"
        "class TheFirstPolicyOfMineBetter(LRU):\n    '''Own.'''\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(tmp_path)
    names = [f"a_module_of_mine:TheFirstPolicyOfMine{end}" for end in ("", "Better")]
    argv = [word for name in names for word in ("--policy", name)]
    found = made(SAMPLE, *argv, "--skip", "bound,splits")
    compare(found, found.document)
    rows = Read(found.report).rows("tails-table-0")
    assert [row[0] for row in rows][-2:] == names


def test_the_tail_in_words_names_its_capacity_where_there_are_two() -> None:
    skip = ("--skip", "bound,splits,band")
    both = Read(made(SAMPLE, *CUT, *skip, "--capacity-fraction", "0.05").report).prose("tails")
    assert "Under lru at 1.39 GiB, 42.0% of the tail" in both
    assert "Under lru, 42.0% of the tail" in Read(made(SAMPLE, *CUT, *skip).report).prose("tails")


def test_the_script_prints_the_same_bytes() -> None:
    import subprocess
    import sys

    script = SAMPLE.parents[1] / "scripts" / "will_this_help_me.py"
    done = subprocess.run([sys.executable, script, SAMPLE], capture_output=True, check=True)
    assert done.stdout == made(SAMPLE).text.encode()
