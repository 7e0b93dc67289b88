"""Every SGLang strategy against a model without a tree, driven step by step (rank 5)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from plain_sglang import PathModel

from cache_worthy.sim.errors import InvariantError
from cache_worthy.sim.sglang.strategies import STRATEGIES
from cache_worthy.sim.sglang.tree import Node, RadixCache
from cache_worthy.sim.sglang.versions import Counting

Snapshot = dict[tuple[int, ...], tuple[int, int, int, int, int]]


def path_of(node: Node) -> tuple[int, ...]:
    blocks: list[int] = []
    while node.parent is not None:
        blocks = [*node.blocks, *blocks]
        node = node.parent
    return tuple(blocks)


class Machine(RuleBasedStateMachine):
    """Serve prompts over few blocks in a cache with little room."""

    strategy = "sglang_lru"
    cache_type = RadixCache

    @initialize(
        room=st.integers(9, 16),
        counting=st.sampled_from(["once", "twice", "never"]),
        whole=st.booleans(),
        threshold=st.integers(0, 4),
        estimate=st.integers(0, 2),
    )
    def start(
        self, room: int, counting: Counting, whole: bool, threshold: int, estimate: int
    ) -> None:
        entry = STRATEGIES[self.strategy]
        offered = {
            "protected_threshold": threshold,
            "threshold": threshold,
            "next_prompt_estimate": estimate,
        }
        chosen = {name: offered[name] for name in entry.defaults}
        # Blocks 0..3 and 10..: sizes 1 and 2, so that an eviction can overshoot.
        self.weights = [1 + i % 2 for i in range(4)] + [0] * 6
        self.room = room
        self.cache = self.cache_type(
            self.weights,
            room,
            entry.scorer(**chosen),
            counting=counting,
            evict_whole_request=whole,
        )
        self.model = PathModel(self.weights, room, entry.server_name, counting, whole, **chosen)

    @rule(
        prompt=st.lists(st.integers(0, 3), max_size=5),
        tail=st.integers(0, 1),
        answer=st.integers(0, 2),
        priority=st.integers(0, 2),
    )
    def serve(self, prompt: list[int], tail: int, answer: int, priority: int) -> None:
        size = sum(self.weights[b] for b in prompt)
        generated: list[int] = []
        if answer:
            generated = [len(self.weights)]
            self.weights.append(answer)
        prompt_room = size + tail
        total_room = prompt_room + answer
        if total_room > self.room:
            return
        found, hit = self.cache.serve(prompt, prompt_room, generated, total_room, priority)
        wanted = self.model.serve(
            tuple(prompt), prompt_room, tuple(generated), total_room, priority
        )
        assert found == wanted
        assert hit == sum(self.weights[b] for b in prompt[:found])

    @invariant()
    def same_tree(self) -> None:
        if not hasattr(self, "cache"):
            return
        self.cache.check()
        tree: Snapshot = {
            path_of(n): (n.hit_count, n.priority, n.last_access, n.created, n.history)
            for n in self.cache.nodes()
        }
        plain: Snapshot = {
            path: (r.hits, r.priority, r.last, r.created, r.history)
            for path, r in self.model.nodes.items()
        }
        assert tree == plain
        assert self.cache.used == self.model.held() <= self.room


def drive(name: str, cache_type: type[RadixCache] = RadixCache, examples: int = 25) -> None:
    members = {"strategy": name, "cache_type": cache_type}
    machine: type[RuleBasedStateMachine] = type(f"Machine_{name}", (Machine,), members)
    case = machine.TestCase
    case.settings = settings(
        max_examples=examples,
        stateful_step_count=40,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
    )
    case("runTest").runTest()


@pytest.mark.parametrize("name", STRATEGIES)
def test_strategy_is_its_model(name: str) -> None:
    drive(name)


class FreshUpperHalf(RadixCache):
    """A split forgets the hit count."""

    def _split(self, child: Node, k: int) -> Node:
        upper = super()._split(child, k)
        upper.hit_count = 0
        return upper


class LowerHalfUntouched(RadixCache):
    """A split leaves the lower half with its old time."""

    def _enter(self, child: Node, blocks: Sequence[int], start: int) -> tuple[Node, int]:
        before = child.last_access
        node, k = super()._enter(child, blocks, start)
        if node is not child:
            child.last_access = before
            self._offer(child)
        return node, k


class CountsMatches(RadixCache):
    """A match moves the hit count."""

    def match(self, blocks: Sequence[int]) -> tuple[Node, int]:
        node, k = super().match(blocks)
        node.hit_count += 1
        self._offer(node)
        return node, k


class CountsOnce(RadixCache):
    """The second insertion never counts."""

    def insert(self, blocks: Sequence[int], priority: int, *, count: bool = True) -> Node:
        seen = self.clock % 3 == 2
        return super().insert(blocks, priority, count=count and not seen)


class OneLeafAnEviction(RadixCache):
    """An eviction stops at the first leaf."""

    def evict(self, tokens: int) -> int:
        return super().evict(1)


class ParentsStay(RadixCache):
    """A parent left without children is no candidate."""

    def _offer(self, node: Node) -> None:
        if node.last_access == self.clock:
            super()._offer(node)


class PriorityOfTheLast(RadixCache):
    """The last request sets the priority, however low."""

    def insert(self, blocks: Sequence[int], priority: int, *, count: bool = True) -> Node:
        node = super().insert(blocks, priority, count=count)
        node.priority = priority
        self._offer(node)
        return node


class NoLock(RadixCache):
    """The path in service can be evicted."""

    def _lock(self, node: Node | None) -> None:
        return


@pytest.mark.parametrize(
    ("name", "mutant"),
    [
        ("sglang_lfu", FreshUpperHalf),
        ("sglang_lru", LowerHalfUntouched),
        ("sglang_lfu", CountsMatches),
        ("sglang_slru", CountsOnce),
        ("sglang_fifo", OneLeafAnEviction),
        ("sglang_lru", ParentsStay),
        ("sglang_priority", PriorityOfTheLast),
        ("sglang_mru", NoLock),
    ],
)
def test_the_model_notices(name: str, mutant: type[RadixCache]) -> None:
    with pytest.raises((AssertionError, InvariantError, KeyError)):
        drive(name, mutant)
