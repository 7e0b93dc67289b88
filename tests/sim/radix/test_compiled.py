"""The compiled engine against the plain one (rank 5), and what it must leave to it."""

from __future__ import annotations

import functools
import os
import pickle
import random
import signal
import subprocess
import sys
import types
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import numpy as np
import pytest

from cache_worthy.sim.cost import BlockCost, BlockSize, Model, TableCost
from cache_worthy.sim.errors import CapacityError, InputError, InvariantError
from cache_worthy.sim.forest import PrefixForest, build_forest
from cache_worthy.sim.radix import choose as fast
from cache_worthy.sim.radix import compiled, kernels
from cache_worthy.sim.radix.interned import Tally, replay_interned
from cache_worthy.sim.radix.policies import POLICIES
from cache_worthy.sim.radix.policies.base import KeyRule
from cache_worthy.sim.radix.policies.cosigned import Cosigned
from cache_worthy.sim.radix.replay import Engine, held_floor, hold, replay

RULES = {name: p.key_rule for name, p in POLICIES.items() if p.key_rule is not None}


def random_forest(
    seed: int, requests: int = 400, symbols: int = 3, depth: int = 12
) -> PrefixForest:
    """Conversations that grow, branch and come back: splits, ends inside nodes, empty paths."""
    rng = random.Random(seed)
    paths: list[tuple[int, ...]] = [()]
    for _ in range(requests):
        base = rng.choice(paths[-30:])
        kept = base[: rng.randint(0, len(base))]
        more = tuple(rng.randrange(symbols) for _ in range(rng.randint(0, depth - len(kept))))
        paths.append(kept + more)
    return build_forest(paths)


def both(
    forest: PrefixForest, rule: KeyRule, capacity: int, sizes: list[int], costs: list[int]
) -> tuple[Tally | None, Tally]:
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
        capacity = sizes[-1]
        assert replay(forest, Cosigned(), capacity, engine="compiled") == replay(
            forest, Cosigned(), capacity, engine="heap"
        )
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


def test_cosigned_agrees_with_the_node_engine() -> None:
    evicted = 0
    for seed in range(16):
        forest = random_forest(seed, 250, depth=6 + seed % 9)
        cost = BlockCost() if seed % 2 else BlockCost(block_tokens=1 + seed)
        for room in (0, 3, 12):
            capacity = (forest.depth + room) * BlockSize().block
            one = replay(forest, Cosigned(), capacity, cost_fn=cost, engine="compiled")
            two = replay(forest, Cosigned(), capacity, cost_fn=cost, engine="heap")
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


def test_cosigned_in_fractions_runs_on_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    forest = random_forest(1, fast.LOADED_FROM)
    capacity = forest.depth * BlockSize().block
    monkeypatch.setattr(fast, "SINGLE_FROM", 1)
    exact = Cosigned(Fraction)
    replay(forest, exact, capacity)
    assert exact.level > 0  # the policy's own methods ran
    floats = Cosigned()
    replay(forest, floats, capacity)
    assert floats.level == 0
    with pytest.raises(InputError, match="needs another engine"):
        replay(forest, Cosigned(Fraction), capacity, engine="compiled")


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


