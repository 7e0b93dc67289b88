"""Mistakes planted in the kernels' own text, each noticed on small forests (rank 5)."""

from __future__ import annotations

import types
from pathlib import Path

import pytest
from radix_cases import RULES, random_forest

from cache_worthy.sim.cost import TableCost
from cache_worthy.sim.errors import InvariantError
from cache_worthy.sim.forest import Forest, build_forest
from cache_worthy.sim.radix import compiled
from cache_worthy.sim.radix.interned import replay_interned
from cache_worthy.sim.radix.pins import held_floor, hold

#: The kernels' text as plain Python, which numba does not compile.
TEXT = (
    Path(compiled.__file__).with_name("kernels").joinpath("__init__.py").read_text(encoding="utf-8")
)
TEXT = TEXT.replace("from numba import njit\n", "def njit(**k): return lambda f: f\n").replace(
    "from __future__ import annotations\n", ""
)

#: Mistakes in the kernel's own text, which is plain Python when numba does not compile it.
MUTANTS = {
    "hits are not counted": ("online[node].freq += 1\n", "pass\n"),
    "the lower half starts afresh": (
        "online[lower].freq = online[leaf].freq",
        "online[lower].freq = 1",
    ),
    "the upper half keeps its weight": (
        "online[leaf].weight = look_up(ranks, pairs, weights_of, pair)",
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
        "online[lower].weight = look_up(ranks, pairs, weights_of, pair)",
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
}


def plain_kernel(monkeypatch: pytest.MonkeyPatch, old: str = "", new: str = "") -> None:
    """Have the kernel's text run as Python, with one piece of it changed."""
    changed = TEXT.replace(old, new) if old else TEXT
    assert (changed != TEXT) == bool(old)
    module = types.ModuleType("kernels")
    exec(compile(changed, "kernels", "exec"), module.__dict__)  # noqa: S102
    monkeypatch.setattr(compiled, "_kernels", lambda: module)


def stairs(steps: int) -> Forest:
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
    return False


def test_the_text_itself_agrees(monkeypatch: pytest.MonkeyPatch) -> None:
    plain_kernel(monkeypatch)
    assert not differs()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", MUTANTS)
def test_a_mistake_shows(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plain_kernel(monkeypatch, *MUTANTS[name])
    assert differs()
