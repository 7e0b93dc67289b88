"""Invariants of the reference engine are raised, also under ``python -O``."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

import pytest

from cache_worthy.sim.errors import InputError, InvariantError
from cache_worthy.sim.radix.policies import EvictionPolicy, Priority
from cache_worthy.sim.radix.policies.lru import LRU
from cache_worthy.sim.radix.replay import replay
from cache_worthy.sim.radix.tree import Node, RadixTree
from cache_worthy.sim.trace import BlockId


def _count(block_ids: Sequence[BlockId], depth: int, /) -> int:
    return len(block_ids)


def _tree() -> RadixTree:
    tree = RadixTree(_count, _count)
    node = tree.insert(tree.root, (1, 2), 0)
    tree.insert(node, (3,), 2)
    tree.check()
    return tree


def test_only_leaves_leave() -> None:
    tree = _tree()
    with pytest.raises(InvariantError, match="resident children"):
        tree.evict(tree.nodes[1])
    assert tree.evict(tree.nodes[2]).id == 1
    assert tree.evict(tree.nodes[1]).id == 0
    assert tree.used == 0


@pytest.mark.parametrize("damage", ["closure", "bytes", "depth", "size", "link"])
def test_check_finds_damage(damage: str) -> None:
    tree = _tree()
    if damage == "closure":
        del tree.nodes[1]
    elif damage == "bytes":
        tree.used += 1
    elif damage == "depth":
        tree.nodes[2].depth = 1
    elif damage == "size":
        tree.nodes[2].size = 2
    else:
        tree.nodes[1].children.clear()
    with pytest.raises(InvariantError):
        tree.check()


def test_sizes_must_be_additive() -> None:
    def squared(block_ids: Sequence[BlockId], depth: int, /) -> int:
        return len(block_ids) ** 2

    with pytest.raises(InvariantError, match="additive"):
        replay([(1, 2), (1, 3)], LRU(), 9, squared, _count, engine="reference")


class Fickle(EvictionPolicy):
    """A priority that is not a function of the state."""

    name = "fickle"

    def __init__(self) -> None:
        self.calls = 0

    def priority(self, node: Node, clock: int) -> Priority:
        self.calls += 1
        return float(self.calls)


class NotANumber(EvictionPolicy):
    """A priority that orders nothing."""

    name = "nan"

    def priority(self, node: Node, clock: int) -> Priority:
        return float("nan")


@pytest.mark.parametrize(("policy", "words"), [(Fickle, "deterministic"), (NotANumber, "NaN")])
def test_bad_priorities_are_refused(policy: type[EvictionPolicy], words: str) -> None:
    with pytest.raises(InvariantError, match=words):
        replay([(1,), (2,), (3,)], policy(), 2, _count, _count, engine="reference")


def test_an_inherited_key_rule_does_not_count() -> None:
    """A subclass that changes a hook must not be replayed by its parent's rule."""

    class Newest(LRU):
        name = "newest"

        def on_insert(self, node: Node, clock: int) -> None:
            node.key = -clock

    paths = [(t,) for t in (1, 2, 3, 1, 2)]
    lru = replay(paths, LRU(), 2, _count, _count)
    newest = replay(paths, Newest(), 2, _count, _count)
    assert newest.total_cost < lru.total_cost
    with pytest.raises(InputError, match="key rule"):
        replay(paths, Newest(), 2 * 64 * 2**20, engine="interned")


def test_invariants_survive_optimised_python() -> None:
    code = (
        "from cache_worthy.sim.radix.tree import RadixTree\n"
        "from cache_worthy.sim.errors import InvariantError\n"
        "size = lambda blocks, depth: len(blocks)\n"
        "tree = RadixTree(size, size)\n"
        "node = tree.insert(tree.root, (1,), 0)\n"
        "tree.insert(node, (2,), 1)\n"
        "try:\n"
        "    tree.evict(node)\n"
        "except InvariantError:\n"
        "    print('raised', __debug__)\n"
    )
    done = subprocess.run(
        [sys.executable, "-O", "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout == "raised False\n"
