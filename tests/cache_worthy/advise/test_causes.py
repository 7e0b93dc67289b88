"""Causes: a partition by invariant (rank 2), logs computed by hand (rank 4)."""

from __future__ import annotations

import dataclasses
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from contexts import context_of
from hypothesis import given, settings
from hypothesis import strategies as st

from cache_worthy.advise.causes import NEW, Causes, known_in_first_order, measure_causes
from cache_worthy.advise.context import Context
from cache_worthy.logs.evidence import Evidence
from cache_worthy.logs.options import ReadOptions
from cache_worthy.logs.session import read_log
from cache_worthy.measure.per_request import known_blocks
from cache_worthy.sim.cost import BlockSize
from cache_worthy.sim.errors import InvariantError
from cache_worthy.sim.forest import build_forest
from cache_worthy.sim.radix.policies import POLICIES
from cache_worthy.sim.radix.replay import replay

UNIT = 2 * 32 * 4096 * 512**2
"""In it, a block at depth d costs 105 + 2 d under Llama-3.1-8B (test_pin.py)."""

Paths = list[tuple[int, ...]]
Run = Callable[..., tuple[int, str, str]]
Write = Callable[..., Path]

REST = "".join(random.Random(5).choices("abcdefghij klmnop", k=3000))


def measure(
    paths: Paths,
    blocks: int | None,
    tokens: list[int] | None = None,
    evidence: Evidence | None = None,
) -> Causes:
    context = context_of(paths, tokens, evidence=evidence)
    result = None if blocks is None else context.replays.run("lru", blocks * BlockSize().block)
    causes = measure_causes(context, result)
    assert causes is not None
    return causes


def by_name(causes: Causes) -> dict[str, tuple[int, int, int]]:
    rows = [*causes.new, *([causes.evicted] if causes.evicted else [])]
    return {c.name: (c.requests, c.blocks, c.cost // UNIT) for c in rows if c.requests}


def test_block_ids_by_hand() -> None:
    """Two blocks of room.

    1 loads 1 and 2: 105 + 107, new from the first block. 2 finds 1, loads 3 over 2: 107, new below.
    3 is a prompt of 100 tokens, new, and 3 leaves for it: 105. 4 finds it. 5 finds 1 and has to load
    2 again: 107, evicted.
    """
    paths: Paths = [(1, 2), (1, 3), (9,), (9,), (1, 2)]
    causes = measure(paths, 2, [1024, 1024, 100, 100, 1024])
    assert by_name(causes) == {
        "new_start": (1, 2, 212),
        "new_below": (1, 1, 107),
        "shorter_than_a_block": (1, 1, 105),
        "evicted": (1, 1, 107),
    }
    assert causes.uncached_cost == (3 * 212 + 2 * 105) * UNIT
    assert causes.missing_cost == 424 * UNIT
    assert causes.missing_there_cost == 531 * UNIT
    assert causes.missing_fraction == 424 / 846
    short, tools, alike, start, below = causes.new
    assert (short.example_record, short.example_block) == (3, 0)
    assert (below.example_record, below.example_block, below.example_token) == (2, 1, 512)
    assert (start.example_record, start.example_token) == (1, 0)
    assert causes.evicted is not None
    assert (causes.evicted.example_record, causes.evicted.example_block) == (5, 1)
    # Block ids say nothing of text or tools.
    assert [c.known for c in (short, tools, alike, start, below)] == [
        True,
        False,
        False,
        True,
        True,
    ]
    assert (causes.compared, causes.beginning) == ("nothing", None)


def test_the_example_is_the_largest_part() -> None:
    causes = measure([(1,), (2, 3, 4), (5, 6), (7, 8, 9)], None)
    start = next(c for c in causes.new if c.name == "new_start")
    assert (start.requests, start.blocks, start.example_record) == (4, 9, 2)
    assert (causes.evicted, causes.missing_there_cost, causes.capacity_bytes) == (None, None, None)


@settings(max_examples=120, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 2), max_size=5).map(tuple), min_size=1, max_size=25),
    st.integers(0, 5),
    st.randoms(use_true_random=False),
)
def test_causes_are_a_partition(paths: Paths, slack: int, rng: random.Random) -> None:
    """Whatever is claimed of tools and first blocks, the sums hold and no block counts twice."""
    forest = build_forest(paths)
    if not forest.references:
        return
    evidence = Evidence()
    evidence.preambles.alike = {p[0]: -1 for p in paths if p and rng.random() < 0.5}
    evidence.reordered = {
        p[-1]: tuple(rng.sample(p, len(p))) for p in paths if p and rng.random() < 0.5
    }
    tokens = [rng.randint(1, 1024) for _ in paths]
    causes = measure(paths, forest.depth + slack, tokens, evidence)
    assert sum(c.cost for c in causes.new) == causes.missing_cost
    assert sum(c.blocks for c in causes.new) == forest.distinct
    assert causes.evicted is not None
    assert causes.missing_cost + causes.evicted.cost == causes.missing_there_cost
    assert tuple(c.name for c in causes.new) == tuple(n for n in NEW if n != "common_start")


