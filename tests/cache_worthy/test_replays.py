"""A kept replay equals one run anew, field for field (rank 5)."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from cache_worthy.ingest import read_log
from cache_worthy.replays import Replays
from cache_worthy.sim.cost import BlockCost, BlockSize
from cache_worthy.sim.forest import build_forest
from cache_worthy.sim.policies import POLICIES
from cache_worthy.sim.replay import replay
from cache_worthy.sim.trace import paths_of


@pytest.mark.parametrize("policy", POLICIES)
def test_a_kept_replay_is_the_replay(sample: Path, policy: str) -> None:
    """At every number of bytes up to the next whole block."""
    forest = build_forest(paths_of(read_log([str(sample)]).requests))
    size, cost = BlockSize(), BlockCost()
    replays = Replays(forest, size, cost)
    for capacity in (9 * size.block, 9 * size.block + 1, 10 * size.block - 1, 10 * size.block):
        new = replay(forest, POLICIES[policy](), capacity, size, cost)
        kept = replays.run(policy, capacity)
        assert dataclasses.replace(kept, matched=tuple(kept.matched)) == new
    assert new.evictions > 0
