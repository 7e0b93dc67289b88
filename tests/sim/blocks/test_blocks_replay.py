"""The block loop: identities, parameters, and each policy against a plain transcription."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Protocol

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_block_policies import (
    PlainBlockPool,
    PlainFlat,
    PlainPaperS3Fifo,
    PlainS3Fifo,
    belady_misses_by_lp,
)

from cache_worthy.sim.blocks import (
    POLICIES,
    BlockLog,
    ideal,
    replay_blocks,
)
from cache_worthy.sim.blocks.policies.base import BlockPolicy
from cache_worthy.sim.blocks.policies.s3fifo import S3Fifo, queue_sizes
from cache_worthy.sim.blocks.policies.vllm_lru import VllmLru
from cache_worthy.sim.blocks.replay import run
from cache_worthy.sim.errors import InputError, InvariantError
from cache_worthy.sim.radix.policies import POLICIES as RADIX_POLICIES

BLOCK = 4


class Plain(Protocol):
    def serve(self, blocks: Sequence[int], tokens: int) -> int: ...
    def final_size(self) -> int: ...


@st.composite
def loose_logs(draw: st.DrawFn) -> BlockLog:
    """Ids that need not fix their prefix, repeats in a request included."""
    paths = draw(st.lists(st.lists(st.integers(0, 14), max_size=9), max_size=60))
    lengths = [max(0, BLOCK * len(p) - draw(st.integers(0, BLOCK - 1))) for p in paths]
    return BlockLog.intern(paths, lengths, block_size=BLOCK)


@st.composite
def prefix_logs(draw: st.DrawFn) -> BlockLog:
    """Ids that fix their prefix, at most eight blocks a request."""
    paths = draw(st.lists(st.lists(st.integers(0, 2), max_size=8), max_size=60))
    lengths = [max(0, BLOCK * len(p) - draw(st.integers(0, BLOCK - 1))) for p in paths]
    return BlockLog.intern(paths, lengths, block_size=BLOCK, by_path=True)


def agree(trace: BlockLog, name: str, capacity: int, plain: Plain, **parameters: object) -> None:
    result = replay_blocks(trace, name, capacity, **parameters)
    pairs = zip(trace.blocks, trace.lengths, strict=True)
    assert list(result.hit_tokens) == [plain.serve(path, n) for path, n in pairs]
    assert result.resident_size == plain.final_size()


@given(
    loose_logs(),
    st.integers(4, 16),
    st.sampled_from([0.1, 0.25, 0.5]),
    st.integers(1, 4),
    st.integers(0, 1),
)
@settings(max_examples=150, deadline=None)
def test_s3fifo_is_its_transcription(
    trace: BlockLog, capacity: int, ratio: float, max_freq: int, ghost_hit_freq: int
) -> None:
    if round(capacity * ratio) == 0:
        ratio = 0.25
    agree(
        trace,
        "s3fifo",
        capacity,
        PlainS3Fifo(capacity, BLOCK, ratio, max_freq, ghost_hit_freq),
        small_ratio=ratio,
        max_freq=max_freq,
        ghost_hit_freq=ghost_hit_freq,
    )


@given(st.integers(0, 10**9), st.integers(6, 24), st.floats(1.2, 4.0))
@settings(max_examples=80, deadline=None)
def test_s3fifo_on_long_logs(seed: int, capacity: int, spread: float) -> None:
    """Long enough for ids to pass through the ghost twice and more."""
    rng = random.Random(seed)
    paths = [[rng.randrange(int(capacity * spread)) for _ in range(7)] for _ in range(90)]
    trace = BlockLog.intern(paths, [7 * BLOCK] * 90, block_size=BLOCK)
    agree(trace, "s3fifo", capacity, PlainS3Fifo(capacity, BLOCK))
    agree(trace, "s3fifo_paper", capacity, PlainPaperS3Fifo(capacity, BLOCK))


@given(loose_logs(), st.integers(4, 16), st.sampled_from([0.25, 0.5]), st.integers(2, 4))
@settings(max_examples=150, deadline=None)
def test_s3fifo_paper_is_its_transcription(
    trace: BlockLog, capacity: int, ratio: float, max_freq: int
) -> None:
    agree(
        trace,
        "s3fifo_paper",
        capacity,
        PlainPaperS3Fifo(capacity, BLOCK, ratio, max_freq),
        small_ratio=ratio,
        max_freq=max_freq,
    )


@given(prefix_logs(), st.integers(8, 20), st.sampled_from(["keep", "drop"]))
@settings(max_examples=200, deadline=None)
def test_vllm_lru_is_a_pool_of_block_objects(
    trace: BlockLog, capacity: int, partial_blocks: str
) -> None:
    agree(
        trace,
        "vllm_lru",
        capacity,
        PlainBlockPool(capacity, BLOCK, partial_blocks),
        partial_blocks=partial_blocks,
    )


@given(loose_logs(), st.integers(1, 16), st.booleans())
@settings(max_examples=150, deadline=None)
def test_flat_lru_and_fifo_are_a_list(trace: BlockLog, capacity: int, refresh: bool) -> None:
    plain = PlainFlat(capacity, BLOCK, refresh=refresh)
    name = "flat_lru" if refresh else "flat_fifo"
    agree(trace, name, capacity, plain)
    assert replay_blocks(trace, name, capacity).block_misses == plain.misses


@given(st.lists(st.integers(0, 9), max_size=50), st.integers(1, 7))
@settings(max_examples=60, deadline=None)
def test_flat_belady_is_the_linear_program(references: list[int], capacity: int) -> None:
    paths = [references[i : i + 5] for i in range(0, len(references), 5)]
    trace = BlockLog.intern(paths, [BLOCK * len(p) for p in paths], block_size=BLOCK)
    found = replay_blocks(trace, "flat_belady", capacity).block_misses
    assert found == belady_misses_by_lp(references, capacity)
    for other in ("flat_lru", "flat_fifo"):
        assert replay_blocks(trace, other, capacity).block_misses >= found


@given(prefix_logs(), st.integers(8, 12))
@settings(max_examples=60, deadline=None)
def test_no_policy_beats_the_ideal_and_room_for_all_attains_it(
    trace: BlockLog, capacity: int
) -> None:
    best = ideal(trace)
    for name in POLICIES:
        small = replay_blocks(trace, name, capacity, **ratio_of(name))
        pairs = zip(small.hit_tokens, best.hit_tokens, strict=True)
        assert all(hit <= most for hit, most in pairs)
        # S3-FIFO needs room in each of its queues: ten times the blocks fills neither.
        roomy = replay_blocks(trace, name, 10 * trace.distinct + 20)
        assert roomy.hit_tokens == best.hit_tokens
        assert roomy.resident_size == trace.distinct


def ratio_of(name: str) -> dict[str, object]:
    return {"small_ratio": 0.25} if name.startswith("s3fifo") else {}


def test_hit_tokens_are_clamped_to_the_prompt() -> None:
    trace = BlockLog.intern([[5, 6], [5, 6]], [7, 6], block_size=4)
    assert replay_blocks(trace, "s3fifo", 30).hit_tokens[1] == 6
    assert replay_blocks(trace, "vllm_lru", 10).hit_tokens[1] == 6
    # The server finds full blocks only.
    dropped = replay_blocks(trace, "vllm_lru", 10, partial_blocks="drop")
    assert dropped.hit_tokens[1] == 4


def test_a_prompt_shorter_than_a_block_never_hits_on_the_server() -> None:
    trace = BlockLog.intern([[5]] * 9, [15] * 9, block_size=16)
    assert replay_blocks(trace, "vllm_lru", 4, partial_blocks="drop").total_hit_tokens == 0
    assert replay_blocks(trace, "vllm_lru", 4, partial_blocks="keep").total_hit_tokens == 8 * 15


def test_names_are_unique_over_all_engines() -> None:
    assert not set(POLICIES) & set(RADIX_POLICIES)
    assert all(name == spec.name for name, spec in POLICIES.items())
    assert [name for name, spec in POLICIES.items() if spec.pins_path] == ["vllm_lru"]


def test_hit_rates_by_hand() -> None:
    trace = BlockLog.intern([[1, 2], [1, 2], [1]], [8, 6, 2], block_size=4)
    result = replay_blocks(trace, "flat_lru", 9)
    assert result.hit_tokens == (0, 6, 2)
    assert result.token_hit_rate == 8 / 16
    assert result.block_hit_rate == 3 / 5
    assert result.request_hit_rate == 2 / 3
    empty = replay_blocks(BlockLog.intern([], []), "flat_lru", 9)
    assert (empty.token_hit_rate, empty.block_hit_rate, empty.request_hit_rate) == (None,) * 3


@pytest.mark.parametrize(
    ("name", "capacity", "parameters", "message"),
    [
        ("s3fifo", 4, {}, "leaves a queue without a block"),
        ("s3fifo", 40, {"small_ratio": 1.0}, "strictly between 0 and 1"),
        ("s3fifo", 40, {"max_freq": 0}, "max_freq must be from 1 to 255"),
        ("s3fifo", 40, {"ghost_hit_freq": 4}, "ghost_hit_freq must be from 0 to 3"),
        ("s3fifo_paper", 40, {"max_freq": 1}, "max_freq must be from 2 to 255"),
        ("vllm_lru", 2, {}, "capacity 2 is below the longest request, 3 blocks"),
        ("vllm_lru", 9, {"partial_blocks": "cut"}, "keep or drop, not 'cut'"),
        ("flat_lru", 0, {}, "at least 1 block, not 0"),
        ("flat_fifo", -1, {}, "at least 1 block, not -1"),
        ("flat_belady", 0, {}, "at least 1 block, not 0"),
    ],
)
def test_bad_parameters_are_named(
    name: str, capacity: int, parameters: dict[str, object], message: str
) -> None:
    trace = BlockLog.intern([[1, 2, 3]], [1536])
    with pytest.raises(InputError, match=message):
        replay_blocks(trace, name, capacity, **parameters)


def test_a_parameter_of_another_policy_is_refused() -> None:
    trace = BlockLog.intern([[1]], [512])
    with pytest.raises(TypeError, match="flat_lru has no parameter small_ratio"):
        replay_blocks(trace, "flat_lru", 4, small_ratio=0.1)


def test_vllm_refuses_ids_that_do_not_fix_their_prefix() -> None:
    loose = BlockLog.intern([[1, 2], [2, 1]], [1024, 1024])
    assert not loose.fixes_prefix
    with pytest.raises(InputError, match="intern the log by path"):
        replay_blocks(loose, "vllm_lru", 4)
    assert BlockLog.intern([[1, 2], [2, 1]], [1024, 1024], by_path=True).fixes_prefix


@given(st.lists(st.lists(st.sampled_from("abc"), max_size=5), max_size=9), st.booleans())
@settings(max_examples=200, deadline=None)
def test_a_block_by_path_is_its_predecessor_and_its_id(paths: list[list[str]], whole: bool) -> None:
    if whole:  # ids that fix their prefix
        paths = [["".join(p[: i + 1]) for i in range(len(p))] for p in paths]
    number: dict[tuple[int, str], int] = {}
    dense: list[list[int]] = []
    for path in paths:
        above = -1
        dense.append([])
        for block in path:
            above = number.setdefault((above, block), len(number))
            dense[-1].append(above)
    made = BlockLog.intern(paths, [9] * len(paths), by_path=True)
    assert [list(path) for path in made.blocks] == dense
    assert made.distinct == len(number)
    assert made.fixes_prefix


def test_small_queue_is_rounded_to_even() -> None:
    assert queue_sizes(4096, 0.1) == (410, 3686)
    assert queue_sizes(25, 0.1) == (2, 23)
    assert queue_sizes(35, 0.1) == (4, 31)


@given(st.lists(st.lists(st.sampled_from("abc"), max_size=5), max_size=9))
@settings(max_examples=200, deadline=None)
def test_a_block_is_its_id_where_no_path_is_asked_for(paths: list[list[str]]) -> None:
    number: dict[str, int] = {}
    dense = [[number.setdefault(block, len(number)) for block in path] for path in paths]
    above: dict[str, set[str]] = {}
    for path in paths:
        for before, block in zip(["", *path], path, strict=False):
            above.setdefault(block, set()).add(before)
    made = BlockLog.intern(paths, [9] * len(paths))
    assert [list(path) for path in made.blocks] == dense
    assert made.distinct == len(number)
    assert made.fixes_prefix == all(len(before) == 1 for before in above.values())


@pytest.mark.parametrize(
    ("lengths", "size", "message"),
    [
        ([], 4, "1 requests but 0 lengths"),
        ([-1], 4, "negative"),
        ([1], 0, "block_size"),
    ],
)
def test_a_log_is_checked(lengths: list[int], size: int, message: str) -> None:
    with pytest.raises(InputError, match=message):
        BlockLog.intern([[0]], lengths, block_size=size)


class _Forgets(VllmLru):
    """Claims one block more than it found."""

    def serve(self, blocks: Sequence[int], tokens: int) -> int:
        return super().serve(blocks, tokens) + 1


class _Hoards(S3Fifo):
    """Reports more blocks than fit."""

    def resident(self) -> int:
        return super().resident() + 100


class _Leaks(S3Fifo):
    """Drops a block of a queue behind its own back."""

    def resident(self) -> int:
        held = super().resident()
        if held > 1:
            self.small.pop()
        return held


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (_Forgets, "never seen before|blocks of 2 hit"),
        (_Hoards, "resident of 20"),
        (_Leaks, "a queue and the marks"),
    ],
)
def test_the_loop_notices_a_broken_policy(
    broken: Callable[[BlockLog, int], BlockPolicy], message: str
) -> None:
    trace = BlockLog.intern([[1, 2], [1, 3], [4, 5]], [1024] * 3)
    with pytest.raises(InvariantError, match=message):
        run(trace, broken(trace, 20), "broken", 20)
