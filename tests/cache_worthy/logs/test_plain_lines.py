"""The short way of plain native lines gives what the long way gives, with either JSON parser."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cache_worthy.errors import UsageError
from cache_worthy.logs.options import ReadOptions
from cache_worthy.logs.plain import plain_lines
from cache_worthy.logs.session import read_log
from cache_worthy.sim.errors import TraceError
from cache_worthy.sim.trace import Request

PLAIN = '{"timestamp": 1, "input_length": 1024, "output_length": 5, "hash_ids": [1, 2]}'

#: Lines that are plain, nearly plain, wrong, or cut.
LINES = [
    PLAIN,
    '{"input_length": 512, "hash_ids": [1]}',
    '{"input_length": 0, "hash_ids": []}',
    '  {"hash_ids":[1,2,3],"input_length":1500,"timestamp":7}  ',
    '{"hash_ids": [1, 2], "input_length": 900, "timestamp": 2.5, "priority": 3}',
    '{"hash_ids": [1, 2], "input_length": 900, "timestamp": "1970-01-01T00:00:01Z"}',
    '{"hash_ids": [18446744073709551615], "input_length": 512}',
    '{"hash_ids": [18446744073709551616], "input_length": 512}',
    '{"hash_ids": [-1, -2], "input_length": 600}',
    '{"hash_ids": ["a", "b"], "input_length": 600}',
    '{"hash_ids": [1, true], "input_length": 600}',
    '{"hash_ids": [1, 2.0], "input_length": 600}',
    '{"hash_ids": [1], "input_length": -1}',
    '{"hash_ids": [1], "input_length": 1.5}',
    '{"hash_ids": [1], "input_length": null, "output_length": null}',
    '{"hash_ids": [1], "input_length": 99999999999999999999999}',
    '{"hash_ids": [1], "input_length": 512, "output_length": -2}',
    '{"hash_ids": [1], "input_length": 512, "priority": 99999999999999999999}',
    '{"hash_ids": [1], "input_length": 512, "priority": null, "timestamp": null}',
    '{"hash_ids": [1], "input_length": 512, "timestamp": 99999999999999999999}',
    '{"hash_ids": [1], "input_length": 512, "timestamp": -9223372036854775809}',
    '{"hash_ids": [1], "input_length": 512, "block_size": 512}',
    '{"hash_ids": [1], "input_length": 512, "block_size": 16}',
    '{"hash_ids": [1], "input_length": 512, "model": "m"}',
    '{"hash_ids": [1], "input_length": 512, "cache_salt": "s"}',
    '{"hash_ids": [1], "input_length": 512, "chat_id": 3}',
    '{"hash_ids": [1], "input_length": 512, "note": NaN}',
    '{"hash_ids": [1], "input_length": 512, "note": 1e999}',
    '{"hash_ids": [1], "input_length": 512, "note": "\\ud800"}',
    '{"hash_ids": [1], "input_length": 512, "note": ' + "9" * 5000 + "}",
    '{"hash_ids": [1], "hash_ids": [2], "input_length": 512}',
    '{"hash_ids": [1], "input_length": 512, "tenant": "b"}',
    '{"hash_ids": [1], "input_length": 512, "status": 200}',
    '{"hash_ids": [1], "input_length": 512, "status": 500}',
    '{"hash_ids": [1], "input_length": 512, "status": "429"}',
    '{"hash_ids": [1], "input_length": 512, "note": ' + "[" * 600 + "]" * 600 + "}",
    '{"hash_ids": [1], "input_length": 512, "note": ' + "[" * 1010 + "]" * 1010 + "}",
    '{"hash_ids": 7, "input_length": 512}',
    '{"input_length": 512}',
    '{"prompt": "some text"}',
    "[" * 2000,
    "[1, 2]",
    "not JSON",
    "",
    "   ",
    '{"hash_ids": [1, 2',
    '{"hash_ids": [1], "input_length": 512}}',
    "\ufeff" + PLAIN,
    "\x0b" + PLAIN,
    PLAIN + "\xa0",
    "\xa0" + PLAIN,
]


def outcome(file: Path, options: ReadOptions) -> object:
    """All that a user sees of a log."""
    try:
        log = read_log(file, options)
    except (TraceError, UsageError) as error:
        return type(error).__name__, str(error)
    return [list(log.requests), *(getattr(log, f.name) for f in dataclasses.fields(log)[1:])]


def ways(file: Path, options: ReadOptions, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The outcome by the long way, by the short one, and by the short one without orjson."""
    short = outcome(file, options)
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "orjson", None)
        without = outcome(file, options)
    with monkeypatch.context() as patch:
        patch.setattr("cache_worthy.logs.session.plain_lines", lambda *of: lambda raw: False)
        long = outcome(file, options)
    return [long, short, without]


@settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    lines=st.lists(st.sampled_from(LINES), max_size=6),
    plain_before=st.integers(0, 2),
    plain_after=st.sampled_from([0, 1, 150]),
    end=st.sampled_from(["\n", "\r\n", ""]),
    options=st.sampled_from(
        [
            ReadOptions(),
            ReadOptions(allow_partial=True),
            ReadOptions(format="native", allow_partial=True),
            ReadOptions(block_size=16, allow_partial=True),
            ReadOptions(model_field="model", allow_partial=True),
            ReadOptions(model_field="model", model="*", allow_partial=True),
            ReadOptions(salt_field="cache_salt", order="file", allow_partial=True),
            ReadOptions(salt_field="tenant", allow_partial=True),
            ReadOptions(model_field="tenant", model="b", allow_partial=True),
        ]
    ),
)
def test_every_way_gives_the_same(
    lines: list[str],
    plain_before: int,
    plain_after: int,
    end: str,
    options: ReadOptions,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = tmp_path / "log.jsonl"
    rows = [PLAIN] * plain_before + lines + [PLAIN] * plain_after
    text = "".join(row + "\n" for row in rows[:-1]) + "".join(rows[-1:]) + end
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    long, short, without = ways(file, options, monkeypatch)
    assert short == long
    assert without == long


@pytest.mark.parametrize("line", LINES, ids=range(len(LINES)))
def test_every_line_alone_after_plain_ones(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "log.jsonl"
    file.write_bytes("".join(f"{row}\n" for row in [PLAIN] * 40 + [line, PLAIN]).encode())
    long, short, without = ways(file, ReadOptions(), monkeypatch)
    assert short == long
    assert without == long


@pytest.mark.parametrize(
    "options",
    [
        ReadOptions(salt_field="tenant"),
        ReadOptions(model_field="tenant", model="b"),
        ReadOptions(model_field="tenant", model="*"),
    ],
)
def test_fields_of_the_user_are_read(
    options: ReadOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "log.jsonl"
    rows = [PLAIN[:-1] + f', "tenant": "{"ab"[n % 2]}"}}\n' for n in range(8)]
    file.write_text("".join(rows), encoding="utf-8")
    long, short, without = ways(file, options, monkeypatch)
    assert long == short == without


def test_a_second_file_that_is_still_being_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [tmp_path / "one.jsonl", tmp_path / "two.jsonl"]
    files[0].write_text(f"{PLAIN}\n" * 3, encoding="utf-8")
    files[1].write_text(f"{PLAIN}\n" * 3 + PLAIN[:-9], encoding="utf-8")
    short = read_log(files)
    monkeypatch.setattr("cache_worthy.logs.session.plain_lines", lambda *of: lambda raw: False)
    assert read_log(files) == short
    assert (len(short.requests), short.skipped_truncated, short.records.unusable) == (6, 1, 0)


def test_plain_lines_take_the_short_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[..., Path]
) -> None:
    taken: list[bool] = []

    def counted(*of: Any) -> Callable[[bytes], bool]:
        take = plain_lines(*of)

        def one(raw: bytes) -> bool:
            taken.append(take(raw))
            return taken[-1]

        return one

    monkeypatch.setattr("cache_worthy.logs.session.plain_lines", counted)
    log = read_log(write(*[PLAIN] * 5))
    assert taken == [False, True, True, True, True]  # the first one settles the format
    assert log.requests == [Request((1, 2), 1024, 5, 1)] * 5


def test_invalid_utf8_after_plain_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "log.jsonl"
    file.write_bytes(f"{PLAIN}\n".encode() * 30 + b'{"hash_ids": [1], "x": "\xff"}\n')
    long, short, without = ways(file, ReadOptions(), monkeypatch)
    assert long == short == without
