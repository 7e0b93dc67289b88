"""The compiled engine against the plain one (rank 5), and what it must leave to it."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import pytest
from radix_cases import RULES, random_forest

from cache_worthy.sim.cost import BlockCost, BlockSize, Model, TableCost
from cache_worthy.sim.errors import CapacityError, InputError, InvariantError
from cache_worthy.sim.forest import Forest, build_forest
from cache_worthy.sim.outcome import Outcome
from cache_worthy.sim.radix import choose, compiled, kernels
from cache_worthy.sim.radix.interned import replay_interned
from cache_worthy.sim.radix.pins import held_floor, hold
from cache_worthy.sim.radix.policies import POLICIES
from cache_worthy.sim.radix.policies.base import KeyRule
from cache_worthy.sim.radix.policies.cosigned import Cosigned
from cache_worthy.sim.radix.replay import Engine, replay


def both(
    forest: Forest, rule: KeyRule, capacity: int, sizes: list[int], costs: list[int]
) -> tuple[Outcome | None, Outcome]:
    return (
        compiled.replay_compiled(forest, rule, capacity, sizes, costs),
        replay_interned(forest, rule, capacity, sizes, costs),
    )


@pytest.mark.parametrize("policy", RULES)
def test_it_agrees_field_by_field(policy: str) -> None:
    evicted = 0
    for seed in range(16):
        forest = random_forest(seed)
        depth = forest.depth
        costs = (
            BlockCost().cumulative(depth) if seed % 2 else [n * n * 7 + n for n in range(depth + 1)]
        )
        sizes = (
            [3 * n for n in range(depth + 1)]
            if seed % 3
            else [n * (n + 1) for n in range(depth + 1)]
        )
        for room in (0, 7, 31, 10**6):
            one, two = both(forest, RULES[policy], sizes[-1] + room, sizes, costs)
            assert one == two
            evicted += two.evictions
    assert evicted > 4_000


def test_it_agrees_where_weights_are_looked_up_by_bisection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(compiled, "RANKS", 0)
    for seed in range(4):
        forest = random_forest(seed)
        sizes, costs = BlockSize().cumulative(forest.depth), BlockCost().cumulative(forest.depth)
        one, two = both(forest, RULES["gdsf"], sizes[-1], sizes, costs)
        assert one == two
        assert not len(compiled._ranks(forest))


@pytest.mark.parametrize(
    ("weight", "alike"),
    [
        (lambda size, cost, depth: -depth / 64, True),
        (lambda size, cost, depth: float(-depth), False),
        (lambda size, cost, depth: 1.5 * size, False),
    ],
)
def test_a_clock_with_weights_is_lru_only_where_clocks_stay_apart(
    weight: Callable[[int, int, int], float], alike: bool
) -> None:
    rule = KeyRule(base="clock", weight=weight)
    same = []
    for seed in range(8):
        forest = random_forest(seed)
        sizes, costs = list(range(forest.depth + 1)), list(range(forest.depth + 1))
        one, two = both(forest, rule, sizes[-1] + 5, sizes, costs)
        assert one == two
        same.append(one == both(forest, RULES["lru"], sizes[-1] + 5, sizes, costs)[0])
    assert all(same) == alike


@pytest.mark.parametrize("policy", RULES)
def test_it_agrees_where_nodes_are_held(policy: str) -> None:
    evicted = 0
    for seed in range(12):
        forest = random_forest(seed, 250)
        held, depths = hold(forest, random.Random(seed).sample(range(forest.nodes), 4))
        size = BlockSize()
        sizes, costs = size.cumulative(forest.depth), BlockCost().cumulative(forest.depth)
        for room in (0, 9):
            capacity = held_floor(forest, held, depths, size) + room * size.block
            one = compiled.replay_compiled(forest, RULES[policy], capacity, sizes, costs, held)
            two = replay_interned(forest, RULES[policy], capacity, sizes, costs, held)
            assert one == two
            evicted += two.evictions
    assert evicted > 1000


def test_cosigned_on_a_heap_agrees_with_the_linear_scan() -> None:
    evicted = 0
    for seed in range(16):
        forest = random_forest(seed, 250, depth=6 + seed % 9)
        cost = BlockCost() if seed % 2 else BlockCost(block_tokens=1 + seed)
        for room in (0, 3, 12):
            capacity = (forest.depth + room) * BlockSize().block
            one = replay(forest, Cosigned(), capacity, cost_fn=cost, engine="heap")
            two = replay(forest, Cosigned(), capacity, cost_fn=cost, engine="reference")
            assert one == two
            evicted += two.evictions
    assert evicted > 5000


@pytest.mark.parametrize("engine", ["heap", "reference"])
def test_a_split_right_after_divides_the_whole_credit(engine: Engine) -> None:
    # The second request splits what the first one loaded; both halves have their own cost then, and
    # all of it but the path being served is unpinned.
    policy = Cosigned(Fraction)
    size = TableCost((0, 1, 2, 3, 4, 5))
    cost = TableCost((0, 1, 4, 9, 16, 25))
    replay([(1, 2, 3, 4), (1, 2, 5)], policy, 5, size, cost, engine=engine)
    upper, lower, new = policy._accounts.values()
    assert (upper.node.depth, lower.node.depth, new.node.depth) == (0, 2, 2)
    assert lower.credit == 16 - 4
    assert policy._unpinned == policy._rates == 2


def test_cosigned_runs_on_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    forest = random_forest(1, choose.LOADED_FROM)
    capacity = forest.depth * BlockSize().block
    monkeypatch.setattr(choose, "SINGLE_FROM", 1)
    for policy in (Cosigned(Fraction), Cosigned()):
        replay(forest, policy, capacity)
        assert policy.level > 0  # the policy's own methods ran
        with pytest.raises(InputError, match="declares no key rule"):
            replay(forest, policy, capacity, engine="compiled")


def test_totals_that_fit_no_64_bits() -> None:
    model = Model(
        "deep", layers=10**6, d_model=10**6, heads=64, kv_heads=8, head_dim=10**4, d_ff=10**6
    )
    forest = random_forest(3)
    cost, size = BlockCost(model, 10**6), Wide()
    costs, sizes = cost.cumulative(forest.depth), size.cumulative(forest.depth)
    for rule in RULES.values():
        one, two = both(forest, rule, sizes[-1] + size.block, sizes, costs)
        assert one == two
        assert two.total_cost > 2**64
        assert two.evicted_size > 2**64  # the kernel's own sum has wrapped around
    results = [
        replay(forest, POLICIES["gdsf"](), 2 * sizes[-1], size, cost, engine=engine)
        for engine in ("compiled", "interned", "heap", "reference")
    ]
    assert all(result == results[0] for result in results)
    assert results[0].compulsory_cost > 2**64


class Wide(BlockSize):
    """10**17 units a block."""

    @property
    def block(self) -> int:
        return 10**17

    def __call__(self, block_ids: Sequence[object], depth: int, /) -> int:
        return len(block_ids) * self.block


@pytest.mark.parametrize(
    "rule",
    [
        KeyRule(base="clock", weight=lambda size, cost, depth: cost),
        KeyRule(base="level", mult="freq", weight=lambda size, cost, depth: cost),
        KeyRule(base="level", weight=lambda size, cost, depth: float("inf")),
        KeyRule(base="level", weight=lambda size, cost, depth: 10**400),
    ],
)
def test_weights_that_doubles_cannot_carry_are_left_to_the_plain_engine(rule: KeyRule) -> None:
    forest = random_forest(1, 20)
    sizes = list(range(forest.depth + 1))
    costs = [n * 2**60 for n in sizes]
    assert compiled.replay_compiled(forest, rule, 100, sizes, costs) is None


def test_depths_whose_product_passes_32_bits() -> None:
    deep = tuple(range(70_000))
    forest = build_forest([deep, (*deep[:-10], -1), (*deep[:-20], -2, -3), deep])
    table = TableCost(tuple(range(len(deep) + 1)))
    one, two = (
        replay(forest, POLICIES["gdsf"](), len(deep) + 1, table, table, engine=engine)
        for engine in ("compiled", "heap")
    )
    assert one == two
    assert one.evictions


class OnlyWhatArises:
    """A weight of depths that some pairs of depths do not have."""

    def __call__(self, size: int, cost: int, depth: int) -> float:
        if size > 2:
            raise ValueError("no node is as large")
        return 1.0


@pytest.mark.parametrize(
    "weight",
    [
        OnlyWhatArises(),
        lambda size, cost, depth: np.float32(cost / size),  # adds and multiplies in 24 bits
        lambda size, cost, depth: Fraction(cost, size),
        lambda size, cost, depth: cost > 9,
    ],
)
def test_weights_that_are_no_plain_numbers_are_left_to_the_plain_engine(
    weight: Callable[[int, int, int], float],
) -> None:
    forest = build_forest([(1, 2, 3), (1, 2, 4), (1, 5), (1,)])
    sizes = list(range(forest.depth + 1))
    rule = KeyRule(base="level", mult="freq", weight=weight)
    assert compiled.replay_compiled(forest, rule, 3, sizes, [n * n for n in sizes]) is None


def test_too_many_pairs_of_depths_are_left_to_the_plain_engine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # One conversation of n turns has n (n + 1) / 2 of them: work and memory must not be quadratic.
    turns = 60
    monkeypatch.setattr(compiled, "PAIRS", turns * (turns + 1) // 2 - 1)
    forest = build_forest([tuple(range(n)) for n in range(1, turns + 1)])
    sizes = list(range(forest.depth + 1))
    monkeypatch.setattr(choose, "SINGLE_FROM", 1)
    found = replay(forest, POLICIES["landlord"](), turns + 3, TableCost(tuple(sizes)))
    assert found.total_cost == found.compulsory_cost
    with pytest.raises(InputError, match="needs another engine"):
        replay(
            forest, POLICIES["landlord"](), turns + 3, TableCost(tuple(sizes)), engine="compiled"
        )
    assert compiled.replay_compiled(forest, RULES["lru"], turns, sizes, sizes)  # it needs none
    few = random_forest(6)
    pairs = compiled._pairs(few)
    assert pairs is not None
    for limit, enough in ((len(pairs) - 1, False), (len(pairs), True)):
        again = compiled._few_pairs(few, limit)
        assert (again is not None) == enough
        assert again is None or np.array_equal(again, pairs)


def test_weights_are_kept_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    forest = random_forest(6)
    pairs = compiled._pairs(forest)
    assert pairs is not None
    monkeypatch.setattr(compiled, "TABLES", 3 * len(pairs))
    sizes = list(range(forest.depth + 1))
    for scale in range(1, 9):
        costs = [scale * n * n for n in sizes]
        one, two = both(forest, RULES["gdsf"], sizes[-1] + 9, sizes, costs)
        assert one == two
        assert 1 <= len(forest.memo["weights"]) <= 3
    monkeypatch.undo()
    for other in ([n * n for n in sizes], [3 * n for n in sizes]):  # at the same costs
        one, two = both(forest, RULES["gdsf"], other[-1] + 9, other, costs)
        assert one == two


def test_capacities_beyond_62_bits_are_left_to_the_plain_engine() -> None:
    forest = random_forest(1, 20)
    assert replay(forest, POLICIES["lru"](), 1 << 62) == replay(
        forest, POLICIES["lru"](), 1 << 62, engine="interned"
    )
    with pytest.raises(InputError, match="needs another engine"):
        replay(forest, POLICIES["lru"](), 1 << 62, engine="compiled")


@pytest.mark.parametrize("engine", ["compiled", "interned", "heap", "reference"])
@pytest.mark.parametrize("policy", ["lru", "gdsf", "cosigned"])
def test_every_engine_refuses_what_does_not_fit(policy: str, engine: Engine) -> None:
    if policy == "cosigned" and engine in ("interned", "compiled"):
        return
    forest = build_forest([(1, 2), (1, 2, 3), (4,)])
    floor = 3 * BlockSize().block
    for capacity in (floor - 1, 0, -1):
        with pytest.raises(CapacityError, match=f"under the floor {floor}"):
            replay(forest, POLICIES[policy](), capacity, engine=engine)
    found = replay(forest, POLICIES[policy](), floor, engine=engine)
    assert (found.evictions, found.hit_blocks) == (1, 2)
    for empty in ([], [(), ()]):
        found = replay(build_forest(empty), POLICIES[policy](), 0, engine=engine)
        assert (found.total_cost, found.matched) == (0, (0,) * len(empty))


def test_broken_books_raise() -> None:
    forest = random_forest(4)
    sizes = list(range(forest.depth + 1))
    matched = np.zeros(forest.requests, np.int32)
    for status, words in (
        (1, "nothing can leave"),
        (2, "its parent is not"),
        (3, "the books say"),
        (7, "is held and left"),
    ):
        with pytest.raises(InvariantError, match=words):
            compiled._outcome(forest, 9, sizes, sizes, matched, status, 5, 0, 0, 0, 0)
    with pytest.raises(InvariantError, match="loaded"):
        compiled._outcome(forest, 9, sizes, sizes, matched, 0, 0, 0, 0, 1, 0)
    loaded = sum(sizes[n] for n in forest.length)
    compiled._outcome(forest, 9, sizes, sizes, matched, 0, 0, 0, 0, loaded, 0)
    compiled._outcome(forest, 9, sizes, sizes, matched, 0, 0, 0, 0, loaded - (1 << 64), 0)
    with pytest.raises(InvariantError, match="loaded"):
        compiled._outcome(forest, 9, sizes, sizes, matched, 0, 0, 0, 0, loaded - (1 << 32), 0)


def test_another_process_gets_the_forest_alone() -> None:
    forest = random_forest(5)
    both(forest, RULES["gdsf"], 100, list(range(forest.depth + 1)), list(range(forest.depth + 1)))
    assert forest.memo
    sent = pickle.loads(pickle.dumps(forest))
    assert sent == forest
    assert not sent.memo


def test_deep_forests_find_their_weights_by_bisection(monkeypatch: pytest.MonkeyPatch) -> None:
    forest = random_forest(1, 60)
    pairs, ranks = compiled._pairs(forest), compiled._ranks(forest)
    assert pairs is not None
    assert len(ranks) > len(pairs) > 40
    weights = np.arange(len(pairs)) + 0.5
    find = kernels.look_up.py_func  # type: ignore[attr-defined]
    for table in (ranks, np.empty(0, np.uint32)):
        assert [find(table, pairs, weights, pair) for pair in pairs] == weights.tolist()
    del forest.memo["ranks"]
    monkeypatch.setattr(compiled, "RANKS", (forest.depth + 1) ** 2 - 1)
    assert len(compiled._ranks(forest)) == 0
    sizes = list(range(forest.depth + 1))
    one, two = both(forest, RULES["gdsf"], sizes[-1] + 3, sizes, [n * n * 7 + n for n in sizes])
    assert one == two
