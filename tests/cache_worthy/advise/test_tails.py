"""Tails: a log computed by hand (rank 4) and sums that cannot hold by coincidence (rank 2)."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from contexts import context_of, policies_at
from hypothesis import given
from hypothesis import strategies as st
from reports import Read, made

from cache_worthy.advise.context import Context
from cache_worthy.advise.tails import Tails
from cache_worthy.advise.tails import tails as tails_section
from cache_worthy.measure.per_request import known_blocks, require_sums
from cache_worthy.measure.quantiles import nearest_rank
from cache_worthy.measure.replays import Replays
from cache_worthy.sim.cost import BlockCost, BlockSize
from cache_worthy.sim.errors import InvariantError
from cache_worthy.sim.forest import build_forest
from cache_worthy.sim.radix.policies import POLICIES
from cache_worthy.sim.radix.replay import replay

UNIT = 2 * 32 * 4096 * 512**2
"""In it, a block at depth d costs 105 + 2 d under Llama-3.1-8B (test_pin.py)."""

BLOCK = BlockSize().block

Paths = list[tuple[int, ...]]


def measure(paths: Paths, *blocks: tuple[int, str]) -> Tails:
    return found(context_of(paths), *((b * BLOCK, label) for b, label in blocks))


def found(context: Context, *capacities: tuple[int, str]) -> Tails:
    tails: Tails = tails_section.measure(context, policies_at(context, *capacities))
    return tails


def test_a_log_by_hand() -> None:
    """Four blocks of room: (1, 2, 3, 4) fills it, each of the others evicts it, and it comes again.

    Records: 1 loads 105 + 107 + 109 + 111 = 432, all new. 2 loads 105, all new, and under lru the
    whole node leaves. 3 is 1 again: 432, all of it evicted. 4 and 5 find their path resident.
    """
    paths: Paths = [(1, 2, 3, 4), (9,), (1, 2, 3, 4), (1, 2, 3, 4), (1, 2, 3, 4)]
    tails = measure(paths, (4, "floor, recommended"), (5, "yours"))
    assert tails.deep_over_blocks == 4  # no path is longer, so none is deep
    (at, roomy) = tails.capacities
    lru = at.rows[0]
    assert (lru.policy, at.label, at.blocks) == ("lru", "floor, recommended", 4)
    # Sorted: 0, 0, 105, 432, 432; ranks 3, 5, 5, 5 of 5.
    assert (lru.p50, lru.p95, lru.p99, lru.max) == (105 * UNIT, 432 * UNIT, 432 * UNIT, 432 * UNIT)
    # Only records 1 and 2 have a compulsory part, and pay it once.
    assert (lru.own_p50, lru.own_max) == (1.0, 1.0)
    # One percent of five is one: record 1, as dear as record 3 and earlier.
    assert (lru.tail_requests, lru.tail_cost, lru.tail_evicted_cost) == (1, 432 * UNIT, 0)
    assert (lru.first.requests, lru.first.example_record) == (1, 1)
    assert (lru.cold.requests, lru.cold.example_record) == (0, None)
    assert (lru.deep.requests, lru.deep.example_record) == (0, None)
    # With room for all, record 3 costs nothing.
    assert roomy.rows[0].p50 == 0
    assert sum(r.tail_evicted_cost for r in roomy.rows) == 0


def test_kinds_by_hand() -> None:
    """200 requests, so a tail of two: one cold and deep, one first.

    (1 .. 5) is loaded, evicted by (6), asked for with one new block behind it: 5 of 6 blocks were
    there before. The path of 7 new blocks is first. All others are one block long.
    """
    deep, first = (1, 2, 3, 4, 5), (20, 21, 22, 23, 24, 25, 26)
    paths: Paths = [deep, *[(n,) for n in range(1000, 1003)], (*deep, 7), first]
    paths += [(6,)] * 194
    tails = measure(paths, (7, "recommended"))
    lru = tails.capacities[0].rows[0]
    assert tails.deep_over_blocks == 1
    assert lru.tail_requests == 2
    # 105 + ... + 117 = 777 and 105 + ... + 115 = 660; of the latter 545 had been there.
    assert lru.tail_cost == (777 + 660) * UNIT
    assert lru.tail_evicted_cost == 545 * UNIT
    assert (lru.cold.requests, lru.cold.example_record) == (1, 5)
    assert (lru.first.requests, lru.first.example_record) == (1, 6)
    assert (lru.deep.requests, lru.deep.example_record) == (2, 6)
    assert lru.own_max == 660 / 115  # record 5: its own part is block 7 at depth 5


class Blocks(BlockCost):
    """Every block costs one."""

    def cumulative(self, depth: int) -> list[int]:
        return list(range(depth + 1))


def test_half_and_half_is_cold() -> None:
    """(1, 2) was there before (3, 4, 5) took its room, and comes again with two new blocks."""
    paths: Paths = [(1, 2, 9), (3, 4, 5), (1, 2, 7, 8)]
    context = context_of(paths)
    context.replays = Replays(context.forest, BlockSize(), Blocks())
    tails = found(context, (4 * BLOCK, "recommended"))
    lru = tails.capacities[0].rows[0]
    assert (lru.max, lru.tail_cost, lru.tail_evicted_cost) == (4, 4, 2)
    assert (lru.cold.requests, lru.cold.example_record, lru.first.requests) == (1, 3, 0)


@given(
    st.lists(
        st.lists(st.integers(0, 2), min_size=1, max_size=5).map(tuple), min_size=1, max_size=30
    ),
    st.integers(0, 4),
)
def test_parts_sum(paths: Paths, extra: int) -> None:
    forest = build_forest(paths)
    blocks = forest.depth + extra
    tails = measure(paths, (blocks, "recommended"))
    known = known_blocks(forest)
    whole = replay(forest, POLICIES["lru"](), max(forest.distinct, 1) * BLOCK)
    assert tuple(known) == whole.matched  # what a cache that never evicts matches
    for row in tails.capacities[0].rows:
        assert row.cold.requests + row.first.requests == row.tail_requests
        assert row.p50 <= row.p95 <= row.p99 <= row.max
        assert row.tail_evicted_cost <= row.tail_cost


def test_the_sums_bite() -> None:
    """A replay that reports one match more or less, or a wrong total, is refused."""
    forest = build_forest([(1, 2), (1, 2), (3,), (1, 2)])
    table = BlockCost().cumulative(forest.depth)
    known = known_blocks(forest)
    result = replay(forest, POLICIES["lru"](), 3 * BLOCK)
    require_sums(forest, table, known, result)
    assert result.matched == (0, 2, 0, 2)
    for wrong in (
        dataclasses.replace(result, matched=(0, 1, 0, 2)),
        dataclasses.replace(result, matched=(1, 1, 0, 2)),
        dataclasses.replace(result, total_cost=result.total_cost + 1),
        dataclasses.replace(result, compulsory_cost=result.compulsory_cost - 1),
        dataclasses.replace(result, matched=(2, 0, 0, 2)),  # the same sum, an impossible match
    ):
        with pytest.raises(InvariantError):
            require_sums(forest, table, known, wrong)


def test_ranks() -> None:
    hundred = dict.fromkeys(range(1, 101), 1)
    assert [nearest_rank(hundred, q) for q in (1, 50, 95, 99, 100)] == [1, 50, 95, 99, 100]
    assert nearest_rank({3: 1}, 1) == nearest_rank({3: 2}, 100) == 3


def test_a_user_policy_has_a_row(sample: Path) -> None:
    spec = "cache_worthy.sim.radix.policies.lru:LRU"
    found = made(sample, "--skip", "bound", "--policy", spec)
    rows = {name: cells for name, *cells in Read(found.report).rows("tails-table-0")}
    assert rows[spec] == rows["lru"]
    assert max(map(len, found.text.splitlines())) <= 80
