"""The replays of one log, each run once: several sections read the same ones."""

from __future__ import annotations

import contextlib
import dataclasses
import sys
from array import array
from collections.abc import Callable, Mapping

from cache_worthy.errors import UsageError
from cache_worthy.sim.cost import BlockCost, BlockSize
from cache_worthy.sim.errors import InputError
from cache_worthy.sim.forest import PrefixForest
from cache_worthy.sim.policies import POLICIES, EvictionPolicy
from cache_worthy.sim.replay import ReplayResult, replay


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
    """

    def __init__(
        self,
        forest: PrefixForest,
        size: BlockSize,
        cost: BlockCost,
        own: Mapping[str, Callable[[], EvictionPolicy]] | None = None,
    ) -> None:
        self.forest = forest
        self.size = size
        self.cost = cost
        self.factories: dict[str, Callable[[], EvictionPolicy]] = {**POLICIES, **(own or {})}
        self._typecode = "H" if forest.depth < 1 << 16 else "L"
        self._kept: dict[tuple[str, int], ReplayResult] = {}

    @property
    def working_set(self) -> int:
        """Bytes of all distinct blocks."""
        return self.forest.distinct * self.size.block

    def run(self, policy: str, capacity: int) -> ReplayResult:
        """The replay under ``policy`` at ``capacity`` bytes, run now if it was not before."""
        key = (policy, capacity // self.size.block)
        found = self._kept.get(key)
        if found is None:
            result = run_policy(
                policy, self.factories[policy], self.forest, capacity, self.size, self.cost
            )
            found = dataclasses.replace(result, matched=array(self._typecode, result.matched))
            self._kept[key] = found
        return (
            found if found.capacity == capacity else dataclasses.replace(found, capacity=capacity)
        )


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
