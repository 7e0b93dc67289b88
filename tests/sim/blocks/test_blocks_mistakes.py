"""The known mistakes in S3-FIFO replay: each one changes a result that the tests compare.

The reference document of the policy lists them. Every mistake is a one-step replacement in the
plain transcription (`plain_block_policies`), which without it agrees with the
engine; if the engine made the mistake, the comparison would fail on the data shown here.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from plain_block_policies import PlainS3Fifo
from request_logs import block_log

from cache_worthy.logs.session import read_log
from cache_worthy.sim.blocks import BlockLog, replay_blocks


class Correct(PlainS3Fifo):
    """No mistake."""


class LruInstead(PlainS3Fifo):
    """Least recently used under the name of S3-FIFO."""

    def access(self, block: int, *, within_prefix: bool) -> None:
        self.small.pop(block, None)
        if len(self.small) == self.capacity:
            self.small.popitem(last=False)
        self.small[block] = 0


class NoClamp(PlainS3Fifo):
    """k * block_size without the minimum."""

    def hit_tokens(self, k: int, tokens: int) -> int:
        return k * self.block_size


class GhostIsResident(PlainS3Fifo):
    """A remembered id counts as a hit."""

    def is_resident(self, block: int) -> bool:
        return super().is_resident(block) or block in self.ghost


class NoSaturation(PlainS3Fifo):
    """Counters without a bound."""

    def saturate(self, freq: int) -> int:
        return freq


class MainIsFifo(PlainS3Fifo):
    """No second chance in main."""

    def evict_main(self) -> None:
        victim, _ = self.main.popitem(last=False)
        self.insert_to_ghost(victim)


class RequeueAtHead(PlainS3Fifo):
    """A second chance puts the block back where it was."""

    def requeue(self, block: int, freq: int) -> None:
        self.main[block] = freq
        self.main.move_to_end(block, last=False)


class SetIntersection(PlainS3Fifo):
    """Every resident block of the request counts, wherever it stands."""

    def prefix(self, blocks: Sequence[int]) -> int:
        return sum(self.is_resident(b) for b in blocks)


class PrefixOnlyFreq(PlainS3Fifo):
    """Resident blocks behind the prefix are not counted."""

    def access(self, block: int, *, within_prefix: bool) -> None:
        if within_prefix or not self.is_resident(block):
            super().access(block, within_prefix=within_prefix)


class GhostInFinalSize(PlainS3Fifo):
    """The ghost counts as cached."""

    def final_size(self) -> int:
        return super().final_size() + len(self.ghost)


class ResetOnPromotion(PlainS3Fifo):
    """Promotion to main starts from zero."""

    def promoted_freq(self, freq: int) -> int:
        return 0


class Truncates(PlainS3Fifo):
    """int for round."""

    def small_size(self) -> int:
        return int(self.capacity * self.small_ratio)


class GhostAsSmall(PlainS3Fifo):
    """The ghost has the size of the small queue."""

    def ghost_size(self) -> int:
        return self.small_cap


class GhostHitCounts(PlainS3Fifo):
    """A ghost hit enters main with counter 1 (the variant that must be asked for)."""

    def __init__(self, capacity: int, block_size: int) -> None:
        super().__init__(capacity, block_size, ghost_hit_freq=1)


MISTAKES = (
    LruInstead,
    NoClamp,
    GhostIsResident,
    NoSaturation,
    MainIsFifo,
    RequeueAtHead,
    SetIntersection,
    PrefixOnlyFreq,
    GhostInFinalSize,
    ResetOnPromotion,
    Truncates,
    GhostAsSmall,
    GhostHitCounts,
)


def constructed() -> BlockLog:
    """Conversations over a few hot system prompts, one-off prompts between; seeded."""
    rng = random.Random(5)
    paths: list[list[int]] = []
    lengths: list[int] = []
    open_turns: list[list[int]] = []
    fresh = iter(range(1000, 10**6))
    for _ in range(900):
        kind = rng.random()
        if kind < 0.45 and open_turns:
            path = rng.choice(open_turns)
            path += [next(fresh) for _ in range(rng.randint(1, 3))]
        elif kind < 0.75:
            path = [10 * rng.randint(1, 4) + i for i in range(4)]
            path += [next(fresh) for _ in range(rng.randint(0, 3))]
            open_turns.append(path)
        else:
            path = [next(fresh) for _ in range(rng.randint(1, 8))]
        open_turns = open_turns[-12:]
        paths.append(list(path))
        lengths.append(16 * len(path) - rng.randint(0, 15))
    return BlockLog.intern(paths, lengths, block_size=16)


def outcome(plain: PlainS3Fifo, trace: BlockLog) -> tuple[int, tuple[int, ...]]:
    pairs = zip(trace.blocks, trace.lengths, strict=True)
    hits = tuple(plain.serve(path, n) for path, n in pairs)
    return plain.final_size(), hits


def by_engine(trace: BlockLog, capacity: int) -> tuple[int, tuple[int, ...]]:
    result = replay_blocks(trace, "s3fifo", capacity)
    return result.resident_size, tuple(result.hit_tokens)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_shows_on_constructed_data(mistake: type[PlainS3Fifo]) -> None:
    trace = constructed()
    right = by_engine(trace, 56)
    assert outcome(Correct(56, 16), trace) == right
    assert outcome(mistake(56, 16), trace) != right


@pytest.mark.traces
@pytest.mark.parametrize(
    ("name", "capacity", "invisible"),
    [
        ("synthetic", 3656, set()),
        ("synthetic", 1000, {Truncates}),  # a tenth of 1,000 is whole
        ("conversation", 4096, {NoSaturation, Truncates}),
    ],
)
def test_which_mistakes_show_on_the_published_traces(
    name: str, capacity: int, invisible: set[type[PlainS3Fifo]], traces: Path
) -> None:
    trace = block_log(read_log(traces / f"{name}_trace.jsonl").requests)
    right = by_engine(trace, capacity)
    assert outcome(Correct(capacity, 512), trace) == right
    same = {m for m in MISTAKES if outcome(m(capacity, 512), trace) == right}
    assert same == invisible
