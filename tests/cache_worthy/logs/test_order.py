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


def sessions(*starts: list[int]) -> list[dict[str, object]]:
    """Objects of the format weka: a request at each time, with a block of its own."""
    return [
        {"id": "same", "block_size": 16, "hash_id_scope": "global", "requests": [
            {"t": t, "in": 16, "hash_ids": [100 * n + t]} for t in times
        ]}
        for n, times in enumerate(starts)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("at_once", "order"),
    [
        (None, [0, 100, 200, 4, 104, 10, 201]),
        (1, [0, 4, 10, 100, 104, 200, 201]),
        (2, [0, 100, 4, 104, 200, 201, 10]),
        (3, [0, 100, 200, 201, 4, 104, 10]),
    ],
)
def test_sessions_at_once_by_hand(write: Write, at_once: int | None, order: list[int]) -> None:
    """Times 0 4 10, 0 4 and 0 1 (201 is at 1): of two at once the third starts at 4."""
    file = write(*sessions([0, 4, 10], [0, 4], [0, 1]))
    log = read_log(file, ReadOptions(concurrency=at_once))
    found = [r.hash_ids[0] for r in log.requests]
    if at_once is None:
        assert "each session has its own clock, and all are taken to start together" in log.order
        assert sorted(found) == sorted(order)
    else:
        assert found == order
        assert log.order.startswith(f"{at_once} session")
        assert log.order.endswith("the next starts when one ends; pauses kept")


def test_conversations_without_times_take_turns(write: Write) -> None:
    talk = [{"from": f, "value": v} for f, v in [("human", "a"), ("gpt", "b")] * 2]
    file = write({"conversations": talk}, {"conversations": [*talk, *talk]})
    lengths = {n: [r.input_length for r in read_log(file, concurrency=n).requests] for n in (1, 2)}
    assert lengths[1] == [r.input_length for r in read_log(file).requests]
    one, two = lengths[1][:2], lengths[1][2:]
    assert lengths[2] == [one[0], two[0], one[1], two[1], *two[2:]]
    assert "no times, so a turn of each in turn" in read_log(file, concurrency=2).order


def test_session_ids_of_records_count(write: Write) -> None:
    rows = [{"session_id": s, "timestamp": t, "hash_ids": [n]}
            for n, (s, t) in enumerate([("a", 0), ("a", 9), ("b", 0), ("b", 5)])]  # fmt: skip
    log = read_log(write(*rows), concurrency=2)
    assert [r.hash_ids for r in log.requests] == [(0,), (2,), (3,), (1,)]
    assert log.moved == 3


def test_concurrency_needs_sessions(run: Run, write: Write) -> None:
    file = write({"timestamp": 1, "hash_ids": [1]}, {"session_id": "a", "hash_ids": [2]})
    for argv, words in (
        ((), "1 of 2 requests name no session; leave the option out"),
        (("--order", "file"), "orders the requests itself; leave --order file out"),
    ):
        code, out, err = run("convert", file, "--concurrency", 2, *argv)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert words in err
    assert run("convert", file, "--concurrency", 0)[0] == 2
