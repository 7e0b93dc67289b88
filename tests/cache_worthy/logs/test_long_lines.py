"""No line, row or element is held beyond a bound, whatever container it stands in (rank 2)."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import json
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import zstandard

from cache_worthy.logs import rows as reader
from cache_worthy.logs import source
from cache_worthy.logs.options import ReadOptions
from cache_worthy.logs.records import read_records
from cache_worthy.logs.session import read_log
from cache_worthy.sim.errors import TraceError

Run = Callable[..., tuple[int, str, str]]
SMALL = 1 << 17
LONG = {"prompt": "x" * (SMALL + 9)}
SHORT = {"prompt": "y" * 300}
PARTIAL = ReadOptions(allow_partial=True)
PACK: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes, "gz": lambda data: gzip.compress(data, 1), "zst": zstandard.compress
}  # fmt: skip


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Records of 128 KiB at most."""
    monkeypatch.setattr(source, "LONGEST", SMALL)


@pytest.mark.parametrize("form", PACK)
@pytest.mark.parametrize("at", [0, 30, 60])
def test_one_long_line_among_others_is_one_unusable_record(
    tmp_path: Path, form: str, at: int
) -> None:
    rows = [json.dumps(SHORT)] * 60
    file = tmp_path / "log"
    file.write_bytes(PACK[form]("\n".join([*rows[:at], json.dumps(LONG), *rows[at:]]).encode()))
    log = read_log(file)
    assert (len(log.requests), log.records.unusable, log.skipped_truncated) == (60, 1, 0)
    assert f"line {at + 1}: longer than 0.125 MiB" in log.records.first_unusable


def test_lines_behind_a_long_one_keep_their_numbers(tmp_path: Path) -> None:
    file = tmp_path / "log"
    file.write_text("\n".join([json.dumps(SHORT), json.dumps(LONG), "{]", json.dumps(SHORT)]))
    places = [place for place, _ in read_records(source.Source(file, hashlib.sha256()))]
    assert places == ["line 1", "line 2", "line 3", "line 4"]


@pytest.mark.parametrize("form", PACK)
@pytest.mark.parametrize("text", ["", "{", "["])
def test_a_file_of_one_giant_line_is_refused(
    run: Run, tmp_path: Path, form: str, text: str
) -> None:
    file = tmp_path / "log"
    file.write_bytes(PACK[form](text.encode() + b'"' + b"x" * (4 * SMALL)))
    code, out, err = run("analyze", file)
    assert (code, out) == (2, "")
    assert f"{file}: line 1: longer than 0.125 MiB, which no request is; expected" in err
    assert err.count("\n") == 2


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n", b"\n\n"])
@pytest.mark.parametrize("over", [-2, -1, 0, 1])
def test_a_line_exactly_as_long_as_it_may_be(tmp_path: Path, end: bytes, over: int) -> None:
    """The line end does not count."""
    row = json.dumps({"prompt": "x" * (SMALL + over - len(json.dumps({"prompt": ""})))}).encode()
    assert len(row) == SMALL + over
    file = tmp_path / "log"
    file.write_bytes(row + end + json.dumps(SHORT).encode() * (end != b""))
    log = read_log(file, PARTIAL) if end or over <= 0 else None
    if log is None:
        with pytest.raises(TraceError, match="longer than"):
            read_log(file)
    else:
        assert len(log.requests) == 1 + (end != b"") - (over > 0)
        assert log.records.unusable == (over > 0)


class Endless(io.RawIOBase):
    """Standard input that repeats its first bytes for ever; it says how much was asked of it."""

    def __init__(self, first: bytes, again: bytes) -> None:
        self.next, self.again, self.read_bytes = first, again, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data, self.next = self.next[: len(buffer)], self.again
        buffer[: len(data)] = data
        self.read_bytes += len(data)
        return len(data)


@pytest.mark.parametrize("first", [b"", b'{"prompt": "a"}\n', b'{"prompt": "', b"prompt,model\n"])
def test_what_does_not_end_is_refused(
    run: Run, monkeypatch: pytest.MonkeyPatch, first: bytes
) -> None:
    monkeypatch.setattr(source, "ENDLESS", 1 << 22)
    stdin = Endless(first + b"x", b"x" * 4096)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=stdin))
    code, out, err = run("analyze", "-")
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert "<stdin>: line " in err
    assert "longer than 0.125 MiB" in err
    assert stdin.read_bytes < 1 << 23


