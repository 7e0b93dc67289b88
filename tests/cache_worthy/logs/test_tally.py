"""What is refused, what is left out, and how it is counted (rank 4)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from cache_worthy.logs.session import read_log

Run = Callable[..., tuple[int, str, str]]
Write = Callable[..., Path]

REFUSED = [
    ("burstgpt.csv", "Timestamp,Model,Request tokens,Response tokens\n5,m,1,2\n", "a BurstGPT trace"),
    ("azure.csv", "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.97,374,44\n",
     "the Azure LLM inference trace"),
    ("counts.jsonl", {"prompt_tokens": 12, "completion_tokens": 3}, "which prefixes they share"),
    ("output.jsonl", {"custom_id": "r-1", "response": {"status_code": 200, "body": {}}, "error": None},
     "a batch output file"),
    ("spend.jsonl", {"request_id": "a", "startTime": "2026-05-01 10:00:00", "messages": "{}"},
     "store_prompts_in_spend_logs: true"),
    ("spans.jsonl", {"attributes": {"gen_ai.request.model": "m"}}, "CAPTURE_MESSAGE_CONTENT"),
    ("dynamo.jsonl", {"schema": "dynamo.request.trace.v1", "event_type": "request_end",
                      "request": {"input_tokens": 5}}, "DYN_REQUEST_TRACE"),
    ("generation.jsonl", {"type": "GENERATION", "input": None}, "without input"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "words"), REFUSED, ids=[r[0] for r in REFUSED])
def test_what_cannot_be_analysed_is_refused_with_the_reason(
    run: Run, tmp_path: Path, name: str, text: object, words: str
) -> None:
    file = tmp_path / name
    file.write_text(text if isinstance(text, str) else json.dumps(text), encoding="utf-8")
    code, out, err = run("analyze", file)
    assert (code, out) == (2, "")
    assert words in err
    assert str(file) in err
    assert err.count("\n") <= 3


def test_a_pickle_is_never_opened(run: Run, tmp_path: Path) -> None:
    """It would run: loading this one creates a file."""
    import os
    import pickle

    class Trap:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return os.mkdir, (str(tmp_path / "sprung"),)

    for protocol in (2, 3, 4, 5):
        file = tmp_path / "dump.pkl"
        file.write_bytes(pickle.dumps(Trap(), protocol))
        code, _, err = run("analyze", file)
        assert code == 2
        assert "a Python pickle" in err
        assert "--log-requests-level 3" in err
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize(
    "magic", [b"PK\x03\x04", b"PAR1", b"SQLite format 3\0", b"BZh9", b"\xfd7zXZ\0"]
)
def test_binary_files_are_named(run: Run, tmp_path: Path, magic: bytes) -> None:
    file = tmp_path / "log.bin"
    file.write_bytes(magic + bytes(100))
    code, _, err = run("analyze", file)
    assert code == 2
    assert str(file) in err
    assert "first" in err


def test_more_than_five_percent_unusable_needs_a_word(write: Write, run: Run) -> None:
    good, bad = {"hash_ids": [1]}, {"hash_ids": "no list"}
    few = read_log(write(*[good] * 19, bad, good))
    assert (len(few.requests), few.records.unusable) == (20, 1)
    file = write(*[good] * 10, bad, good)
    code, out, err = run("analyze", file)
    assert (code, out) == (2, "")
    assert "line 11: hash_ids: expected a list" in err
    assert "1 of 12 records are unusable (8.3%); more than 5% needs --allow-partial" in err
    code, out, err = run("analyze", file, "--allow-partial", "--json")
    assert code == 0
    assert "0 cut, 0 skipped, 1 unusable" in err
    assert json.loads(out)["input"]["records"]["unusable"] == 1
    code, out, _ = run("analyze", file, "--allow-partial")
    assert "0 cut, 0 skipped, 1 unusable" in out
    code, _, err = run("analyze", write(bad, bad), "--allow-partial")
    assert code == 2


def test_counts_are_always_printed(run: Run, sample: Path) -> None:
    _, out, _ = run("analyze", sample, "--no-bound")
    assert "0 cut, 0 skipped, 0 unusable" in out
    _, out, _ = run("replay", sample, "--policy", "lru", "--capacity-fraction", "1", "--json")
    assert json.loads(out)["input"]["records"]["unusable"] == 0


def test_an_unknown_file_is_not_zero_percent(run: Run, write: Write) -> None:
    """Peers answer with exit code 0 and a hit rate of 0 %."""
    for records in (
        ["2026-05-01 some log line", "another"],
        [{"level": "info", "msg": "hello"}] * 50,
    ):
        code, out, err = run("analyze", write(*records))
        assert (code, out) == (2, "")
        assert "cache-worthy formats" in err


def test_every_count_stands_in_json_for_every_command(run: Run, write: Write) -> None:
    cut = "a" * 1024 + "..." + "b" * 1024
    rows: list[object] = [
        {"event": "request.received", "obj": {"rid": f"r{n}", "text": cut if n < 2 else f"text {n} " * 20}}
        for n in range(40)
    ]  # fmt: skip
    rows.insert(5, {"event": "request.received", "obj": {"rid": "HEALTH_CHECK_1", "text": "x"}})
    rows.insert(9, {"event": "request.received", "obj": {"rid": "none"}})
    rows.insert(12, "another line")
    file = write(*rows)
    size = ("--block-size", "16", "--json")
    for argv in (
        ("analyze", file, "--no-bound", *size),
        ("replay", file, "--policy", "lru", "--capacity-fraction", "1", *size),
        ("bound", file, "--capacity-fraction", "1", *size),
    ):
        code, out, err = run(*argv)
        assert code == 0
        records = json.loads(out)["input"]["records"]
        assert (records["cut"], records["unusable"], records["other_lines"]) == (2, 1, 1)
        assert records["skipped"] == {"health check": 1}
        assert "2 cut, 1 skipped (1 health check), 1 unusable" in err


def received(n: int, text: str) -> str:
    return f"INFO 03-04 10:00:00 [logger.py:39] Received request c{n}: prompt: {text!r}, params: p, prompt_token_ids: None."


def test_bad_request_lines_before_the_first_good_one_are_unusable(tmp_path: Path) -> None:
    bad = received(0, "x@").encode().replace(b"@", b"\xff")
    rows = [b"INFO start \xff", b'{"half": ', bad] + [
        received(n, "y").encode() for n in range(1, 41)
    ]
    file = tmp_path / "vllm.log"
    file.write_bytes(b"\n".join(rows) + b"\n")
    log = read_log(file)
    assert len(log.requests) == 40
    assert log.records.unusable == 1
    assert log.records.other_lines == 2
    assert "line 3: not UTF-8" in log.records.first_unusable


def test_mostly_bad_request_lines_end_the_run(tmp_path: Path, run: Run) -> None:
    bad = received(0, "x@").encode().replace(b"@", b"\xff")
    file = tmp_path / "vllm.log"
    file.write_bytes(b"\n".join([bad] * 9 + [received(1, "y").encode()]) + b"\n")
    code, out, err = run("analyze", file)
    assert (code, out) == (2, "")
    assert "9 of 10 records are unusable" in err


def test_broken_json_before_the_first_event_is_unusable(tmp_path: Path) -> None:
    event = {"event": "request.received", "obj": {"rid": "r", "text": "hello"}}
    rows = [b'{"event": "request.rec\xff"}', b"other \xff"]
    rows += [json.dumps({**event, "obj": {"rid": str(n), "text": "x"}}).encode() for n in range(40)]
    file = tmp_path / "sglang.jsonl"
    file.write_bytes(b"\n".join(rows) + b"\n")
    log = read_log(file)
    assert (log.records.unusable, log.records.other_lines) == (1, 1)


def test_request_lines_that_are_no_utf8_are_unusable(tmp_path: Path) -> None:
    line = "INFO 03-04 10:00:00 [logger.py:39] Received request c{}: prompt: 'x{}', params: p, prompt_token_ids: None."
    rows = [line.format(n, "y").encode() for n in range(40)]
    rows += [line.format(99, "@").encode().replace(b"@", b"\xff"), b"INFO other \xff"]
    file = tmp_path / "vllm.log"
    file.write_bytes(b"\n".join(rows) + b"\n")
    log = read_log(file)
    assert (len(log.requests), log.records.unusable, log.records.other_lines) == (40, 1, 1)
    assert "line 41: not UTF-8" in log.records.first_unusable


def test_a_bad_row_of_a_page_is_counted_alone(write: Write) -> None:
    good = {"type": "GENERATION", "input": "hello"}
    log = read_log(write({"data": [*[good] * 30, {"type": "GENERATION", "input": None}]}))
    assert (len(log.requests), log.records.unusable) == (30, 1)
    assert "line 1, data[30]: a generation without input" in log.records.first_unusable


def test_an_answer_with_data_is_no_page(run: Run, write: Write) -> None:
    answer = {"object": "list", "data": [{"embedding": [0.5], "index": 0}], "usage": {"x": 1}}
    code, _, err = run("analyze", write(answer))
    assert code == 2
    assert "which prefixes they share" in err