def test_a_part_left_out_or_counted_twice_is_refused() -> None:
    paths: Paths = [(1, 2), (1, 3), (1, 2)]
    forest = build_forest(paths)
    result = replay(forest, POLICIES["lru"](), 2 * BlockSize().block)

    def causes(known: list[int], run: Any) -> object:
        context = context_of(paths)
        context.known = known
        return measure_causes(context, run)

    assert causes([0, 1, 2], result)
    for known in ([0, 0, 2], [0, 1, 1], [1, 1, 2]):
        with pytest.raises(InvariantError):
            causes(known, result)
    for wrong in (
        dataclasses.replace(result, matched=(0, 1, 2)),
        dataclasses.replace(result, total_cost=result.total_cost - 1),
    ):
        with pytest.raises(InvariantError):
            causes([0, 1, 2], wrong)


def test_nothing_to_compute_has_no_causes() -> None:
    assert measure_causes(context_of([(), ()]), None) is None


def document(run: Run, log: Path, *options: object) -> tuple[str, dict[str, Any]]:
    argv = ("analyze", log, "--skip", "bound,band,splits", *options)
    code, text, _ = run(*argv)
    assert code == 0
    code, out, _ = run(*argv, "--json")
    assert code == 0
    return text, json.loads(out)["causes"]


def timed(count: int) -> list[dict[str, object]]:
    """Prompts of two blocks of 2,048 characters, alike but for a time of day behind five."""
    return [{"prompt": f"Now: {n // 6}{n % 6}:00. {REST}"} for n in range(count)]


def test_a_timestamp_in_the_preamble_by_hand(coarse: Run, write: Write) -> None:
    """Nothing is shared, so question 1 ends the run; the reason is given all the same.

    Ten prompts of two blocks: the first has nothing to be like, the other nine are. The second
    record differs from the first one character into the time ("00" and "01").
    """
    text, causes = document(coarse, write(*timed(10)))
    assert "NOT WORTH CACHING" in text
    rows = {c["name"]: (c["requests"], c["blocks"]) for c in causes["new"] if c["requests"]}
    assert rows == {"near_identical_start": (9, 18), "new_start": (1, 2)}
    alike = next(c for c in causes["new"] if c["name"] == "near_identical_start")
    assert alike["fraction"] == pytest.approx(0.9)
    assert (alike["example_record"], alike["example_token"]) == (2, 0)
    begins = causes["beginning"]
    assert (begins["record"], begins["requests"]) == (2, 9)
    assert (begins["position"], begins["unit"], begins["before"]) == (6, "characters", "Now: 0")
    assert begins["earlier"] == f"0:00. {REST}"[:30]
    assert begins["later"] == f"1:00. {REST}"[:30]
    flat = " ".join(text.split())
    assert "Up to 90.0% of prefill work is lost because prompts differ from earlier ones" in flat
    assert 'record 2, character 6: behind "Now: 0" stood "0:00. ' in flat


def test_prompts_stay_out_where_they_may_not_be_shown(run: Run, write: Write) -> None:
    log = write(*timed(10))
    text, causes = document(run, log, "--no-text")
    assert causes["beginning"]["position"] == 6
    assert {causes["beginning"][k] for k in ("before", "earlier", "later")} == {None}
    code, out, _ = run("analyze", log, "--no-text", "--json", "--skip", "bound,band,splits")
    assert code == 0
    for shown in (text, out):
        assert "Now:" not in shown
        assert not any(REST[n : n + 8] in shown for n in range(0, 3000, 4))


def test_an_anonymised_log_has_no_text(run: Run, write: Write, tmp_path: Path) -> None:
    converted = tmp_path / "converted.jsonl"
    assert run("convert", write(*timed(10)), "--anonymise", "-o", converted)[0] == 0
    text, causes = document(run, converted)
    assert (causes["compared"], causes["beginning"]) == ("nothing", None)
    assert next(c for c in causes["new"] if c["name"] == "new_start")["requests"] == 10
    assert "need prompts in the log, not block ids" in " ".join(text.split())


