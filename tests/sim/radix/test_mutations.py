"""Every rule of the replay, broken in turn, and what notices.

``naive_replay`` is written from the rules alone and imports nothing of the project. Here it is

* a third opinion (rank 5) beside the two engines, on random forests and on the traces;
* the subject of mutations: with one rule changed, cells of the published table (rank 1) must
  break. How many break is itself known, and compared (``slow``).

Three rules are pinned by no published cell; hand-computed instances (rank 4) pin them, against the
engines as well as against the transcription.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import published
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_replay import (
    POLICY_NAMES,
    THE_RULES,
    Counted,
    Rules,
    Shape,
    capacity_of,
    llama_8b,
    naive_replay,
)

from cache_worthy.logs.session import read_log
from cache_worthy.sim.cost import BlockCost, BlockSize, Model
from cache_worthy.sim.forest import build_forest
from cache_worthy.sim.outcome import Outcome
from cache_worthy.sim.radix.policies import POLICIES
from cache_worthy.sim.radix.replay import Engine, replay
from cache_worthy.sim.trace import BlockId, paths_of

ENGINES: tuple[Engine, ...] = ("interned", "heap", "reference")
EMBEDDING = 128_256 * 4_096
NORMS = 65 * 4_096

#: (what is broken, the broken rule, parameters added to N, cells of 25 that must break)
MUTATIONS: tuple[tuple[str, Rules, int, int], ...] = (
    ("N counts one embedding", THE_RULES, EMBEDDING, 24),
    ("N counts two embeddings", THE_RULES, 2 * EMBEDDING, 25),
    ("N counts the norms", THE_RULES, NORMS, 4),
    ("capacity rounded", Rules(capacity="round"), 0, 2),
    ("capacity rounded up", Rules(capacity="ceil"), 0, 7),
    ("hits after the evictions", Rules(hits="after evictions"), 0, 3),
    ("only the deepest node is hit", Rules(hit_nodes="deepest"), 0, 8),
    ("the upper half is the new object", Rules(split="lower keeps the object"), 0, 1),
    ("split at the insertion", Rules(split_at="insert"), 0, 24),
    ("lower half re-keyed", Rules(lower="re-keyed"), 0, 25),
    ("lower half as if inserted", Rules(lower="fresh"), 0, 25),
    ("lower half with freq 1", Rules(lower="freq 1"), 0, 2),
    ("ties to the newest", Rules(tie="newest"), 0, 10),
    ("ties by depth", Rules(tie="depth"), 0, 3),
    ("ties by -depth", Rules(tie="-depth"), 0, 6),
    ("ties by last access", Rules(tie="last access"), 0, 1),
    ("ties by push order", Rules(tie="push order"), 0, 3),
    ("ties by size", Rules(tie="size"), 0, 9),
    ("gdsf with max", Rules(gdsf_level="max"), 0, 1),
    ("landlord family without max", Rules(landlord_level="last"), 0, 13),
    ("insertion keyed before the evictions", Rules(insert_key="before evictions"), 0, 19),
    ("inserted with freq 0", Rules(insert_freq=0), 0, 5),
    ("inserted with freq 2", Rules(insert_freq=2), 0, 5),
)
NAMES = [m[0] for m in MUTATIONS]
UNPINNED: tuple[tuple[str, Rules], ...] = (
    ("a hit never lowers a key", Rules(hit_key="max")),
    ("the lower half is pinned", Rules(pin_lower=True)),
    ("no split where a request ends", Rules(split_at_end=False)),
)

Paths = list[tuple[BlockId, ...]]


@pytest.fixture(scope="module")
def trace_paths(traces: Path) -> dict[str, Paths]:
    names = ("synthetic", "conversation")
    return {t: list(paths_of(read_log(published.trace_file(traces, t)).requests)) for t in names}


def cells(trace_paths: dict[str, Paths], rules: Rules, extra: int) -> Iterator[bool]:
    """Per published cell at hand whether the replay gives it; the small trace first."""
    shape = llama_8b(extra)
    for trace, paths in trace_paths.items():
        distinct = len({block for path in paths for block in path})
        for (name, percent, policy), cell in published.REPLAY_TABLE.items():
            if name == trace:
                capacity = capacity_of(percent, distinct, shape.block_bytes, rules.capacity)
                yield naive_replay(paths, policy, capacity, shape, rules).ratio == cell


@pytest.mark.traces
def test_the_rules_give_all_25_cells(trace_paths: dict[str, Paths]) -> None:
    assert list(cells(trace_paths, THE_RULES, 0)) == [True] * 25


@pytest.mark.traces
@pytest.mark.parametrize(("what", "rules", "extra", "count"), MUTATIONS, ids=NAMES)
def test_a_broken_rule_breaks_a_cell(
    trace_paths: dict[str, Paths], what: str, rules: Rules, extra: int, count: int
) -> None:
    assert not all(cells(trace_paths, rules, extra)), what


@pytest.mark.traces
@pytest.mark.slow
@pytest.mark.parametrize(("what", "rules", "extra", "count"), MUTATIONS, ids=NAMES)
def test_a_broken_rule_breaks_as_many_cells_as_is_known(
    trace_paths: dict[str, Paths], what: str, rules: Rules, extra: int, count: int
) -> None:
    assert sum(not ok for ok in cells(trace_paths, rules, extra)) == count, what


@pytest.mark.traces
@pytest.mark.slow
@pytest.mark.parametrize(("what", "rules"), UNPINNED, ids=[m[0] for m in UNPINNED])
def test_three_rules_break_no_published_cell(
    trace_paths: dict[str, Paths], what: str, rules: Rules
) -> None:
    # Why the hand-computed instances below are needed.
    assert all(cells(trace_paths, rules, 0)), what


# Random forests: transcription and engines agree in every field ------------------------------

SMALL = Model(name="small", layers=1, d_model=8, heads=1, kv_heads=1, head_dim=8, d_ff=16)
SMALL_SHAPE = Shape(a=SMALL.linear, b=SMALL.quadratic, block_bytes=BlockSize(SMALL).block)


def fields(outcome: Counted | Outcome) -> dict[str, object]:
    return {name: getattr(outcome, name) for name in Counted.__slots__}


def by_engine(paths: Paths, policy: str, blocks: int, engine: Engine) -> Outcome:
    size, cost = BlockSize(SMALL), BlockCost(SMALL)
    return replay(paths, POLICIES[policy](), blocks * size.block, size, cost, engine=engine)


def by_rules(paths: Paths, policy: str, blocks: int, rules: Rules = THE_RULES) -> Counted:
    return naive_replay(
        paths,
        policy,
        blocks * SMALL_SHAPE.block_bytes,
        SMALL_SHAPE,
        rules,
    )


@st.composite
def workloads(draw: st.DrawFn) -> tuple[Paths, int]:
    """Paths of a random forest (an id fixes its prefix) and a capacity from the floor on."""
    words = draw(
        st.lists(st.lists(st.integers(0, 2), min_size=0, max_size=5), min_size=1, max_size=25)
    )
    numbers: dict[tuple[int, ...], int] = {}
    paths: Paths = [
        tuple(numbers.setdefault(tuple(word[: k + 1]), len(numbers)) for k in range(len(word)))
        for word in words
    ]
    floor = max(1, max(map(len, paths)))
    return paths, floor + draw(st.integers(0, 6))


@settings(max_examples=150, deadline=None)
@given(workloads(), st.sampled_from(POLICY_NAMES))
def test_engines_agree_with_the_transcription(workload: tuple[Paths, int], policy: str) -> None:
    paths, blocks = workload
    expected = fields(by_rules(paths, policy, blocks))
    for engine in ENGINES:
        assert fields(by_engine(paths, policy, blocks, engine)) == expected


@pytest.mark.traces
def test_engine_agrees_with_the_transcription_on_the_traces(
    trace_paths: dict[str, Paths],
) -> None:
    shape = llama_8b()
    for paths in trace_paths.values():
        forest = build_forest(paths)
        for percent in (2, 10):
            capacity = capacity_of(percent, forest.distinct, shape.block_bytes)
            for policy in POLICY_NAMES:
                result = replay(forest, POLICIES[policy](), capacity)
                assert fields(result) == fields(naive_replay(paths, policy, capacity, shape))


# The three rules that no published cell pins, by hand -----------------------------------------
#
# Costs below are in units of b * 512^2 and sizes in blocks, with A = a / (512 b): a run of blocks
# [s, e) costs (e - s)(A + s + e). SMALL has N = 4 * 64 + 3 * 8 * 16 = 640, so a = 1280, b = 16 and
# A = 1280 / 8192 = 5/32.

A = Fraction(5, 32)
UNIT = SMALL_SHAPE.b * 512 * 512


def test_unit_by_hand() -> None:
    assert Fraction(SMALL_SHAPE.a, 512 * SMALL_SHAPE.b) == A
    assert by_rules([(1, 2)], "lru", 2).total_cost == 2 * (A + 2) * UNIT


def runs(*segments: tuple[int, int]) -> int:
    """Cost of loading the runs of blocks [s, e)."""
    total = sum(((e - s) * (A + s + e) for s, e in segments), Fraction(0)) * UNIT
    assert total.denominator == 1
    return int(total)


#: (the broken rule, policy, capacity in blocks, requests, runs loaded, runs the broken rule adds)
BY_HAND: tuple[tuple[Rules, str, int, Paths, tuple[tuple[int, int], ...], tuple[int, int]], ...] = (
    (
        # gdsf's level falls from A + 6 (request 3 evicts blocks 2-5) to 2A + 2 (request 4 evicts
        # block 1). Block 7 came at A + 6 + (A + 1) = 7.31; its hit resets it to
        # 2A + 2 + 2(A + 1) = 4.63, below the 2A + 2 + (A + 4) = 6.47 of blocks 8-11. So request 6
        # evicts block 7, and request 7 finds 8-11. Keeping the larger key evicts 8-11.
        Rules(hit_key="max"),
        "gdsf",
        5,
        [(1,), (1, 2, 3, 4, 5), (7,), (8, 9, 10, 11), (7,), (12,), (8, 9, 10, 11)],
        ((0, 1), (1, 5), (0, 1), (0, 4), (0, 1)),
        (0, 4),
    ),
    (
        # Request 3 splits 1-2; the lower half (block 2) has clock 1, block 3 has clock 2. Block 2
        # leaves, so request 4 finds block 3. Pinned, block 2 stays and block 3 leaves.
        Rules(pin_lower=True),
        "lru",
        3,
        [(1, 2), (3,), (1, 4), (3,)],
        ((0, 2), (0, 1), (1, 2)),
        (0, 1),
    ),
    (
        # Request 2 ends inside 1-2 and splits it: block 1 has clock 2, block 2 keeps clock 1.
        # Request 4 evicts block 2 alone, so request 5 finds block 1. Unsplit, both leave.
        Rules(split_at_end=False),
        "lru",
        3,
        [(1, 2), (1,), (3,), (4,), (1,)],
        ((0, 2), (0, 1), (0, 1)),
        (0, 1),
    ),
)


@pytest.mark.parametrize(
    ("broken", "policy", "blocks", "paths", "loaded", "more"),
    BY_HAND,
    ids=["hit overwrites the key", "lower half not pinned", "split where a request ends"],
)
def test_rules_that_no_published_cell_pins(
    broken: Rules,
    policy: str,
    blocks: int,
    paths: Paths,
    loaded: tuple[tuple[int, int], ...],
    more: tuple[int, int],
) -> None:
    assert by_rules(paths, policy, blocks).total_cost == runs(*loaded)
    for engine in ENGINES:
        assert by_engine(paths, policy, blocks, engine).total_cost == runs(*loaded)
    assert by_rules(paths, policy, blocks, broken).total_cost == runs(*loaded, more)
