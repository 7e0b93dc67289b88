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
"""Replays at a time: more is more memory, and what is left of the time is not theirs."""


class Replays:
    """Replays of a log by policy and capacity.

    A result is kept under the whole blocks of its capacity: every size is a multiple of a block,
    so what lies between changes nothing. ``matched`` is kept in two bytes per request (four in
    logs of deeper prompts).

    Parameters
    ----------
    forest : Forest
    size : BlockSize
    cost : BlockCost
    own : mapping of str to callable
        Factories of the user's policies by display name, beside the shipped ones.
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
        own: Mapping[str, Callable[[], EvictionPolicy]] | None = None,
        workers: Workers = SERIAL,
        base: Replays | None = None,
    ) -> None:
        self.forest = forest
        self.size = size
        self.cost = cost
        self.own = dict(own or {})
        self.factories: dict[str, Callable[[], EvictionPolicy]] = {**POLICIES, **self.own}
        self.costs = cost.cumulative(forest.depth)
        # The same numbers, looked up: the node engine asks for them one segment at a time.
        self._table = TableCost(tuple(self.costs))
        self.uncached_cost = forest.recomputed(self.costs)
        self.compulsory_cost = forest.compulsory(self.costs)
        self.count = 0
        self._base = base
        self.workers = workers
        self._kept: dict[tuple[str, int], Outcome] = {}
        self._matched: dict[tuple[str, int], Counter[int]] = {}

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
            (policy, self.factories[policy], new[policy, blocks], self.size, self._table)
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
        """The workers; threads in place of none where all replays are machine code."""
        policies = {policy for policy, _ in keys}
        if self.workers is not SERIAL or len(keys) < 2 or not policies <= set(POLICIES):
            return self.workers
        if not all(POLICIES[policy].own_rule() for policy in policies):
            return self.workers
        choose.expect_many(self.forest.requests)
        if not choose.wanted(self.forest.requests):
            return self.workers
        from cache_worthy.sim.radix.compiled import few_pairs

        if not few_pairs(self.forest):  # plain replays take turns, and none ends at a Ctrl-C
            return self.workers
        # Here, where a Ctrl-C ends it and no other thread finds the code half made.
        for policy in sorted(policies):
            _load(policy)
        return Threads(min(THREADS, os.cpu_count() or 1))

    def run(self, policy: str, capacity: int) -> Outcome:
        """The replay under ``policy`` at ``capacity`` bytes, run now if it was not before."""
        key = (policy, capacity // self.size.block)
        found = self._kept.get(key)
        if found is None:
            self.ahead([(policy, capacity)])
            found = self._kept[key]
        return (
            found if found.capacity == capacity else dataclasses.replace(found, capacity=capacity)
        )

    def run_pinned(self, policy: str, capacity: int, pinned: Iterable[int]) -> Outcome:
        """A replay in which static nodes never leave; not kept."""
        return run_policy(
            policy,
            self.factories[policy],
            self.forest,
            capacity=capacity,
            size=self.size,
            cost=self.cost,
            pinned=pinned,
        )

    def matched(self, policy: str, result: Outcome) -> Counter[int]:
        """Requests of a replay of this object by the blocks matched; counted once."""
        key = (policy, result.capacity // self.size.block)
        if key not in self._matched:
            self._matched[key] = by_depth(result.matched)
        return self._matched[key]

    def _priced(self, policy: str, capacity: int) -> Outcome | None:
        """What ``policy`` did under the base's cost, at this one; None if it may do other things."""
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
    choose.expect_many(forest.requests)  # a process of its own has not heard it
    result = run_policy(policy, factory, forest, capacity=capacity, size=size, cost=cost)
    return dataclasses.replace(result, matched=_narrow(result.matched, forest.depth))


@functools.cache
def _load(policy: str) -> None:
    """Compile the machine code of a shipped policy, or read it from the disk."""
    replay(build_forest([(0,)]), POLICIES[policy](), BlockSize().block, engine="compiled")


def _narrow(matched: Sequence[int], depth: int) -> array[int]:
    """Two bytes each where they fit."""
    if depth >= 1 << 16:
        return array("i", matched)
    if not isinstance(matched, Ints):
        return array("H", matched)
    # Of the compiled engine, so numpy is loaded; one by one it shows in the time of a replay.
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
    """Replay; an error inside a user's policy becomes one clear line."""

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