def test_token_ids_by_hand(run: Run, write: Write) -> None:
    """Position in tokens, and no text."""
    rest = list(range(1000, 1800))
    log = write(*[{"prompt": [7, 8, 9, n, *rest], "max_tokens": 1} for n in range(5)])
    _, causes = document(run, log)
    assert causes["compared"] == "tokens"
    assert causes["beginning"] == {
        "record": 2,
        "requests": 4,
        "position": 3,
        "unit": "tokens",
        "before": None,
        "earlier": None,
        "later": None,
    }


TOOLS: list[dict[str, Any]] = [
    {"type": "function", "function": {"name": n, "description": n * 300, "parameters": {}}}
    for n in "abc"
]


def chat(tools: list[dict[str, Any]], question: str) -> dict[str, object]:
    return {"messages": [{"role": "user", "content": question}], "tools": tools}


def test_tool_order_by_hand(write: Write) -> None:
    """Blocks of 64 characters (16 tokens). The prompts of 1 and 2 differ in the order of tools only.

    So all that 2 had to compute would have been a hit. 3 comes in the order of 2 with another
    question: what it does not find (from the question on) would be new in either order. 4 has other
    tools, so its order is its own.
    """
    a, b, c = TOOLS
    log = read_log(
        write(
            chat([a, b, c], "one question " * 20),
            chat([c, b, a], "one question " * 20),
            chat([c, b, a], "another question " * 20),
            chat([c, b], "one question " * 20),
        ),
        ReadOptions(block_size=16, chars_per_token=4),
    )
    paths: Any = [r.hash_ids for r in log.requests]
    known = known_blocks(build_forest(paths))
    causes = measure_causes(Context(log), None)
    assert causes is not None
    rows = {c.name: (c.requests, c.blocks) for c in causes.new if c.requests}
    whole = len(paths[0])
    # 1 and 2 share "<|tools|>\n[{..." up to the first name at character 27: no whole block.
    assert known[:2] == [0, 0]
    assert rows["tool_order"] == (1, whole)
    tool_part = len("<|tools|>\n" + json.dumps([t["function"] for t in TOOLS])) // 64
    assert abs(known[2] - tool_part) <= 1
    assert rows["new_below"][1] == len(paths[2]) - known[2] + len(paths[3]) - known[3]
    assert (causes.prompts_with_tools, causes.tools_not_compared) == (4, False)


def test_the_first_order_is_kept_by_what_came_first(run: Run, write: Write) -> None:
    """Reordered tools are named in the head of the report, with their share."""
    a, b, c = TOOLS
    orders = [[a, b, c], [c, b, a], [b, a, c], [a, c, b]]
    text, causes = document(run, write(*[chat(o, "hi") for o in orders * 3]), "--block-size", "16")
    share = next(x for x in causes["new"] if x["name"] == "tool_order")["fraction"]
    assert share > 0.1
    flat = " ".join(text.split())
    assert (
        f"{100 * share:.1f}% of prefill work is lost because the same tools are sent in a different order"
        in flat
    )


def test_salts_are_no_difference_to_mend(run: Run, write: Write) -> None:
    records = [{"prompt": REST, "cache_salt": f"tenant {n}"} for n in range(6)]
    _, causes = document(run, write(*records))
    assert next(c for c in causes["new"] if c["name"] == "near_identical_start")["requests"] == 0


@pytest.mark.parametrize("template", ["simple", "chatml", "llama3"])
@pytest.mark.parametrize("seed", range(6))
def test_tool_order_equals_a_log_written_in_the_first_order(
    write: Write, template: str, seed: int
) -> None:
    """The count without reordering is that of the same log written without it."""
    rng = random.Random(seed)
    first: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    as_sent: list[object] = []
    as_first: list[object] = []
    for n in range(60):
        tools = rng.sample(TOOLS, rng.choice((1, 2, 3, 3)))
        names = tuple(sorted(t["function"]["name"] for t in tools))
        question = f"question {rng.randrange(4)} " * rng.randint(1, 12)
        system = [{"role": "system", "content": f"You are {rng.choice('AB')}."}] * (n % 2)
        for out, order in ((as_sent, tools), (as_first, first.setdefault(names, tools))):
            record: Any = chat(order, question)
            out.append({**record, "messages": [*system, *record["messages"]]})
    options = ReadOptions(block_size=16, template=template)
    sent = read_log(write(*as_sent, name="sent.jsonl"), options)
    straight = read_log(write(*as_first, name="first.jsonl"), options)
    known = known_blocks(build_forest([r.hash_ids for r in straight.requests]))
    paths = [r.hash_ids for r in sent.requests]
    assert known_in_first_order(paths, sent.evidence) == known
    assert known != known_blocks(build_forest(paths))
    assert not straight.evidence.reordered


