"""The paged pool: every guard raises, and the queue is the one the rules describe."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_paged_pool import EventError, PlainPagedPool

from cache_worthy.sim.cost import Model
from cache_worthy.sim.errors import InvariantError
from cache_worthy.sim.serving.pool import BlockPool, block_keys, chain_key

SMALL = Model("small", layers=1, d_model=4, heads=1, kv_heads=1, head_dim=2, d_ff=4, vocabulary=8)


def pool_of(blocks: int) -> BlockPool:
    return BlockPool(SMALL, blocks, 4, record=True)


def write(pool: BlockPool, block: int) -> None:
    at = np.array([block])
    row = np.ones((1, 1, 2), np.float32)
    pool.write(0, at, np.array([0]), row, row)


def published(pool: BlockPool, key: bytes) -> int:
    block = pool.take()
    pool.publish(block, key)
    return block


def test_keys_name_the_whole_prefix() -> None:
    a, b = [1, 2, 3, 4, 5, 6, 7, 8], [9, 2, 3, 4, 5, 6, 7, 8]
    assert len(block_keys(a, 4)) == len(block_keys([*a, 1], 4)) == 2
    assert block_keys(a, 4)[0] == block_keys([*a[:4], 0], 4)[0]
    assert not set(block_keys(a, 4)) & set(block_keys(b, 4)), "the second blocks are alike"
    assert block_keys(a, 4)[1] == chain_key(block_keys(a, 4)[0], a[4:])


def test_least_recently_given_back_is_reused_and_blocks_without_a_prefix_first() -> None:
    pool = pool_of(4)
    a, b, scratch = published(pool, b"a"), published(pool, b"b"), pool.take()
    for block in (b, a, scratch):
        pool.release(block)
    assert pool.state().free == (scratch, 3, b, a)
    assert [pool.take() for _ in range(3)] == [scratch, 3, b]
    assert (pool.find(b"a"), pool.find(b"b"), pool.evictions) == (a, None, 1)


def test_a_referenced_block_is_never_reused() -> None:
    pool = pool_of(2)
    a = published(pool, b"a")
    pool.release(a)
    pool.share(a)  # the pin
    assert pool.take() != a
    with pytest.raises(InvariantError, match="no free block"):
        pool.take()


def test_a_shared_or_published_block_is_never_written() -> None:
    pool = pool_of(3)
    own = pool.take()
    write(pool, own)
    assert pool.keys[0, own, 0].tolist() == [[1.0, 1.0]]
    pool.publish(own, b"a")
    with pytest.raises(InvariantError, match="write to block 0"):
        write(pool, own)
    pool.share(own)
    with pytest.raises(InvariantError, match="write to block 0"):
        write(pool, own)
    with pytest.raises(InvariantError, match="write to block 2"):
        write(pool, 2)  # free


def release_twice(pool: BlockPool) -> None:
    block = pool.take()
    pool.release(block)
    pool.release(block)


def share_without_prefix(pool: BlockPool) -> None:
    pool.share(pool.take())


def publish_twice(pool: BlockPool) -> None:
    pool.publish(published(pool, b"a"), b"b")


def publish_an_indexed_prefix(pool: BlockPool) -> None:
    published(pool, b"a")
    published(pool, b"a")


def publish_while_shared(pool: BlockPool) -> None:
    block = published(pool, b"a")
    pool.share(block)
    pool.publish(block, b"b")


def publish_a_free_block(pool: BlockPool) -> None:
    pool.publish(0, b"a")


def free_while_referenced(pool: BlockPool) -> None:
    block = pool.take()
    pool._free[block] = None  # as a lost update would
    pool._free.move_to_end(block, last=False)
    pool.take()


@pytest.mark.parametrize(
    "misuse",
    [
        release_twice,
        share_without_prefix,
        publish_twice,
        publish_an_indexed_prefix,
        publish_while_shared,
        publish_a_free_block,
        free_while_referenced,
    ],
)
def test_misuse_raises(misuse: Callable[[BlockPool], None]) -> None:
    with pytest.raises(InvariantError):
        misuse(pool_of(4))


def test_the_recount_bites() -> None:
    pool = pool_of(2)
    published(pool, b"a")
    pool.check()
    pool._index.clear()
    with pytest.raises(InvariantError, match="index"):
        pool.check()
    pool = pool_of(2)
    pool.references[0] = 1
    with pytest.raises(InvariantError, match="free queue"):
        pool.check()


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9)), max_size=60))
@settings(max_examples=150, deadline=None)
def test_random_use_replays_to_the_same_state(steps: list[tuple[int, int]]) -> None:
    pool, held, fresh = pool_of(5), [], 0
    for what, pick in steps:
        if what == 0 and pool.free:
            held.append(pool.take())
        elif what == 1 and held:
            block = held[pick % len(held)]
            if pool.references[block] == 1 and pool.state().keys[block] is None:
                pool.publish(block, bytes([fresh := fresh + 1]))
        elif what == 2 and held:
            pool.release(held.pop(pick % len(held)))
        elif what == 3:
            indexed = [b for b, key in enumerate(pool.state().keys) if key is not None]
            if indexed:
                held.append(indexed[pick % len(indexed)])
                pool.share(held[-1])
    pool.check()
    plain = PlainPagedPool(5)
    plain.replay(pool.events or [])
    state = pool.state()
    assert (plain.users, plain.holds, plain.queue) == tuple(
        map(list, (state.references, state.keys, state.free))
    )


@pytest.mark.parametrize(
    "events",
    [
        [("take", 1, None)],  # not the head
        [("take", 0, b"a")],  # it held nothing
        [("share", 0, None)],
        [("publish", 0, b"a")],  # nobody's
        [("release", 0, None)],
        [("take", 0, None), ("publish", 0, b"a"), ("take", 1, None), ("publish", 1, b"a")],
    ],
)
def test_the_replay_refuses_impossible_events(
    events: list[tuple[str, int, bytes | None]],
) -> None:
    with pytest.raises(EventError):
        PlainPagedPool(3).replay(events)
