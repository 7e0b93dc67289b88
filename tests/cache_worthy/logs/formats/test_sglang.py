"""SGLang: events and lines, cuts in the middle, batches, adapters (rank 4)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cache_worthy.logs.options import ReadOptions
from cache_worthy.logs.session import read_log

Run = Callable[..., tuple[int, str, str]]
Write = Callable[..., Path]
SMALL = ReadOptions(block_size=16, chars_per_token=4)

SGLANG_CUT = [
    {"rid": f"r{n}", "text": "a" * 1024 + "..." + str(n) * 1024, "input_ids": None}
    for n in range(3)
]


def test_sglang_cuts_in_the_middle(write: Write, run: Run) -> None:
    """Only the whole blocks before the cut count; too few of them end the run with advice."""
    records = [{"event": "request.received", "timestamp": f"2026-03-01T09:00:0{n}", "obj": o}
               for n, o in enumerate(SGLANG_CUT)]  # fmt: skip
    log = read_log(write(*records), SMALL)
    assert [len(r.hash_ids) for r in log.requests] == [16] * 3
    assert len({r.hash_ids for r in log.requests}) == 1
    assert log.records.cut == 3
    code, _, err = run("analyze", write(*records), "--block-size", 512)
    assert code == 2
    assert "--log-requests-level 3" in err
    assert "3 of 3 records are unusable" in err


def test_sglang_cut_lists_and_text_lines(write: Write) -> None:
    ids = [*range(1024), "...", *range(1024)]
    event = {"event": "request.received", "obj": {"rid": "x", "text": None, "input_ids": ids}}
    log = read_log(write(event), SMALL)
    assert len(log.requests[0].hash_ids) == 64
    line = (
        "[2026-03-01 09:00:00] Receive: obj=GenerateReqInput(rid='y', text=None, input_ids="
        f"{list(range(1024))} ... {list(range(1024))}, stream=False)"
    )
    text = (
        f"[2026-03-01 09:00:01] Receive: obj=GenerateReqInput(rid='z', text={'a' * 1024!r} ... 'b')"
    )
    read = read_log(write("other line", line, text), SMALL)
    assert [len(r.hash_ids) for r in read.requests] == [64, 16]
    assert read.requests[0].hash_ids == log.requests[0].hash_ids
    assert read.records.cut == 2
    assert read.records.other_lines == 1


def test_sglang_batches_finishes_and_health_checks(write: Write) -> None:
    def event(name: str, second: int, **obj: object) -> dict[str, object]:
        return {
            "event": f"request.{name}",
            "timestamp": f"2026-03-01T09:00:{second:02}",
            "obj": obj,
        }

    log = read_log(
        write(
            event("received", 1, rid=["a", "b"], text=["one", "two"]),
            event("finished", 3, rid=["a", "b"], text=["one", "two"]),
            event("finished", 4, rid="late", text="only its end was logged"),
            event("received", 5, rid="HEALTH_CHECK_1", input_ids=[0]),
        )
    )
    assert len(log.requests) == 3
    assert log.records.other_lines == 2
    assert log.records.skipped == {"health check": 1}


def test_sglang_without_prompts_is_refused_with_the_flag(write: Write, run: Run) -> None:
    file = write({"event": "request.received", "rid": "a", "obj": {"rid": "a", "stream": True}})
    code, _, err = run("analyze", file)
    assert code == 2
    assert "--log-requests --log-requests-level 3" in err


PROMPT = "the same long prompt " * 20


@pytest.mark.parametrize("field", ["lora_path", "extra_key"])
def test_adapters_of_an_sglang_log(write: Write, field: str) -> None:
    """In JSON and in text, where a stop string may look like one."""
    names = [None, "fr", "fr", "de"]
    events = [
        {"event": "request.received", "obj": {"rid": f"r{n}", "text": PROMPT, field: name}}
        for n, name in enumerate(names)
    ]
    stop = f"\"{field}='x'\""
    lines = [
        f"[2026-03-01 09:00:0{n}] Receive: obj=GenerateReqInput(rid='r{n}', text={PROMPT!r}, "
        f"input_ids=None, sampling_params={{'stop': [{stop}]}}, {field}={name!r})"
        for n, name in enumerate(names)
    ]
    paths = []
    for log in (read_log(write(*events)), read_log(write(*lines))):
        plain, one, two, other = (r.hash_ids for r in log.requests)
        assert one == two
        assert len({plain, one, other}) == 3
        assert log.salts == {"#1": 2, "#2": 1}
        paths.append((plain, one, other))
    assert paths[0] == paths[1]