@pytest.mark.parametrize("policy", ["gdsf", "cosigned"])
def test_depths_whose_product_passes_32_bits(policy: str) -> None:
    deep = tuple(range(70_000))
    forest = build_forest([deep, (*deep[:-10], -1), (*deep[:-20], -2, -3), deep])
    table = TableCost(tuple(range(len(deep) + 1)))
    one, two = (
        replay(forest, POLICIES[policy](), len(deep) + 1, table, table, engine=engine)
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
    monkeypatch.setattr(fast, "SINGLE_FROM", 1)
    for policy in ("landlord", "cosigned"):
        found = replay(forest, POLICIES[policy](), turns + 3, TableCost(tuple(sizes)))
        assert found.total_cost == found.compulsory_cost
        with pytest.raises(InputError, match="needs another engine"):
            replay(
                forest, POLICIES[policy](), turns + 3, TableCost(tuple(sizes)), engine="compiled"
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
    if policy == "cosigned" and engine == "interned":
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


def test_without_numba_the_plain_engine_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    forest = random_forest(2)
    capacity = 20 * BlockSize().block
    with_it = replay(forest, POLICIES["gdsf"](), capacity, engine="compiled")
    monkeypatch.setattr(fast, "SINGLE_FROM", 1)
    assert fast.wanted(forest.requests)
    assert replay(forest, POLICIES["gdsf"](), capacity) == with_it
    monkeypatch.setattr(fast, "available", lambda: False)
    assert not fast.wanted(10**9)
    assert replay(forest, POLICIES["gdsf"](), capacity) == with_it
    with pytest.raises(InputError, match="needs numba"):
        replay(forest, POLICIES["gdsf"](), capacity, engine="compiled")


def test_numba_that_does_not_import_counts_as_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    fast.available.cache_clear()
    monkeypatch.setitem(sys.modules, "numba", None)
    assert not fast.available()
    assert not fast.wanted(10**9)
    fast.available.cache_clear()


def test_numba_that_may_not_compile_counts_as_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    import numba

    monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)
    fast.available.cache_clear()
    assert not fast.available()
    fast.available.cache_clear()


@pytest.mark.parametrize("error", [OSError(28, "No space left"), EOFError(), UnpicklingError()])
def test_machine_code_that_no_disk_keeps_is_made_in_the_process(
    error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = [
        tmp_path / name for name in ("kernels.rules-1.py311.nbi", "kernels.rules-1.py311.1.nbc")
    ]
    other = tmp_path / "compiled.cpython-311.pyc"
    for file in (*kept, other):
        file.touch()
    done: list[object] = []

    def broken(*arguments: object) -> object:
        raise error

    def now() -> dict[str, Callable[..., object]]:
        return {"rules": broken if fast.on_disk else lambda *arguments: arguments}

    stats = types.SimpleNamespace(cache_path=str(tmp_path))
    stand_in = types.SimpleNamespace(rules=types.SimpleNamespace(stats=stats))
    monkeypatch.setattr("cache_worthy.sim.radix.kernels", stand_in)
    monkeypatch.setattr("importlib.reload", done.append)
    monkeypatch.setattr(compiled, "_kernels", functools.cache(now))
    monkeypatch.setattr(fast, "on_disk", True)
    assert compiled._run("rules", 1, 2) == (1, 2)
    assert not fast.on_disk
    assert done == [stand_in]
    # What cannot be read would cost the compilation in every process to come.
    assert [file.exists() for file in kept] == [isinstance(error, OSError)] * 2
    assert other.exists()


@pytest.mark.parametrize("times", [1, 2])
def test_ctrl_c_waits_for_the_kernel_once(times: int, monkeypatch: pytest.MonkeyPatch) -> None:
    reached: list[int] = []

    def kernel() -> None:
        for n in range(times):
            signal.raise_signal(signal.SIGINT)
            reached.append(n)

    monkeypatch.setattr(compiled, "_kernels", functools.cache(lambda: {"rules": kernel}))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            compiled._run("rules")
        assert reached == [0]
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        # Elsewhere than in the main thread, and where nobody listens, nothing is changed.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        compiled._run("rules")
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
    with ThreadPoolExecutor(1) as pool, compiled._uninterrupted():
        inside = signal.getsignal(signal.SIGINT)
        assert pool.submit(_handler_inside).result() is inside


def _handler_inside() -> object:
    with compiled._uninterrupted():
        return signal.getsignal(signal.SIGINT)


@pytest.mark.slow
def test_a_full_disk_costs_the_compilation_only(tmp_path: Path) -> None:
    text = """
import resource
from cache_worthy.sim.cost import BlockSize
from cache_worthy.sim.forest import build_forest
from cache_worthy.sim.radix.policies import POLICIES
from cache_worthy.sim.radix.replay import replay

resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
forest = build_forest([(1, 2), (1, 3), (1, 2)])
capacity = 2 * BlockSize().block
one, two = (replay(forest, POLICIES["lru"](), capacity, engine=e) for e in ("compiled", "interned"))
print(one == two)
"""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", text]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("True\n", "")


def test_without_a_place_for_machine_code_it_is_compiled_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def nowhere(**options: object) -> Callable[[Any], Any]:
        if options.get("cache"):
            raise RuntimeError("cannot cache function: no locator available")
        return lambda function: ("compiled", function)

    monkeypatch.setattr(kernels, "njit", nowhere)
    made: object = kernels._compiled(print)
    assert made == ("compiled", print)


def test_what_threads_share_is_whole_before_it_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    forest = random_forest(6)
    arange = np.arange

    def look(*arguments: Any, **named: Any) -> Any:
        assert "ranks" not in forest.memo
        return arange(*arguments, **named)

    monkeypatch.setattr(np, "arange", look)
    ranks = compiled._ranks(forest)
    assert forest.memo["ranks"] is ranks
    assert len(set(ranks.tolist())) > 10


def test_small_logs_do_not_load_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast, "_loaded", False)
    fast.expect_many(fast.MANY_FROM - 1)
    assert not fast.wanted(fast.SINGLE_FROM - 1)
    fast.expect_many(fast.MANY_FROM)
    assert fast.wanted(fast.LOADED_FROM)
    assert not fast.wanted(fast.LOADED_FROM - 1)


def test_broken_books_raise() -> None:
    forest = random_forest(4)
    sizes = list(range(forest.depth + 1))
    matched = np.zeros(forest.requests, np.int32)
    for status, words in (
        (1, "nothing can leave"),
        (2, "its parent is not"),
        (3, "the books say"),
        (4, "still carries"),
        (5, "unpinned size"),
        (6, "below the level"),
        (7, "is held and left"),
    ):
        with pytest.raises(InvariantError, match=words):
            compiled._tally(forest, sizes, sizes, matched, status, 5, 0, 0, 0, 0)
    with pytest.raises(InvariantError, match="loaded"):
        compiled._tally(forest, sizes, sizes, matched, 0, 0, 0, 0, 1, 0)
    loaded = sum(sizes[n] for n in forest.length)
    compiled._tally(forest, sizes, sizes, matched, 0, 0, 0, 0, loaded, 0)
    compiled._tally(forest, sizes, sizes, matched, 0, 0, 0, 0, loaded - (1 << 64), 0)
    with pytest.raises(InvariantError, match="loaded"):
        compiled._tally(forest, sizes, sizes, matched, 0, 0, 0, 0, loaded - (1 << 32), 0)


def test_another_process_gets_the_forest_alone() -> None:
    forest = random_forest(5)
    both(forest, RULES["gdsf"], 100, list(range(forest.depth + 1)), list(range(forest.depth + 1)))
    assert forest.memo
    sent = pickle.loads(pickle.dumps(forest))
    assert sent == forest
    assert not sent.memo


#: Mistakes in the kernel's own text, which is plain Python when numba does not compile it.
MUTANTS = {
    "hits are not counted": ("online[node].freq += 1\n", "pass\n"),
    "the lower half starts afresh": (
        "online[lower].freq = online[leaf].freq",
        "online[lower].freq = 1",
    ),
    "the upper half keeps its weight": (
        "online[leaf].weight = _weight(ranks, pairs, weights_of, pair)",
        "pass",
    ),
    "the level follows every victim": ("level = max(level, value)", "level = value"),
    "gdsf's level never falls": (
        "elif level_rule == 2:",
        "elif level_rule == 2 and value > level:",
    ),
    "ties go to the newer node": ("heap[above].node <= node", "heap[above].node >= node"),
    "a tie of two children is not broken": (
        "(heap[two].node < heap[one].node)",
        "(heap[two].node > heap[one].node)",
    ),
    "a parent without children is forgotten": ("if online[parent].children == 0:", "if False:"),
    "a pinned leaf may leave": (" or victim == leaf:", ":"),
    "used once means nothing": ("if online[victim].freq == 1:", "if online[victim].freq > 1:"),
    "a split keeps the lower half out of the heap": (
        "entries = _push(heap, entries, kept, lower)",
        "pass",
    ),
    "the heap has room for one entry a request": ("2 * requests + most", "requests + 2"),
    "the lower half keeps the whole's weight": (
        "online[lower].weight = _weight(ranks, pairs, weights_of, pair)",
        "online[lower].weight = online[leaf].weight",
    ),
    "the root may become childless": (
        "online[1].children = 1 << 30",
        "online[1].children = 0",
    ),
    "one block less than the capacity": ("used + need > capacity:", "used + need >= capacity:"),
    "what is held is not divided": ("if holds and held[missing] != 0:", "if False:"),
    "a held node is a candidate": (
        "online[new].children = 1\n",
        "online[new].children = 0\n",
    ),
    "below a held node everything is needed again": ("need -= part", "pass"),
    "what is held takes no room": ("used += part", "pass"),
    "blocks without a cost divide by it": ("if whole != 0:", "if True:"),
    "a split forgets whom it pays for": (
        "account[lower].carry = account[leaf].extent + account[leaf].carry",
        "account[lower].carry = account[leaf].carry",
    ),
    "children are kept in no order": ("_append(account, parent, node)", "pass"),
    "lru: a split leaves the node whole": (
        "below[deepest] = root  # the request leaves",
        "pass  # the request leaves",
    ),
    "lru: what leaves is one static node": ("while below[above] == bottom:", "while False:"),
    "lru: a hit is no use": ("reused[node] = True", "pass"),
    "lru: what is loaded again was used before": ("reused[node] = False", "pass"),
    "lru: the search for a victim begins anew": (
        "bottom = above\n        node = terminal",
        "bottom, oldest = root, 0\n        node = terminal",
    ),
    "a hit node keeps its entry": (
        "account[node].entered = 0\n            account[node].touched = clock",
        "account[node].touched = clock",
    ),
    "a cosigner is not let off": ("_add(s, kid, -rate)", "pass"),
    "the credit of a split is lost": (
        "account[lower].credit = account[leaf].credit * part / whole",
        "pass",
    ),
    "the oldest account at a level goes last": (
        "(U(u.touched) << _HALF)",
        "((_HALF - U(u.touched)) << _HALF)",
    ),
    "a bankrupt parent keeps its debt": (
        "account[parent].credit = 0.0",
        "account[parent].credit = 1.0",
    ),
    "the level does not rise": ("level[0] = run_out", "pass"),
    "a claim that has become later stands": (
        "if old < run_out or (old == run_out and heap[_NONE].order < order):",
        "if False:",
    ),
    "a claim that has become earlier stays where it is": (
        "if old < run_out or (old == run_out and heap[at].order <= order):",
        "if True:",
    ),
}


def plain_kernel(monkeypatch: pytest.MonkeyPatch, old: str = "", new: str = "") -> None:
    """Have the kernel's text run as Python, with one piece of it changed."""
    text = Path(compiled.__file__).with_name("kernels.py").read_text(encoding="utf-8")
    changed = text.replace(old, new) if old else text
    assert (changed != text) == bool(old)
    changed = changed.replace("from numba import njit\n", "def njit(**k): return lambda f: f\n")
    module = types.ModuleType("kernels")
    exec(compile(changed, "kernels", "exec"), module.__dict__)  # noqa: S102
    kernels: dict[str, Callable[..., Any]] = {
        name: module.__dict__[name] for name in ("lru", "rules", "cosigned")
    }
    monkeypatch.setattr(compiled, "_kernels", lambda: kernels)


def stairs(steps: int) -> PrefixForest:
    """Every request splits the last node of the one before: two new entries in the heap each."""
    return build_forest([(*range(n + 1), -n - 1) for n in range(steps)])


def differs() -> bool:
    """Whether any policy on a few small forests comes out differently, or breaks an invariant."""
    forests = [(random_forest(seed, 150), [0, 9]) for seed in range(6)]
    forests += [(random_forest(seed, 150, symbols=8, depth=3), [40]) for seed in range(2)]
    forests.append((stairs(12), [100]))
    for forest, rooms in forests:
        sizes = list(range(forest.depth + 1))
        costs = [n * n * 7 + n for n in sizes]
        size = TableCost(tuple(sizes))
        held, depths = hold(forest, range(0, forest.nodes, 40))
        for room in rooms:
            capacity = held_floor(forest, held, depths, size) + room
            for rule in RULES.values():
                for kept, limit in ((None, sizes[-1] + room), (held, capacity)):
                    arguments = (forest, rule, limit, sizes, costs, kept)
                    try:
                        if compiled.replay_compiled(*arguments) != replay_interned(*arguments):
                            return True
                    except (InvariantError, IndexError):
                        return True
            # The first table makes ties, the last one blocks without a cost.
            for table in (sizes, costs, [n // 2 for n in sizes], [0] * len(sizes)):
                run = functools.partial(
                    replay,
                    forest,
                    capacity=forest.depth + room,
                    size_fn=size,
                    cost_fn=TableCost(tuple(table)),
                )
                try:
                    if run(Cosigned(), engine="compiled") != run(Cosigned(), engine="heap"):
                        return True
                except (InvariantError, IndexError):
                    return True
    return False


def test_deep_forests_find_their_weights_by_bisection(monkeypatch: pytest.MonkeyPatch) -> None:
    forest = random_forest(1, 60)
    pairs, ranks = compiled._pairs(forest), compiled._ranks(forest)
    assert pairs is not None
    assert len(ranks) > len(pairs) > 40
    weights = np.arange(len(pairs)) + 0.5
    find = kernels._weight.py_func  # type: ignore[attr-defined]
    for table in (ranks, np.empty(0, np.uint32)):
        assert [find(table, pairs, weights, pair) for pair in pairs] == weights.tolist()
    del forest.memo["ranks"]
    monkeypatch.setattr(compiled, "RANKS", (forest.depth + 1) ** 2 - 1)
    assert len(compiled._ranks(forest)) == 0
    sizes = list(range(forest.depth + 1))
    one, two = both(forest, RULES["gdsf"], sizes[-1] + 3, sizes, [n * n * 7 + n for n in sizes])
    assert one == two


def test_the_text_itself_agrees(monkeypatch: pytest.MonkeyPatch) -> None:
    plain_kernel(monkeypatch)
    assert not differs()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", MUTANTS)
def test_a_mistake_shows(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plain_kernel(monkeypatch, *MUTANTS[name])
    assert differs()