def test_an_array_is_read_up_to_a_long_element(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "log.json"
    file.write_text(json.dumps([SHORT] * 40 + [{"prompt": "x" * (2 * SMALL)}] + [SHORT]))
    code, _, err = run("analyze", file)
    assert code == 2
    assert "record 41: longer than 0.125 MiB" in err
    assert "the rest cannot be read" in err
    log = read_log(file, PARTIAL)
    assert (len(log.requests), log.records.unusable) == (40, 1)


def test_a_document_over_several_lines(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "log.json"
    file.write_text(json.dumps({"spans": ["x" * 99] * 4000}, indent=1))
    code, _, err = run("analyze", file)
    assert code == 2
    assert "record 1: longer than 0.125 MiB" in err


@pytest.mark.parametrize(
    "row",
    [
        'r,"' + "x" * (SMALL + 9) + '"',  # one line
        'r,"' + "\n".join(["x" * 1000] * 200),  # a quote that nothing closes, in lines
        'r,"y',  # a quote that closes in a later row, or nowhere
        'r,"y" z',
    ],
)
def test_rows_behind_a_bad_one_are_read(tmp_path: Path, row: str) -> None:
    """With quotes in them and without, whether or not the bad one reaches to the end."""
    for good in ('a,{},"p ""quoted"" q"\n', "a,{},p\n"):
        rows = [good.format(n) for n in range(900)]
        file = tmp_path / "log.csv"
        file.write_text(
            "request_id,n,prompt\n" + "".join(rows[:300]) + row + "\n" + "".join(rows[300:])
        )
        log = read_log(file, PARTIAL)
        assert len(log.requests) == 900
        assert log.records.unusable >= 1
        assert "line 302: " in log.records.first_unusable


@pytest.mark.parametrize("first", ["a,1", "a", 'a,"1'])
def test_a_row_of_too_many_lines_hides_none(tmp_path: Path, first: str) -> None:
    """Quotes that close, but not where the row does: the count of cells is wrong."""
    rows = "".join(f"a,{n},p\n" for n in range(300))
    file = tmp_path / "log.csv"
    file.write_text(f'request_id,n,prompt\n{rows}{first},x,"p\n{rows}a",3\n{rows}')
    log = read_log(file, PARTIAL)
    assert (len(log.requests), log.records.unusable) == (900, 2)
    assert "line 302: " in log.records.first_unusable


@pytest.mark.parametrize("good", ["", "a,b\n"])
def test_quotes_that_open_again_in_every_line_take_linear_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, good: str
) -> None:
    """Every such line makes one row of all that follows."""
    handed = 0
    right = reader._RowLines.__next__

    def counted(self: reader._RowLines) -> str:
        nonlocal handed
        handed += 1
        return right(self)

    monkeypatch.setattr(reader._RowLines, "__next__", counted)
    file = tmp_path / "log.csv"
    file.write_text("request_id,prompt\n" + ('x","\n' + good) * 2000 + "a,b\nc,d\n")
    log = read_log(file, PARTIAL)
    assert len(log.requests) == 2000 * bool(good) + 2
    assert log.records.unusable == 2000
    assert handed < 100_000


def test_plain_prompts(tmp_path: Path) -> None:
    file = tmp_path / "prompts.txt"
    file.write_text("one\n" + "x" * (SMALL + 1) + "\ntwo\n")
    log = read_log(file, ReadOptions(format="lines", allow_partial=True))
    assert (len(log.requests), log.records.unusable) == (2, 1)


def test_long_lines_of_a_server_log(tmp_path: Path) -> None:
    """A request is unusable, any other line is another line."""
    received = "INFO 03-04 10:00:00 [logger.py:39] Received request c{}: prompt: '{}', params: p, prompt_token_ids: None."
    lines = [received.format(n, "hello") for n in range(40)]
    lines[20:20] = [received.format(99, "x" * SMALL), "INFO other " + "x" * SMALL]
    file = tmp_path / "vllm.log"
    file.write_text("\n".join(lines) + "\n")
    log = read_log(file)
    assert (len(log.requests), log.records.unusable, log.records.other_lines) == (40, 1, 1)


def test_long_events_of_a_server_log(tmp_path: Path) -> None:
    event = {"event": "request.received", "obj": {"rid": "a", "input_ids": [1]}}
    long = {"event": "request.received", "obj": {"rid": "b", "input_ids": [7] * SMALL}}
    file = tmp_path / "sglang.jsonl"
    rows = [json.dumps({**event, "obj": {"rid": f"r{n}", "input_ids": [1]}}) for n in range(40)]
    for at in (0, 20, 40):
        file.write_text("\n".join([*rows[:at], json.dumps(long), *rows[at:]]))
        log = read_log(file)
        assert (len(log.requests), log.records.unusable) == (40, 1)


@pytest.mark.parametrize("form", ["gz", "zst"])
@pytest.mark.parametrize(
    ("begin", "fill"),
    [
        (b"", b"\0"),
        (b'[{"prompt": "', b"x"),
        (b'[{"prompt": "x"}]', b" "),
        (b'prompt,n\n"', b"x" * 8191 + b"\n"),
    ],
)
def test_a_compressed_bomb_stays_bounded(
    tmp_path: Path, form: str, begin: bytes, fill: bytes
) -> None:
    """32 MiB out of a few KiB, within 8 MiB (buffers are 5 of them)."""
    file = tmp_path / "log"
    file.write_bytes(PACK[form](begin + fill * (2**25 // len(fill))))
    assert file.stat().st_size < 200_000
    tracemalloc.start()
    try:
        with contextlib.suppress(TraceError):
            read_log(file)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 << 20