def test_a_prompt_cannot_act_in_the_page(run: Run, write: Write, tmp_path: Path) -> None:
    """What is shown of prompts is text, in the terminal and on the page."""
    bad = "</script><img src=x onerror=alert(1)>\x1b[31m\u202e"
    log = write(*[{"prompt": f"{bad}{n}{bad} {REST}"} for n in range(9)])
    target = tmp_path / "page.html"
    code, text, _ = run("analyze", log, "--skip", "bound,band,splits", "--html", target)
    assert code == 0
    assert "\x1b" not in text
    assert "\u202e" not in text
    page = target.read_text(encoding="utf-8")
    assert "&lt;img src=x" in page
    assert "<img src=x" not in page
    assert "\x1b" not in page


def test_many_blocks_are_no_prompt_shorter_than_one() -> None:
    """Block ids of another length than the log's tokens say: the causes go by the ids."""
    paths = [(1, 2, 3), (1, 2, 4), (9,)]
    found = by_name(measure(paths, None, [48, 48, 5]))
    assert {name: n[:2] for name, n in found.items()} == {
        "shorter_than_a_block": (1, 1),
        "new_start": (1, 3),
        "new_below": (1, 1),
    }


def tokens_of(*starts: tuple[int, int], length: int = 600) -> list[dict[str, object]]:
    """Prompts of token ids: so many of a common start, then their own."""
    return [
        {"prompt": [start + n for n in range(common)] + [10**5 + 1000 * k + n for n in range(length - common)]}
        for k, (start, common) in enumerate(starts)
    ]  # fmt: skip


def test_a_common_start_shorter_than_a_block_by_hand(run: Run, write: Write) -> None:
    """Two blocks each, 105 + 107. Of 435 shared tokens 432 are blocks of 16: 105 * 432 / 512 of two
    prompts; the fourth shares 10, less than a block of 16."""
    log = write(*tokens_of((0, 435), (0, 435), (0, 435), (5000, 10), (5000, 10)))
    text, causes = document(run, log, "--block-size", 512)
    rows = {c["name"]: c for c in causes["new"]}
    common = 105 * UNIT * 432 // 512
    assert rows["common_start"]["cost"] == 2 * common
    assert (rows["common_start"]["requests"], rows["common_start"]["blocks"]) == (2, 0)
    assert rows["new_start"]["cost"] == 5 * 212 * UNIT - 2 * common
    assert "common start shorter than a block" in text


def test_only_the_block_size_ends_question_1(run: Run, write: Write) -> None:
    """The answer names the size; the share is what a reading at that size gives."""
    log = write(*tokens_of(*[(0, 435)] * 60, length=500))
    found = json.loads(run("analyze", log, "--block-size", 512, "--json")[1])["worth"]
    assert (found["ceiling"], found["worth_caching"], found["smaller_block"]) == (0, False, 16)
    fine = json.loads(run("analyze", log, "--json", "--skip", "bound,band")[1])["worth"]
    assert fine["ceiling"] == pytest.approx(found["hidden_fraction"], abs=0.03)
    assert "hidden_fraction" not in fine
    text = " ".join(run("analyze", log, "--block-size", 512)[1].split())
    assert "not worth enabling" not in text
    assert "blocks of 16 would remove about 85.0%" in text
    assert "Rerun with --block-size 16." in text


def test_prompts_shorter_than_a_block_of_the_server_are_not_reused(run: Run, write: Write) -> None:
    """Equal prompts of 600 tokens: nothing in full blocks of 784, all but the first at 16."""
    log = write(*[{"prompt": list(range(600))}] * 50)
    found = json.loads(run("analyze", log, "--block-size", 784, "--json")[1])["worth"]
    assert (found["ceiling"], found["worth_caching"]) == (0, False)
    assert found["hidden_fraction"] == pytest.approx(49 / 50 * 592 / 600, abs=1e-6)
    fine = json.loads(run("analyze", log, "--json", "--skip", "bound,band")[1])["worth"]
    assert fine["ceiling"] == 0.98


def test_prompts_with_nothing_in_common_are_not_worth_caching(run: Run, write: Write) -> None:
    log = write(*tokens_of(*[(0, 0)] * 9))
    assert "not worth enabling on this log" in " ".join(run("analyze", log)[1].split())
    ids = write(*[{"hash_ids": [n], "input_length": 300} for n in range(9)], name="ids.jsonl")
    found = json.loads(run("analyze", ids, "--json")[1])
    assert "hidden_fraction" not in found["worth"]
    assert "common_start" not in {c["name"] for c in found["causes"]["new"]}
