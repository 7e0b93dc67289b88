"""Belady's MIN: one capacity, all of them in one pass, with bypass; the plain forms as oracles."""

from __future__ import annotations

import random
from collections.abc import Iterator
from heapq import heappushpop, heapreplace

import pytest
from plain_block_policies import (
    PlainBelady,
    PlainBypass,
    bypass_misses_by_lp,
)

from cache_worthy.sim.blocks import (
    POLICIES,
    BlockLog,
    belady_curve,
    curve,
    ideal,
    replay_blocks,
)
from cache_worthy.sim.blocks.policies.flat_belady import FlatBelady
from cache_worthy.sim.blocks.replay import run
from cache_worthy.sim.errors import CapacityError, InputError, InvariantError

BLOCK = 4


def streams(count: int, seed: int, *, by_path: bool) -> Iterator[tuple[random.Random, BlockLog]]:
    """Logs of every kind: few ids and many, empty requests, blocks that come once."""
    rng = random.Random(seed)
    for _ in range(count):
        ids = rng.choice((1, 2, 3, 5, 9, 20))
        paths = [
            [rng.randrange(ids) for _ in range(rng.randrange(7))] for _ in range(rng.randrange(30))
        ]
        lengths = [max(0, BLOCK * len(p) - rng.randrange(BLOCK)) for p in paths]
        yield rng, BlockLog.intern(paths, lengths, block_size=BLOCK, by_path=by_path)


def some_capacities(rng: random.Random, trace: BlockLog) -> list[int]:
    return [*rng.sample(range(1, 30), rng.randrange(7)), 1, max(1, trace.distinct), 10**9]


@pytest.mark.parametrize("by_path", [False, True])
def test_one_pass_is_the_replays_in_every_field(by_path: bool) -> None:
    for rng, trace in streams(1500, 1, by_path=by_path):
        capacities = some_capacities(rng, trace)
        found = belady_curve(trace, capacities)
        assert list(found) == sorted(set(capacities))
        for capacity, result in found.items():
            assert result == replay_blocks(trace, "flat_belady", capacity)


def test_flat_belady_is_a_list() -> None:
    for rng, trace in streams(300, 2, by_path=False):
        capacity = rng.randrange(1, 12)
        plain = PlainBelady(trace.blocks, capacity, BLOCK)
        result = replay_blocks(trace, "flat_belady", capacity)
        pairs = zip(trace.blocks, trace.lengths, strict=True)
        assert list(result.hit_tokens) == [plain.serve(path, n) for path, n in pairs]
        assert result.block_misses == plain.misses
        assert result.resident_size == plain.final_size()


def test_bypass_keeps_what_comes_soonest() -> None:
    for rng, trace in streams(600, 3, by_path=True):
        for capacity, result in belady_curve(
            trace, some_capacities(rng, trace), bypass=True
        ).items():
            plain = PlainBypass(trace.blocks, capacity, BLOCK)
            pairs = zip(trace.blocks, trace.lengths, strict=True)
            assert list(result.hit_tokens) == [plain.serve(path, n) for path, n in pairs]
            assert result.hit_blocks + result.block_misses == result.block_references
            assert result.resident_size == plain.final_size()


def test_bypass_is_the_linear_program() -> None:
    for rng, trace in streams(40, 7, by_path=True):
        capacity = rng.randrange(1, 9)
        found = belady_curve(trace, [capacity], bypass=True)[capacity]
        assert found.block_misses == bypass_misses_by_lp(trace.blocks, capacity)


def test_no_policy_hits_more_than_with_bypass() -> None:
    for rng, trace in streams(300, 4, by_path=True):
        capacity = rng.randrange(8, 16)
        best = belady_curve(trace, [capacity], bypass=True)[capacity]
        for name in POLICIES:
            ratio = {"small_ratio": 0.25} if name.startswith("s3fifo") else {}
            assert replay_blocks(trace, name, capacity, **ratio).hit_blocks <= best.hit_blocks


def test_what_a_cache_hits_a_larger_one_hits() -> None:
    """The inclusion property of a stack algorithm, on the replays."""
    for _, trace in streams(300, 5, by_path=False):
        smaller = bytearray(trace.references)
        for capacity in range(1, trace.distinct + 2):
            cache = FlatBelady(trace, capacity)
            run(trace, cache, "flat_belady", capacity)
            assert all(more >= less for more, less in zip(cache.hits, smaller, strict=True))
            smaller = cache.hits


def test_the_ends_of_the_curve() -> None:
    trace = BlockLog.intern([[1, 2], [1, 2], [3], [1]], [8, 7, 4, 4], block_size=BLOCK)
    assert belady_curve(trace, []) == {}
    for bypass in (False, True):
        with pytest.raises(CapacityError, match="at least 1 block, not 0"):
            belady_curve(trace, [3, 0], bypass=bypass)
        nothing = belady_curve(BlockLog.intern([], []), [5], bypass=bypass)[5]
        assert (nothing.block_references, nothing.resident_size) == (0, 0)
        everything = belady_curve(trace, [3], bypass=bypass)[3]
        assert everything.matched == ideal(trace).matched == (0, 2, 0, 1)
        assert everything.hit_tokens == (0, 7, 0, 4)
    with pytest.raises(InputError, match="intern the log by path"):
        belady_curve(BlockLog.intern([[1, 2], [2]], [8, 4]), [2], bypass=True)


def test_a_wrong_victim_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    """What enters counts as a victim with bypass, and without it does not."""
    logs = [trace for _, trace in streams(60, 6, by_path=True)]
    monkeypatch.setattr(curve, "heapreplace", heappushpop)
    changed = sum(belady_curve(t, [3])[3] != replay_blocks(t, "flat_belady", 3) for t in logs)
    assert changed > 10
    monkeypatch.setattr(curve, "heappushpop", heapreplace)
    with pytest.raises(InvariantError, match="kept without its prefix"):
        [belady_curve(trace, [3], bypass=True) for trace in logs]


class _Forgets(FlatBelady):
    """Loses the entry of a block that is held."""

    def resident(self) -> int:
        if self.clock == len(self.next_use) - 1:
            self.heap.clear()
        return super().resident()


class _Miscounts(FlatBelady):
    """Counts a block more than it holds."""

    def resident(self) -> int:
        self.unused += self.clock == len(self.next_use)
        return super().resident()


@pytest.mark.parametrize(
    ("broken", "message"),
    [(_Forgets, "heap does not have"), (_Miscounts, "blocks held, 2 counted")],
)
def test_the_recount_bites(broken: type[FlatBelady], message: str) -> None:
    trace = BlockLog.intern([[1], [2], [1]], [4, 4, 4], block_size=BLOCK)
    cache = broken(trace, 3)
    for path in trace.blocks[: 2 if broken is _Forgets else 3]:
        cache.serve(path, 4)
        cache.resident()
    with pytest.raises(InvariantError, match=message):
        cache.check()
