"""The bookkeeping of a paged KV pool as plain lists, to replay what an engine logged.

Written from the rules alone: a free queue whose head is reused, prefix blocks given back to its
back, others to its front; reference counts; one block for each prefix. It decides by itself which
block an allocation must yield and what it forgets, and refuses an event that says otherwise. Every
operation walks the list, so it is for logs of a test.
"""

from __future__ import annotations

from collections.abc import Iterable


class EventError(ValueError):
    """An event that the rules do not allow at this point."""


class PlainPagedPool:
    """Replays ``(what, block, key)`` events.

    ``take`` carries the prefix the block held before (or None), ``publish`` the one it holds now;
    ``share`` and ``release`` carry None.

    Parameters
    ----------
    blocks : int
        Blocks of the pool, numbered from 0, all free in that order.

    Examples
    --------
    >>> pool = PlainPagedPool(2)
    >>> pool.replay([("take", 0, None), ("publish", 0, b"a"), ("release", 0, None)])
    >>> pool.queue, pool.holds
    ([1, 0], [b'a', None])
    >>> pool.replay([("take", 0, b"a")])
    Traceback (most recent call last):
    ...
    plain_paged_pool.EventError: take 0: the head of the queue is 1
    """

    def __init__(self, blocks: int) -> None:
        self.queue = list(range(blocks))
        self.users = [0] * blocks
        self.holds: list[bytes | None] = [None] * blocks

    def replay(self, events: Iterable[tuple[str, int, bytes | None]]) -> None:
        """Apply events in order.

        Raises
        ------
        EventError
            On the first one the rules do not allow.
        """
        for what, block, key in events:
            problem = getattr(self, f"_{what}")(block, key)
            if problem:
                raise EventError(f"{what} {block}: {problem}")

    def _take(self, block: int, forgotten: bytes | None) -> str | None:
        if not self.queue or self.queue[0] != block:
            return f"the head of the queue is {self.queue[0] if self.queue else 'missing'}"
        if self.holds[block] != forgotten:
            return "it forgets another prefix"
        self.queue.pop(0)
        self.holds[block] = None
        self.users[block] = 1
        return None

    def _share(self, block: int, _: bytes | None) -> str | None:
        if self.holds[block] is None:
            return "it holds no prefix"
        if block in self.queue:
            self.queue.remove(block)
        self.users[block] += 1
        return None

    def _publish(self, block: int, key: bytes | None) -> str | None:
        if key is None or key in self.holds:
            return "the prefix is missing or held already"
        if self.users[block] != 1 or self.holds[block] is not None:
            return "the block is shared, free or published already"
        self.holds[block] = key
        return None

    def _release(self, block: int, _: bytes | None) -> str | None:
        if self.users[block] == 0:
            return "nobody uses it"
        self.users[block] -= 1
        if self.users[block] == 0:
            self.queue.insert(0 if self.holds[block] is None else len(self.queue), block)
        return None
