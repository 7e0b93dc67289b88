"""The order of requests, and what is said of it (rank 4)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from cache_worthy.logs.options import ReadOptions
from cache_worthy.logs.session import read_log

Run = Callable[..., tuple[int, str, str]]
Write = Callable[..., Path]


def test_reverse_order_is_noticed_and_turned(write: Write) -> None:
    records = [{"timestamp": t, "hash_ids": [t]} for t in range(50)]
    log = read_log(write(*reversed(records)))
    assert [r.timestamp for r in log.requests] == list(range(50))
    assert "reverse order" in log.order
    kept = read_log(write(*reversed(records)), ReadOptions(order="file"))
    assert [r.timestamp for r in kept.requests] == list(range(49, -1, -1))
    assert "its times run backwards" in kept.order


def test_tied_times_keep_file_order(write: Write) -> None:
    log = read_log(write(*[{"timestamp": t, "hash_ids": [i]} for i, t in enumerate([3, 1, 3, 1])]))
    assert [r.hash_ids for r in log.requests] == [(1,), (3,), (0,), (2,)]
    assert log.moved == 4


def test_order_by_time_needs_times(write: Write, run: Run) -> None:
    file = write(
        {"timestamp": 2, "hash_ids": [1]}, {"hash_ids": [2]}, {"timestamp": 1, "hash_ids": [3]}
    )
    assert [r.hash_ids for r in read_log(file).requests] == [(1,), (2,), (3,)]
    assert read_log(file).order == "file order (1 without arrival time)"
    code, _, err = run("analyze", file, "--order", "time")
    assert code == 2
    assert "1 of 3 requests have no arrival time" in err


def test_times_that_step_back_are_not_converted(write: Write, run: Run) -> None:
    """A reader would sort by them and lose the order asked for."""
    file = write(*[{"timestamp": t, "hash_ids": [i]} for i, t in enumerate([5000, 1000, 9000])])
    _, out, err = run("convert", file, "--order", "file")
    rows = [json.loads(row) for row in out.splitlines()]
    assert [r["hash_ids"] for r in rows] == [[0], [1], [2]]
    assert not any("timestamp" in r for r in rows)
    assert "times left out" in err
    assert "times left out" not in run("convert", file)[2]


@pytest.mark.traces
def test_tied_times_of_the_conversation_trace(traces: Path) -> None:
    """12,031 requests at 1,180 times: the file's order stands among equal times."""
    file = traces / "conversation_trace.jsonl"
    log = read_log(file)
    assert len({r.timestamp for r in log.requests}) == 1180
    assert log.moved == 0
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert [list(r.hash_ids) for r in log.requests] == [row["hash_ids"] for row in rows]
