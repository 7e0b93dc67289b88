"""Pinned nodes in the replay: they never leave, whatever the engine.

Rank 2: exhaustively on small logs, a pinned block that was loaded once is matched ever after (seen
from the matched blocks alone). Rank 4: by hand. Rank 5: the engines agree, and mistakes planted in
the interned one are noticed.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from radix_cases import block_paths, engines_of, random_forest

from cache_worthy.sim.cost import BlockCost, BlockSize
from cache_worthy.sim.errors import CapacityError, InputError, InvariantError
from cache_worthy.sim.forest import Forest, build_forest
from cache_worthy.sim.outcome import Outcome
from cache_worthy.sim.radix import interned
from cache_worthy.sim.radix.interned import replay_interned
from cache_worthy.sim.radix.pins import held_floor, hold
from cache_worthy.sim.radix.policies import POLICIES, KeyRule
from cache_worthy.sim.radix.replay import replay
from cache_worthy.sim.trace import BlockId

BLOCK = BlockSize().block
PINNABLE = [name for name, policy in POLICIES.items() if not policy.chooses]


def known_blocks(paths: Sequence[Sequence[object]]) -> list[int]:
    """Per request the blocks of its path seen before, by sets of prefixes."""
    seen: set[tuple[object, ...]] = set()
    out = []
    for path in paths:
        prefixes = [tuple(path[: n + 1]) for n in range(len(path))]
        out.append(sum(p in seen for p in prefixes))
        seen.update(prefixes)
    return out


def stays(paths: Sequence[Sequence[object]], depths: list[int], result: Outcome) -> bool:
    """Whether every pinned block is matched from its second request on."""
    return all(
        m >= min(d, k) for m, d, k in zip(result.matched, depths, known_blocks(paths), strict=True)
    )


def floor_blocks(forest: Forest, nodes: Sequence[int]) -> int:
    held, depths = hold(forest, nodes)
    return held_floor(forest, held, depths, BlockSize()) // BLOCK


@settings(max_examples=150, deadline=None)
@given(
    paths=block_paths(),
    slack=st.integers(0, 8),
    picks=st.sets(st.integers(0, 30), max_size=4),
    policy=st.sampled_from(PINNABLE),
)
def test_engines_agree(
    paths: list[tuple[BlockId, ...]], slack: int, picks: set[int], policy: str
) -> None:
    forest = build_forest(paths)
    nodes = sorted({p % forest.nodes for p in picks}) if forest.nodes else []
    capacity = (floor_blocks(forest, nodes) + slack) * BLOCK
    first, *others = [
        replay(forest, POLICIES[policy](), capacity, engine=engine, pinned=nodes)
        for engine in engines_of(policy)
    ]
    assert all(other == first for other in others)
    assert stays(paths, hold(forest, nodes)[1], first)


@settings(max_examples=60, deadline=None)
@given(paths=block_paths(), slack=st.integers(0, 8), policy=st.sampled_from(PINNABLE))
def test_pinning_nothing_changes_no_field(
    paths: list[tuple[BlockId, ...]], slack: int, policy: str
) -> None:
    forest = build_forest(paths)
    capacity = (forest.depth + slack) * BLOCK
    plain = replay(forest, POLICIES[policy](), capacity)
    assert replay(forest, POLICIES[policy](), capacity, pinned=()) == plain
    rule = POLICIES[policy].key_rule
    if rule is None:
        return
    sizes, costs = BlockSize().cumulative(forest.depth), BlockCost().cumulative(forest.depth)
    tallies = [
        replay_interned(forest, rule, capacity, sizes, costs, held)
        for held in (None, bytearray(forest.nodes))
    ]
    assert tallies[0] == tallies[1]


@pytest.mark.parametrize("policy", PINNABLE)
def test_everything_pinned_costs_what_is_compulsory(policy: str) -> None:
    paths = list(itertools.product((1, 2), repeat=3)) * 2
    forest = build_forest(paths)
    room = forest.distinct * BLOCK
    for engine in engines_of(policy):
        result = replay(forest, POLICIES[policy](), room, engine=engine, pinned=range(forest.nodes))
        assert result.total_cost == result.compulsory_cost
        assert (result.evictions, result.resident_size) == (0, room)


def small_logs() -> Iterator[tuple[tuple[int, ...], ...]]:
    """Every log of four paths of at most two blocks over two symbols, up to their names."""
    paths = [p for n in (1, 2) for p in itertools.product((1, 2), repeat=n)]
    return (log for log in itertools.product(paths, repeat=4) if log[0][0] == 1)


def test_no_pinned_block_leaves_exhaustively() -> None:
    """648 logs, every set of pinned nodes, the least capacity and one block more."""
    logs = runs = tight = 0
    for paths in small_logs():
        logs += 1
        forest = build_forest(paths)
        known = known_blocks(paths)
        for size in range(1, forest.nodes + 1):
            for nodes in itertools.combinations(range(forest.nodes), size):
                held, depths = hold(forest, nodes)
                least = held_floor(forest, held, depths, BlockSize())
                for capacity in (least, least + BLOCK):
                    result = replay(forest, POLICIES["lru"](), capacity, pinned=nodes)
                    runs += 1
                    tight += result.evictions > 0
                    assert all(
                        m >= min(d, k)
                        for m, d, k in zip(result.matched, depths, known, strict=True)
                    )
    assert logs == 648
    assert runs > 9_000
    assert tight > 1_000  # it was not all roomy


def test_by_hand() -> None:
    """Three blocks of room; (1, 2), then (3, 4) and (5, 6), then (1, 2) again, then (1, 7).

    Plain lru loads 2, 2, 2, 2, each time over the one before, and 1: nine blocks. With block 1
    pinned, which is cut off from 2 as it is loaded: 2; then 2, for which 2 leaves; then 2, for
    which (3, 4) leaves; then 1, for which (5, 6) leaves, as block 1 is there; then 7: eight.
    """

    class Count(BlockSize):
        @property
        def block(self) -> int:
            return 1

    paths = [(1, 2), (3, 4), (5, 6), (1, 2), (1, 7)]
    forest = build_forest(paths)
    pinned = [forest.parent[forest.terminal[0]]]  # block 1: (1, 7) makes it a node
    unit = Count()
    plain = replay(forest, POLICIES["lru"](), 3, unit, unit)
    assert (plain.matched, plain.total_cost, plain.evictions) == ((0, 0, 0, 0, 1), 9, 3)
    for engine in engines_of("lru"):
        result = replay(forest, POLICIES["lru"](), 3, unit, unit, engine=engine, pinned=pinned)
        assert result.matched == (0, 0, 0, 1, 1)
        assert (result.total_cost, result.evictions, result.evicted_size) == (8, 3, 5)
        assert (result.evicted_once, result.resident_size) == (3, 3)


def test_the_floor_counts_what_is_pinned() -> None:
    """(1, 2) pinned and (3, 4, 5) served: five blocks; the path through the pin needs four."""
    forest = build_forest([(1, 2), (3, 4, 5), (1, 2, 6, 7)])
    pin = forest.terminal[0]
    assert floor_blocks(forest, [pin]) == 5
    replay(forest, POLICIES["lru"](), 5 * BLOCK, pinned=[pin])
    for engine in engines_of("lru"):
        with pytest.raises(CapacityError, match="beside what is pinned"):
            replay(forest, POLICIES["lru"](), 5 * BLOCK - 1, engine=engine, pinned=[pin])


def test_what_cannot_be_pinned_is_refused() -> None:
    forest = build_forest([(1, 2), (1, 3)])
    room = 9 * BLOCK
    with pytest.raises(InputError, match="node 7"):
        replay(forest, POLICIES["lru"](), room, pinned=[7])
    with pytest.raises(InputError, match="needs a forest"):
        replay([(1, 2)], POLICIES["lru"](), room, pinned=[0])
    with pytest.raises(InputError, match="cosigned names its victims"):
        replay(forest, POLICIES["cosigned"](), room, pinned=[0])


MUTANTS = (
    ("a held leaf is a candidate", "children.append(1)\n            used", "children.append(0)\n            used"),
    ("the lower half of a held node is let go", "children.append(children[leaf])", "children.append(max(children[leaf] - 1, 0))"),
    ("held and other blocks in one node", "and held[missing]:", "and held[terminal]:"),
    ("the rest is loaded whole", "need -= part", "need -= 0"),
    ("the held part is not counted", "used += part", "used += 0"),
)  # fmt: skip


SOURCE = Path(interned.__file__).read_text(encoding="utf-8")


def noticed(source: str) -> bool:
    """Whether the engine that a text defines differs from the shipped one on some log."""
    space: dict[str, object] = {"__name__": interned.__name__}
    exec(compile(source, "mutant", "exec"), space)  # noqa: S102
    mutant: Any = space["replay_interned"]
    rule = KeyRule(base="clock")
    larger = (random_forest(seed, 40, symbols=2, depth=4) for seed in range(20))
    for forest in itertools.chain(map(build_forest, small_logs()), larger):
        sizes, costs = BlockSize().cumulative(forest.depth), BlockCost().cumulative(forest.depth)
        for node in range(forest.nodes):
            held, depths = hold(forest, [node])
            capacity = held_floor(forest, held, depths, BlockSize())
            right = replay_interned(forest, rule, capacity, sizes, costs, held)
            try:
                if mutant(forest, rule, capacity, sizes, costs, held) != right:
                    return True
            except InvariantError:
                return True
    return False


@pytest.mark.parametrize(("what", "text", "instead"), MUTANTS, ids=[m[0] for m in MUTANTS])
def test_planted_mistakes_are_noticed(what: str, text: str, instead: str) -> None:
    assert SOURCE.count(text) == 1, what
    assert noticed(SOURCE.replace(text, instead)), what


def test_nothing_is_noticed_in_the_shipped_text() -> None:
    assert not noticed(SOURCE)
