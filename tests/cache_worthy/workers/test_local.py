"""Tasks in this process and in threads: the same results, the same errors, nothing left behind."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Generator
from typing import cast

import pytest

from cache_worthy.errors import UsageError
from cache_worthy.workers import SERIAL, Threads, local


def late_if_even(seen: list[int], item: int) -> int:
    """The first items finish last; 2 and 3 raise, 3 earlier than 2."""
    seen.append(item)
    time.sleep(0.05 * (item % 2 == 0))
    if item in (2, 3):
        raise UsageError(f"item {item}")
    return item


def test_threads_do_what_one_process_does() -> None:
    """Results and words in item order; what the first item raises that does; nothing after that."""
    found: list[object] = []
    for workers in (SERIAL, Threads(2)):
        told: list[str] = []
        items = [0, 1, 4, 5]
        done = workers.map_tasks(late_if_even, [], items, step=told.append, label=str)
        seen: list[int] = []
        with pytest.raises(UsageError) as error:
            workers.map_tasks(late_if_even, seen, range(100))
        assert len(seen) < 20
        found.append((done, told, str(error.value)))
    assert found == [([0, 1, 4, 5], ["0", "1", "4", "5"], "item 2")] * 2


def test_threads_end_with_who_asked() -> None:
    """A generator closed early, or an error: what runs ends, nothing more begins, no thread stays."""
    before = set(threading.enumerate())
    seen: list[int] = []
    running = cast(
        "Generator[tuple[int, int]]", Threads(2).completed(late_if_even, seen, [0] * 100)
    )
    assert next(running) == (0, 0)
    running.close()
    assert len(seen) < 20
    with pytest.raises(UsageError):
        Threads(2).map_tasks(late_if_even, [], range(100))
    assert set(threading.enumerate()) <= before


def test_threads_need_no_ctypes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which a Python built without libffi lacks; what it is there for is memory alone."""
    monkeypatch.setitem(sys.modules, "ctypes", None)
    assert Threads(2).map_tasks(late_if_even, [], [1, 0]) == [1, 0]
    assert "ctypes" not in vars(local)
