"""Cold start: published hit rates (rank 1) and logs computed by hand (rank 4)."""

from __future__ import annotations

from pathlib import Path

import pytest
from contexts import context_of, policies_at

from cache_worthy.advise.coldstart import ColdStarts, coldstart, settling
from cache_worthy.advise.context import Context
from cache_worthy.logs.session import read_log
from cache_worthy.sim.cost import BlockSize
from cache_worthy.sim.errors import InvariantError

BLOCK = BlockSize().block


def measure(
    paths: list[tuple[int, ...]], tokens: list[int], *blocks: tuple[int, str]
) -> ColdStarts:
    return cold_starts(context_of(paths, tokens), *((b * BLOCK, label) for b, label in blocks))


def cold_starts(context: Context, *capacities: tuple[int, str]) -> ColdStarts:
    found: ColdStarts = coldstart.measure(context, policies_at(context, *capacities))
    return found


def test_rates_by_hand() -> None:
    """Four prompts; the second half is the last two.

    With room for all: 1 misses two blocks; 2 hits (1), one of two; 3 is (1) again, 100 of its 100
    tokens; 4 misses its one block. By block 2 of 6 and, in the second half, 1 of 2. By token
    512 + 100 of 1024 + 600 + 100 + 50 and 100 of 150. By request the mean of 0, 512 / 600, 1, 0 and
    of 1, 0.
    """
    paths: list[tuple[int, ...]] = [(1, 2), (1, 3), (1,), (9,)]
    cold = measure(paths, [1024, 600, 100, 50], (2, "floor"))
    floor, whole = cold.rows
    assert (floor.label, whole.label, whole.blocks) == ("floor", "working set", 4)
    assert (whole.cold.block, whole.warm.block) == (2 / 6, 1 / 2)
    assert (whole.cold.token, whole.warm.token) == (612 / 1774, 100 / 150)
    assert whole.cold.request == pytest.approx((512 / 600 + 1) / 4)
    assert whole.warm.request == 1 / 2
    assert (whole.third_quarter, whole.fourth_quarter) == (1.0, 0.0)
    # Two blocks of room: (1, 3) evicts 2 only, so nothing is lost until 9, which nobody asked for.
    assert floor.cold == whole.cold
    assert cold.window_requests == 1
    assert cold.half_requests == 2


def test_a_prompt_of_no_tokens_has_no_share() -> None:
    cold = measure([(1,), (), (1,), ()], [512, 0, 512, 0], (1, "floor"))
    (row,) = cold.rows
    assert row.label == "floor, working set"
    assert row.cold.request == 1 / 2
    assert row.warm.request == 1.0
    assert row.fourth_quarter is None


ONES = [1] * 40


@pytest.mark.parametrize(
    ("matched", "window", "expected"),
    [
        # Ten misses, then all hit: the window of 4 is full of hits at 14.
        ([0] * 10 + [1] * 30, 4, (14, 14)),
        # A window of one sees the first hit.
        ([0] * 10 + [1] * 30, 1, (11, 11)),
        # Hits come early, then a bad stretch: reached at once; settled when the rest is steady.
        # From 12 on, 1 of the 20 - 12 = 8 left misses until it has passed.
        ([1] * 8 + [0] * 5 + [1] * 27, 2, (2, 15)),
        # The second half is half as good in its fourth quarter: no steady state to be near.
        ([1] * 30 + [1, 0] * 5, 5, (None, None)),
        # One miss in the last quarter: steady at 19 of 20, which a window without a miss is 5.3
        # percent above; one with that miss in it reaches it, but the third quarter is too good.
        ([1] * 30 + [0] + [1] * 9, 4, (None, None)),
        ([0] + [1] * 29 + [0] + [1] * 9, 20, (20, None)),
        # One miss in ten everywhere, the last of it at the very end: steady by halves and quarters.
        ((([0] + [1] * 9) * 3 + [1] * 9 + [0]), 10, (10, 10)),
        # Nothing is ever hit.
        ([0] * 40, 4, (None, None)),
        # The first half never gets there.
        ([0] * 20 + [1] * 20, 4, (None, None)),
    ],
)
def test_settling_by_hand(
    matched: list[int], window: int, expected: tuple[int | None, int | None]
) -> None:
    assert settling(matched, ONES, window) == expected


def test_the_tolerance_is_exact() -> None:
    """A steady rate of 1, windows of 20: 19 hits are 5 percent off and in, 18 are out."""
    for hits, expected in ((19, (20, 20)), (18, (None, None))):
        matched = [1] * hits + [0] * (20 - hits) + [1] * 20
        assert settling(matched, [1] * 40, 20) == expected


def test_more_hits_than_repeats_are_refused() -> None:
    context = context_of([(1, 2), (1, 2)])
    assert context.known == [0, 2]
    cold_starts(context, (2 * BLOCK, "floor"))
    context.known = [0, 1]
    with pytest.raises(InvariantError):
        cold_starts(context, (3 * BLOCK, "yours"))


@pytest.mark.traces
@pytest.mark.parametrize(
    ("trace", "block", "token", "request_", "settles"),
    [
        ("conversation", "0.3664", "0.3736", "0.4094", False),
        ("synthetic", "0.6396", "0.6512", "0.4315", False),
    ],
)
def test_published_rates_of_an_unlimited_cache(
    traces: Path, trace: str, block: str, token: str, request_: str, settles: bool
) -> None:
    requests = list(read_log(traces / f"{trace}_trace.jsonl").requests)
    paths = [tuple(r.hash_ids) for r in requests]
    context = context_of(paths, [r.input_length for r in requests])
    cold = cold_starts(context, (context.replays.working_set, "recommended"))
    (row,) = cold.rows
    rates = (row.cold.block, row.cold.token, row.cold.request)
    assert tuple(f"{r:.4f}" for r in rates if r is not None) == (block, token, request_)
    # The second half of either log moves by more than 5 percent between its quarters.
    assert (row.settled_after is not None) == settles
    assert row.third_quarter is not None
    assert row.fourth_quarter is not None
    assert row.fourth_quarter > 1.1 * row.third_quarter
