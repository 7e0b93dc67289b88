"""Mistakes planted in the interned engine's own text, each noticed on small random forests.

``test_mutations.py`` breaks the rules in a transcription to show that the published table pins
them. Here the shipped engine itself is broken, one line at a time, and the comparison with the
transcription (rank 5) must notice without any trace: so the hermetic tests guard the engine.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from naive_replay import POLICY_NAMES, Counted, Shape, naive_replay

from cache_worthy.sim.cost import BlockCost, BlockSize, Model
from cache_worthy.sim.forest import Forest, build_forest
from cache_worthy.sim.outcome import Outcome
from cache_worthy.sim.radix import interned
from cache_worthy.sim.radix.policies import POLICIES

MODEL = Model(name="small", layers=1, d_model=8, heads=1, kv_heads=1, head_dim=8, d_ff=16)
SIZE, COST = BlockSize(MODEL), BlockCost(MODEL)
SHAPE = Shape(a=MODEL.linear, b=MODEL.quadratic, block_bytes=SIZE.block)
SOURCE = Path(interned.__file__).read_text(encoding="utf-8")

Engine = Callable[..., Outcome]

#: What is broken, the engine's text, and what stands there instead.
MUTANTS: tuple[tuple[str, str, str], ...] = (
    ("hits are not counted", "freq[node] += 1\n", "pass\n"),
    ("a hit does not refresh the clock", "key[node] = clock + weights[node]", "pass"),
    (
        "a hit keeps the larger key",
        "key[node] = level + freq[node] * weights[node]",
        "key[node] = max(key[node], level + freq[node] * weights[node])",
    ),
    ("a hit leaves the greedy-dual key", "key[node] = level + weights[node]", "pass"),
    ("only the deepest node is hit", "node = resident[up[head[node]]]", "node = 1"),
    ("the lower half starts with freq 1", "freq.append(freq[leaf])", "freq.append(1)"),
    (
        "the lower half is re-keyed",
        "kept = key[leaf]",
        "kept = float(clock) if on_clock else level",
    ),
    ("the upper half keeps its weight", "weights[leaf] = weight(", "weight("),
    (
        "the lower half takes the whole's weight",
        "weights.append(weight(",
        "weights.append(2 * weight(",
    ),
    ("the lower half is no candidate", "push(heap, (kept, lower))", "pass"),
    ("the level always follows the victim", "if value > level:", "if value:"),
    (
        "gdsf's level never falls",
        "elif keep_last:\n                level = value",
        "elif keep_last:\n                level = max(level, value)",
    ),
    ("the level never moves", "if keep_max:", "if False:"),
    ("inserted as if hit twice", "else level + w ", "else level + 2 * w "),
    ("the matched leaf is not pinned", " or victim == leaf", ""),
    ("a childless parent is no candidate", "push(heap, (key[parent], parent))", "pass"),
    ("the matched leaf is no candidate", "push(heap, (key[leaf], leaf))", "pass"),
    ("evicted after one use miscounted", "if freq[victim] == 1:", "if freq[victim] <= 2:"),
    ("the charge forgets depth", "costs[length] - costs[i]\n", "costs[length - i]\n"),
    (
        "one byte less than the capacity",
        "while used + need > capacity:",
        "while used + need >= capacity:",
    ),
    ("evicted sizes are not freed", "used -= freed", "used -= 0"),
    ("ties to the newest", "push(heap, (value, online))", "push(heap, (value - 1e-9, online))"),
)


def engine_of(source: str) -> Engine:
    """The engine that a text defines."""
    space: dict[str, object] = {"__name__": interned.__name__}
    exec(compile(source, "mutant", "exec"), space)  # noqa: S102 (our own text, one line changed)
    engine = space["replay_interned"]
    assert callable(engine)
    return engine


#: What the transcription has as well.
FACTS = Counted.__slots__


def facts(result: object, names: tuple[str, ...] = FACTS) -> list[object]:
    return [tuple(v) if isinstance(v := getattr(result, n), list) else v for n in names]


Case = tuple[Forest, str, int, list[object]]


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    """Random forests, the capacities from the floor on, and what the transcription says."""
    rng = random.Random(20260219)
    found = []
    for number in range(350):
        numbers: dict[tuple[int, ...], int] = {}
        paths = []
        for _ in range(rng.randint(3, 40)):
            word = [rng.randint(0, 2) for _ in range(rng.randint(1, 6))]
            paths.append(
                tuple(
                    numbers.setdefault(tuple(word[: k + 1]), len(numbers)) for k in range(len(word))
                )
            )
        policy = POLICY_NAMES[number % len(POLICY_NAMES)]
        capacity = (max(map(len, paths)) + rng.randint(0, 6)) * SHAPE.block_bytes
        expected = facts(naive_replay(paths, policy, capacity, SHAPE))
        found.append((build_forest(paths), policy, capacity, expected))
    return found


def noticed(engine: Engine, cases: list[Case]) -> int | None:
    """The number of the first case in which the engine differs or refuses, or None."""
    for number, (forest, policy, capacity, expected) in enumerate(cases):
        sizes, costs = SIZE.cumulative(forest.depth), COST.cumulative(forest.depth)
        try:
            got = facts(engine(forest, POLICIES[policy].key_rule, capacity, sizes, costs))
        except Exception:  # noqa: BLE001 (however a broken engine fails, it is noticed)
            return number
        if got != expected:
            return number
    return None


def test_the_engine_as_shipped_agrees(cases: list[Case]) -> None:
    assert noticed(engine_of(SOURCE), cases) is None


@pytest.mark.parametrize(("what", "text", "instead"), MUTANTS, ids=[m[0] for m in MUTANTS])
def test_a_planted_mistake_is_noticed(
    cases: list[Case], what: str, text: str, instead: str
) -> None:
    assert text in SOURCE, "the engine's text has changed: restate this mutant"
    assert noticed(engine_of(SOURCE.replace(text, instead)), cases) is not None, what
