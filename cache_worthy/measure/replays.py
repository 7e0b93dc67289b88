"""The replays of one log, each run once: several sections read the same ones."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
import sys
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from cache_worthy.errors import UsageError
from cache_worthy.measure.per_request import by_depth, summed
from cache_worthy.measure.policies import told
from cache_worthy.sim.columns import Ints
from cache_worthy.sim.cost import BlockSize, DepthFn, TableCost
from cache_worthy.sim.errors import InputError
from cache_worthy.sim.forest import Forest, build_forest
from cache_worthy.sim.outcome import Outcome
from cache_worthy.sim.radix import choose
from cache_worthy.sim.radix.policies import POLICIES, EvictionPolicy
from cache_worthy.sim.radix.replay import replay
from cache_worthy.workers import SERIAL, Threads, Workers

WEIGHS: dict[str, frozenset[str]] = {
    "lru": frozenset(),
    "recursive_lru": frozenset(),
    "size_only": frozenset({"size"}),
}
"""What of a node a shipped policy's decisions look at, where that is not both size and cost."""

_BOTH = frozenset({"size", "cost"})

BASELINE = "lru"
"""What servers run by default, against which savings are counted."""

THREADS = 2
"""Replays that run at once; more need more memory and save little time."""


class Replays:
    """Replays of a log by policy and capacity.

    A result is kept by the whole blocks of its capacity, as every size is a multiple of a block.
    ``matched`` takes two bytes per request, four where prompts have 65,536 blocks or more.

    Parameters
    ----------
    forest : Forest
    size : BlockSize
    cost : BlockCost
    policies : mapping of str to callable, optional
        Factories of the policies to compare, by the names they are shown under; all shipped ones by
        default.
    workers : Workers
        Where :meth:`ahead` runs them.
    base : Replays, optional
        The same log under another cost. A shipped policy whose decisions look at nothing that
        differs is not replayed again: what it matched there is priced here.

    Attributes
    ----------
    count : int
        Replays run so far; cached or re-priced results are not counted.
    """

    def __init__(
        self,
        forest: Forest,
        size: BlockSize,
        cost: DepthFn,
        policies: Mapping[str, Callable[[], EvictionPolicy]] | None = None,
        workers: Workers = SERIAL,
        base: Replays | None = None,
    ) -> None:
        self.forest = forest
        self.size = size
        self.cost = cost
        chosen = POLICIES if policies is None else policies
        self.policies: dict[str, Callable[[], EvictionPolicy]] = dict(chosen)
        self.costs = cost.cumulative(forest.depth)
        # The same costs as a table, because the node engine asks for one segment at a time.
        self._table = TableCost(tuple(self.costs))
        self.uncached_cost = forest.recomputed(self.costs)
        self.compulsory_cost = forest.compulsory(self.costs)
        self.count = 0
        self._base = base
        self.workers = workers
        self._kept: dict[tuple[str, int], Outcome] = {}
        self._matched: dict[tuple[str, int], Counter[int]] = {}

    @property
    def same(self) -> dict[str, Any]:
        """The same policies and workers, for replays of another log or cost."""
        return {"policies": self.policies, "workers": self.workers}

    @property
    def working_set(self) -> int:
        """Bytes of all distinct blocks."""
        return self.forest.distinct * self.size.block

    @property
    def least(self) -> int:
        """The least capacity that can be asked for, in bytes."""
        return self.forest.depth * self.size.block

    def ahead(
        self,
        pairs: Iterable[tuple[str, int]],
        step: Callable[[str], None] = lambda text: None,
        what: str = "replay",
    ) -> None:
        """Run what is not kept yet of these policies and capacities, on the workers.

        Parameters
        ----------
        pairs : iterable of (str, int)
            Policy and capacity in bytes.
        step : callable
            Told ``what`` and which of the pairs it is.
        """
        new = {(policy, capacity // self.size.block): capacity for policy, capacity in pairs}
        for (policy, blocks), capacity in new.items():
            if (policy, blocks) not in self._kept:
                priced = self._priced(policy, capacity)
                if priced is not None:
                    self._kept[policy, blocks] = priced
        keys = [key for key in new if key not in self._kept]
        self.count += len(keys)
        number = {key: n for n, key in enumerate(keys, 1)}
        items = [
            (policy, self.policies[policy], new[policy, blocks], self.size, self._table)
            for policy, blocks in keys
        ]
        results = self._where(keys).map_tasks(
            _replay,
            self.forest,
            items,
            step=step,
            label=lambda item: (
                f"{what} {number[item[0], item[2] // self.size.block]}/{len(keys)}: {item[0]}"
            ),
        )
        self._kept.update(zip(keys, results, strict=True))

    def _where(self, keys: Sequence[tuple[str, int]]) -> Workers:
        """The workers, or threads where there are none and all replays are machine code."""
        policies = {policy for policy, _ in keys}
        if self.workers is not SERIAL or len(keys) < 2 or not policies <= set(POLICIES):
            return self.workers
        if not all(POLICIES[policy].own_rule() for policy in policies):
            return self.workers
        choose.expect_many(self.forest.requests)
        if not choose.wanted(self.forest.requests):
            return self.workers
        from cache_worthy.sim.radix.compiled import few_pairs

        if not few_pairs(self.forest):  # plain Python would take turns, deaf to Ctrl-C
            return self.workers
        # In the main thread: Ctrl-C stops it, and no other thread finds half-compiled code.
        for policy in sorted(policies):
            _load(policy)
        return Threads(min(THREADS, os.cpu_count() or 1))

    def run(self, policy: str, capacity: int) -> Outcome:
        """The replay under ``policy`` at ``capacity`` bytes, run if it was not yet."""
        key = (policy, capacity // self.size.block)
        found = self._kept.get(key)
        if found is None:
            self.ahead([(policy, capacity)])
            found = self._kept[key]
        return (
            found if found.capacity == capacity else dataclasses.replace(found, capacity=capacity)
        )

    def run_pinned(self, policy: str, capacity: int, pinned: Iterable[int]) -> Outcome:
        """A replay in which the pinned static nodes are never evicted; not kept."""
        return run_policy(
            policy,
            self.policies[policy],
            self.forest,
            capacity=capacity,
            size=self.size,
            cost=self.cost,
            pinned=pinned,
        )

    def matched(self, policy: str, result: Outcome) -> Counter[int]:
        """How many requests of one of these replays matched how many blocks; counted once."""
        key = (policy, result.capacity // self.size.block)
        if key not in self._matched:
            self._matched[key] = by_depth(result.matched)
        return self._matched[key]

    def _priced(self, policy: str, capacity: int) -> Outcome | None:
        """The base's replay at this cost; None if ``policy`` may decide otherwise under it."""
        base = self._base
        if base is None or policy not in POLICIES:
            return None
        same_size = base.size.block == self.size.block
        if not WEIGHS.get(policy, _BOTH) <= (frozenset({"size"}) if same_size else frozenset()):
            return None
        result = base.run(policy, capacity // self.size.block * base.size.block)
        scale = self.size.block
        return dataclasses.replace(
            result,
            capacity=capacity,
            total_cost=self.uncached_cost - summed(self.costs, base.matched(policy, result)),
            compulsory_cost=self.compulsory_cost,
            evicted_size=result.evicted_size // base.size.block * scale,
            resident_size=result.resident_size // base.size.block * scale,
        )


Item = tuple[str, Callable[[], EvictionPolicy], int, BlockSize, DepthFn]


def _replay(forest: Forest, item: Item) -> Outcome:
    policy, factory, capacity, size, cost = item
    choose.expect_many(forest.requests)  # a worker process has not been told
    result = run_policy(policy, factory, forest, capacity=capacity, size=size, cost=cost)
    return dataclasses.replace(result, matched=_narrow(result.matched, forest.depth))


@functools.cache
def _load(policy: str) -> None:
    """Compile the machine code of a shipped policy, or load it from the disk."""
    replay(build_forest([(0,)]), POLICIES[policy](), BlockSize().block, engine="compiled")


def _narrow(matched: Sequence[int], depth: int) -> array[int]:
    """In two bytes each where they fit."""
    if depth >= 1 << 16:
        return array("i", matched)
    if not isinstance(matched, Ints):
        return array("H", matched)
    # From the compiled engine, so numpy is loaded; one by one would be slow.
    import numpy as np

    return array("H", np.frombuffer(matched, np.int32).astype(np.uint16).tobytes())


def run_policy(
    name: str,
    factory: Callable[[], EvictionPolicy],
    forest: Forest,
    *,
    capacity: int,
    size: BlockSize,
    cost: DepthFn,
    pinned: Iterable[int] = (),
) -> Outcome:
    """Replay; an error inside a user's policy becomes one line."""

    def run() -> Outcome:
        return replay(forest, factory(), capacity, size_fn=size, cost_fn=cost, pinned=pinned)

    if name in POLICIES:
        return run()
    try:
        with contextlib.redirect_stdout(sys.stderr):
            return run()
    except InputError:
        raise
    except (Exception, SystemExit) as error:
        raise UsageError(f"--policy {name}: raised in replay: {told(error)}") from error
