"""The replays of one log, each run once: several sections read the same ones."""

from __future__ import annotations

import contextlib
import dataclasses
import sys
from array import array
from collections.abc import Callable, Iterable, Mapping

from cache_worthy.errors import UsageError
from cache_worthy.sim.cost import BlockCost, BlockSize
from cache_worthy.sim.errors import InputError
from cache_worthy.sim.forest import PrefixForest
from cache_worthy.sim.policies import POLICIES, EvictionPolicy
from cache_worthy.sim.replay import ReplayResult, replay
from cache_worthy.tasks import SERIAL, Workers


class Replays:
    """Replays of a log by policy and capacity.

    A result is kept under the whole blocks of its capacity: every size is a multiple of a block,
    so what lies between changes nothing. ``matched`` is kept in two bytes a request (four in logs
    of deeper prompts).

    Parameters
    ----------
    forest : PrefixForest
    size : BlockSize
    cost : BlockCost
    own : mapping of str to callable
        Factories of the user's policies by display name, beside the shipped ones.
    workers : Workers
        Where :meth:`ahead` runs them.
    """

    def __init__(
        self,
        forest: PrefixForest,
        size: BlockSize,
        cost: BlockCost,
        own: Mapping[str, Callable[[], EvictionPolicy]] | None = None,
        workers: Workers = SERIAL,
    ) -> None:
        self.forest = forest
        self.size = size
        self.cost = cost
        self.factories: dict[str, Callable[[], EvictionPolicy]] = {**POLICIES, **(own or {})}
        self._workers = workers
        self._kept: dict[tuple[str, int], ReplayResult] = {}

    @property
    def working_set(self) -> int:
        """Bytes of all distinct blocks."""
        return self.forest.distinct * self.size.block

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
        keys = [key for key in new if key not in self._kept]
        number = {key: n for n, key in enumerate(keys, 1)}
        items = [
            (policy, self.factories[policy], new[policy, blocks], self.size, self.cost)
            for policy, blocks in keys
        ]
        results = self._workers.map_tasks(
            _replay,
            self.forest,
            items,
            step=step,
            label=lambda item: (
                f"{what} {number[item[0], item[2] // self.size.block]}/{len(keys)}: {item[0]}"
            ),
        )
        self._kept.update(zip(keys, results, strict=True))

    def run(self, policy: str, capacity: int) -> ReplayResult:
        """The replay under ``policy`` at ``capacity`` bytes, run now if it was not before."""
        key = (policy, capacity // self.size.block)
        found = self._kept.get(key)
        if found is None:
            self.ahead([(policy, capacity)])
            found = self._kept[key]
        return (
            found if found.capacity == capacity else dataclasses.replace(found, capacity=capacity)
        )


Item = tuple[str, Callable[[], EvictionPolicy], int, BlockSize, BlockCost]


def _replay(forest: PrefixForest, item: Item) -> ReplayResult:
    policy, factory, capacity, size, cost = item
    result = run_policy(policy, factory, forest, capacity, size, cost)
    typecode = "H" if forest.depth < 1 << 16 else "L"
    return dataclasses.replace(result, matched=array(typecode, result.matched))


def run_policy(
    name: str,
    factory: Callable[[], EvictionPolicy],
    forest: PrefixForest,
    capacity: int,
    size: BlockSize,
    cost: BlockCost,
) -> ReplayResult:
    """Replay; an error inside a user's policy becomes one clear line."""
    if name in POLICIES:
        return replay(forest, factory(), capacity, size, cost)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            return replay(forest, factory(), capacity, size, cost)
    except (InputError, UsageError):
        raise
    except (Exception, SystemExit) as error:
        raise UsageError(
            f"--policy {name}: raised in replay: {type(error).__name__}: {error}"
        ) from error
