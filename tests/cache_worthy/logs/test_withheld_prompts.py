"""Logs that look whole and are not, or the other way round: prompts withheld, continued, wrapped.

Rank 4: what must come out is worked out by hand for each small log.
"""

from __future__ import annotations

import gzip
import json
import random
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from cache_worthy.logs.options import ReadOptions
from cache_worthy.logs.session import read_log
from cache_worthy.sim.errors import TraceError

Run = Callable[..., tuple[int, str, str]]
Write = Callable[..., Path]
SMALL = ReadOptions(block_size=16)
TALK = [
    {"role": "system", "content": "Answer in one word, and be sure of it. " * 4},
    {"role": "user", "content": "Name a river."},
]
REDACTED = [{"role": "user", "content": "redacted-by-litellm"}]


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({"model": "m", "messages": []}, "the prompt is empty"),
        ({"model": "m", "messages": [{"role": "user", "content": ""}]}, "the prompt is empty"),
        ({"prompt": ""}, "the prompt is empty"),
        ({"model": "m", "messages": REDACTED}, "redacted before it was logged"),
        (
            {"request_id": "a", "spend": 1, "proxy_server_request": {
                "messages": REDACTED, "prompt": "", "input": ""}},
            "redacted before it was logged",
        ),
        ({"type": "GENERATION", "input": "redacted-by-litellm"}, "redacted before it was logged"),
        ({"model": "m", "input": "Go on.", "previous_response_id": "r1"}, "stored response"),
        ({"model": "m", "input": TALK, "conversation": {"id": "c1"}}, "stored response"),
    ],
)  # fmt: skip
def test_a_prompt_withheld_is_no_prompt(
    write: Write, record: dict[str, object], reason: str
) -> None:
    """Equal placeholders would be advised as near-perfect sharing, and nothing as no sharing."""
    with pytest.raises(TraceError, match=reason):
        read_log(write(*[record] * 3))


def test_little_text_is_text(write: Write) -> None:
    for record in (
        {"model": "m", "messages": [{"role": "user", "content": ""}], "tools": [{"name": "f"}]},
        {"model": "m", "messages": [*TALK, {"role": "assistant", "content": ""}]},
        {"model": "m", "messages": [*REDACTED, TALK[1]]},
        {"model": "m", "input": "Go on.", "previous_response_id": None},
    ):
        assert read_log(write(record)).records.unusable == 0


def test_messages_as_json_in_a_string_are_messages(write: Write, tmp_path: Path) -> None:
    """A CSV cell can hold nothing else."""
    want = read_log(write({"messages": TALK}), SMALL).requests
    text = json.dumps(TALK)
    table = tmp_path / "log.csv"
    table.write_text('request_id,messages\n1,"' + text.replace('"', '""') + '"\n')
    named = tmp_path / "named.csv"
    named.write_text('model,messages\nm,"' + text.replace('"', '""') + '"\n')
    for log in (write({"messages": text}), write({"model": "m", "messages": text}), table, named):
        assert read_log(log, SMALL).requests == want


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_utf_16_is_refused_by_name(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "log"
    file.write_bytes("\ufeff".join(["", json.dumps({"prompt": "x"})]).encode(encoding))
    with pytest.raises(TraceError, match="UTF-16 text: write it as UTF-8 first"):
        read_log(file)


def test_a_dict_that_python_printed_is_another_line(tmp_path: Path) -> None:
    event = {"event": "request.received", "rid": "a", "obj": {"rid": "a", "text": "x" * 99}}
    file = tmp_path / "log"
    file.write_text(f"{json.dumps(event)}\n{{'started': True}}\n" + "{'a': 1}\n" * 9)
    records = read_log(file, SMALL).records
    assert (records.unusable, records.other_lines) == (0, 10)
    file.write_text(f"{json.dumps(event)}\n" + '{"event": "requ\n{"x": 1}\n' * 2)
    with pytest.raises(TraceError, match="2 of 3 records are unusable"):
        read_log(file, SMALL)


@pytest.mark.parametrize("array", [False, True])
def test_every_whole_record_before_a_cut_is_read(tmp_path: Path, array: bool) -> None:
    """Down to the last byte that can be unpacked, in a file shorter than the first read too."""
    noise = random.Random(5)
    lines = [json.dumps({"prompt": noise.randbytes(500).hex()}) for _ in range(60)]
    text = "[" + ",\n".join(lines) + "]" if array else "\n".join(lines)
    packed = gzip.compress(text.encode())[:-2000]
    whole = zlib.decompressobj(31).decompress(packed).count(b"}")
    assert 50 < whole < 60
    file = tmp_path / "log.gz"
    file.write_bytes(packed)
    assert len(read_log(file, SMALL).requests) == whole


@pytest.mark.parametrize("unit", [1, 1000, 10**6])
def test_anonymised_times_are_whole_minutes_in_every_unit(
    write: Write, run: Run, unit: int
) -> None:
    """Nanoseconds rounded to 60,000 would still be exact arrival times."""
    start = 1_770_000_000_123 * unit
    seconds = (0, 59, 61, 200)
    log = write(*[{"prompt": "x" * 99, "timestamp": start + s * 1000 * unit} for s in seconds])
    _, out, _ = run("convert", log, "--anonymise")
    assert [json.loads(line)["timestamp"] for line in out.splitlines()] == [0, 0, 60_000, 180_000]


def test_one_bad_row_does_not_hide_the_rows_behind_it(tmp_path: Path) -> None:
    """Neither a quote too many in CSV nor a NaN in an array; one unusable record of a hundred."""
    rows = [f'{i},"say ""{i * i}"" {"x" * 99}"' for i in range(100)]
    table, array = tmp_path / "log.csv", tmp_path / "log.json"
    for bad in ('50,"say "no" x"', '50,"say ""no'):
        rows[50] = bad
        table.write_text("request_id,prompt\n" + "\n".join(rows) + "\n")
        log = read_log(table, SMALL)
        assert log.records.unusable + len(log.requests) in (99, 100)
        assert log.records.unusable in (1, 2)
        assert log.skipped_truncated == 0
    values = [json.dumps({"prompt": f"say {i}", "seconds": 0.5}) for i in range(100)]
    values[50] = values[50].replace("0.5", "NaN")
    array.write_text("[" + ", ".join(values) + "]")
    log = read_log(array, SMALL)
    assert (len(log.requests), log.records.unusable) == (99, 1)
    assert "NaN is not a JSON number" in log.records.first_unusable


def test_what_ends_the_reading_needs_allow_partial(tmp_path: Path) -> None:
    """Behind it may stand most of the log, so 1 in 100 is no measure of what is missing."""
    values = [json.dumps({"prompt": f"say {i}"}) for i in range(400)]
    values[100] = '{"prompt": say}'
    file = tmp_path / "log.json"
    file.write_text("[" + ", ".join(values) + "]")
    with pytest.raises(
        TraceError, match=r"record 101: .*the rest cannot be read\n.*--allow-partial"
    ):
        read_log(file, SMALL)
    log = read_log(file, ReadOptions(block_size=16, allow_partial=True))
    assert (len(log.requests), log.records.unusable) == (100, 1)
