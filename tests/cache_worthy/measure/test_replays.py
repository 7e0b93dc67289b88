"""A kept replay equals one run anew, and one in a thread, field for field (rank 5)."""

from __future__ import annotations

import dataclasses
import threading
from pathlib import Path
from typing import Any

import pytest
from radix_cases import growing

from cache_worthy.logs.session import read_log
from cache_worthy.measure import replays as replays_module
from cache_worthy.measure.replays import Replays
from cache_worthy.sim.cost import BlockCost, BlockSize
from cache_worthy.sim.forest import build_forest
from cache_worthy.sim.radix import choose as fast
from cache_worthy.sim.radix import compiled
from cache_worthy.sim.radix.policies import POLICIES
from cache_worthy.sim.radix.replay import replay
from cache_worthy.sim.trace import paths_of
from cache_worthy.workers import SERIAL, Threads, Workers

COMPILED = [name for name, policy in POLICIES.items() if policy.own_rule()]


@pytest.mark.parametrize("policy", POLICIES)
def test_a_kept_replay_is_the_replay(sample: Path, policy: str) -> None:
    """At every number of bytes up to the next whole block."""
    forest = build_forest(paths_of(read_log(sample, block_size=512, chars_per_token=4.0).requests))
    size, cost = BlockSize(), BlockCost()
    replays = Replays(forest, size, cost)
    for capacity in (9 * size.block, 9 * size.block + 1, 10 * size.block - 1, 10 * size.block):
        new = replay(forest, POLICIES[policy](), capacity, size, cost)
        kept = replays.run(policy, capacity)
        assert dataclasses.replace(kept, matched=tuple(kept.matched)) == new
    assert new.evictions > 0


@pytest.mark.parametrize("seed", range(3))
def test_replays_in_threads_are_those_one_by_one(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under every policy, with nothing made ready before."""
    if not fast.available():
        pytest.skip("numba is not installed")
    monkeypatch.setattr(fast, "_loaded", True)
    size, cost = BlockSize(), BlockCost()
    found = []
    for threads in (False, True):
        forest = build_forest(growing(seed, 600))
        replays = Replays(forest, size, cost, workers=SERIAL if threads else Workers())
        pairs = [
            (policy, (forest.depth + 11 * n) * size.block)
            for n in range(6)
            for policy in sorted(COMPILED, reverse=True)
        ]
        told: list[str] = []
        assert isinstance(replays._where(pairs), Threads) == threads
        replays.ahead(pairs, told.append)
        assert replays.count == len(pairs)
        found.append((told, [replays.run(*pair) for pair in pairs]))
    assert found[0] == found[1]
    assert len({result.total_cost for result in found[0][1]}) > len(COMPILED)


def test_threads_only_where_replays_are_machine_code(monkeypatch: pytest.MonkeyPatch) -> None:
    forest = build_forest(growing(0, 300))
    keys = [("lru", 40), ("gdsf", 40)]
    replays = Replays(forest, BlockSize(), BlockCost(), {**POLICIES, "own": POLICIES["lru"]})
    for loaded, available, asked, threads in (
        (True, True, keys, True),
        (True, True, [*keys, ("own", 40)], False),  # of the user, who need not expect threads
        (True, True, keys[:1], False),
        (True, False, keys, False),
        (False, True, keys, False),  # too small to load it
    ):
        monkeypatch.setattr(fast, "_loaded", loaded)
        monkeypatch.setattr(fast, "available", lambda found=available: found)
        assert isinstance(replays._where(asked), Threads) == threads


def test_machine_code_is_loaded_before_threads_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """There a Ctrl-C ends a compilation, and no thread finds what another is mending."""
    if not fast.available():
        pytest.skip("numba is not installed")
    monkeypatch.setattr(fast, "_loaded", True)
    first: dict[str, threading.Thread] = {}
    kernels = compiled._kernels()

    def run(name: str, *arguments: Any) -> Any:
        first.setdefault(name, threading.current_thread())
        return getattr(kernels, name)(*arguments)

    monkeypatch.setattr(compiled, "_run", run)
    replays_module._load.cache_clear()
    forest = build_forest(growing(1, 300))
    size = BlockSize()
    replays = Replays(forest, size, BlockCost())
    replays.ahead((policy, forest.depth * size.block) for policy in COMPILED)
    assert first == dict.fromkeys(("lru", "rules"), threading.main_thread())
    # Of one kind of arguments: nothing was left to compile in a thread.
    assert [len(kernel.signatures) for kernel in (kernels.lru, kernels.rules)] == [1, 1]


def test_no_threads_for_plain_replays(monkeypatch: pytest.MonkeyPatch) -> None:
    """They would take turns, and a Ctrl-C would wait until two of them end."""
    if not fast.available():
        pytest.skip("numba is not installed")
    monkeypatch.setattr(fast, "_loaded", True)
    turns = [tuple(range(n)) for n in range(1, 200)]
    keys = [("lru", 300), ("gdsf", 300)]
    for pairs, threads in ((1 << 17, True), (1, False)):
        monkeypatch.setattr(compiled, "PAIRS", pairs)
        replays = Replays(build_forest(turns), BlockSize(), BlockCost())
        assert isinstance(replays._where(keys), Threads) == threads


def test_workers_load_no_machine_code_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast, "_loaded", False)
    monkeypatch.setattr(fast, "MANY_FROM", 1)
    asked: list[int] = []

    def available() -> bool:
        asked.append(1)
        return True

    monkeypatch.setattr(fast, "available", available)
    workers = Workers()
    replays = Replays(build_forest(growing(0, 300)), BlockSize(), BlockCost(), workers=workers)
    for keys in ([("lru", 40), ("gdsf", 40)], []):
        assert replays._where(keys) is workers
    assert Replays(replays.forest, BlockSize(), BlockCost())._where([]) is SERIAL
    assert not asked
