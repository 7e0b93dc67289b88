"""The recorder's thread: what waits for it, and what does not."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from typing import cast

import pytest

import cache_worthy.capture.recorder as recorder_module
from cache_worthy.capture.logfile import LogFile
from cache_worthy.capture.recorder import Recorder
from cache_worthy.logs.blocks import Cutter
from cache_worthy.logs.options import ReadOptions


class _Stuck:
    """A log on a disk that stands still until it is let go."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.written: list[bytes] = []

    def write(self, record: bytes) -> None:
        self.go.wait(30)
        self.written.append(record)


def test_a_disk_that_stands_still_delays_one_answer_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first end of an answer waits a quarter of a second, the next ones not at all; no more wait
    for the disk than may, and all of those are written when it goes on."""
    monkeypatch.setattr(recorder_module, "WAITING", 50)
    log, said = _Stuck(), list[str]()
    recorder = Recorder(
        cast(LogFile, log),
        Cutter(ReadOptions(), intern=False),
        bytes(32),
        keep_text=False,
        longest=1 << 20,
        say=said.append,
    )

    async def one() -> float:
        entry = recorder.begin("")
        began = time.monotonic()
        recorder.take(entry, b'{"prompt": "a"}')
        recorder.body_done(entry)
        await recorder.finish(entry)
        return time.monotonic() - began

    async def many() -> list[float]:
        return [await one() for _ in range(100)]

    took = asyncio.run(many())
    assert 0.2 < took[0] < 2
    assert sum(took[1:]) < 1
    log.go.set()
    assert recorder.close(10)
    assert len(log.written) == recorder.counts.recorded > 20
    assert recorder.counts.recorded + recorder.counts.no_room == 100
    times = [json.loads(line)["timestamp"] for line in log.written]
    assert times == sorted(set(times))
    assert said == []
