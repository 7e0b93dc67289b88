"""Formats with a few cases of their own (rank 4)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from cache_worthy.logs.options import ReadOptions
from cache_worthy.logs.session import read_log

Run = Callable[..., tuple[int, str, str]]
Write = Callable[..., Path]
SMALL = ReadOptions(block_size=16)


@pytest.mark.parametrize("outcome", ["succeeded", "errored", "canceled", "expired"])
def test_the_results_of_a_message_batch(run: Run, write: Write, outcome: str) -> None:
    message = {"role": "assistant", "content": [{"type": "text", "text": "Danube"}]}
    result = {"type": outcome, **({"message": message} if outcome == "succeeded" else {})}
    code, out, err = run("analyze", write({"custom_id": "r-1", "result": result}))
    assert (code, out) == (2, "")
    assert "result file of a message batch" in err
    assert "custom_id and params" in err


@pytest.mark.parametrize("wrap", [True, False])
@pytest.mark.parametrize("field", ["input", "prompt"])
def test_a_list_of_texts_is_several_requests(write: Write, field: str, wrap: bool) -> None:
    """/v1/embeddings with n inputs, /v1/completions with n prompts: n prefixes."""
    texts = ["shared start, " * 9 + end for end in ("one", "two", "three")]
    body = {"model": "m", field: texts}
    url = "/v1/embeddings" if field == "input" else "/v1/completions"
    record = {"custom_id": "r", "method": "POST", "url": url, "body": body} if wrap else body
    log = read_log(write(record), SMALL)
    alone = read_log(write(*[{"model": "m", field: t} for t in texts]), SMALL)
    assert [r.hash_ids for r in log.requests] == [r.hash_ids for r in alone.requests]
    assert len(log.requests) == 3
    assert log.records.retries == 0
    plain = read_log(write({field: texts}), SMALL)
    assert plain.format == "text"
    assert [r.hash_ids for r in plain.requests] == [r.hash_ids for r in alone.requests]


@pytest.mark.parametrize("field", ["input", "prompt"])
def test_lists_of_token_ids(write: Write, field: str) -> None:
    one = read_log(write({"model": "m", field: [1, 2, 3]}))
    assert [r.input_length for r in one.requests] == [3]
    several = read_log(write({"model": "m", field: [[1, 2, 3], [4], [1, 2]]}))
    assert [r.input_length for r in several.requests] == [3, 1, 2]


def test_a_list_of_items_stays_one_chat(write: Write) -> None:
    """The responses API: ``input`` is a list of messages there."""
    items = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    assert len(read_log(write({"model": "m", "input": items})).requests) == 1


def test_failed_generations_of_langfuse(write: Write) -> None:
    rows = [{"type": "GENERATION", "input": "a", "level": v} for v in ("DEFAULT", "ERROR", None)]
    log = read_log(write(*rows))
    assert len(log.requests) == 2
    assert log.records.skipped == {"failed request": 1}
    several = read_log(write({"type": "GENERATION", "input": ["one", "two"]}))
    assert len(several.requests) == 2  # texts of an embeddings call


def test_the_fields_of_aiperf(write: Write) -> None:
    """Turns of a session have a delay and no time of their own; a text may stand for ids."""
    rows = [
        {"session_id": "s", "timestamp": 5, "input_length": 600, "hash_ids": [1, 2]},
        {"session_id": "s", "delay": 100, "input_length": 1100, "hash_ids": [1, 2, 3]},
    ]
    log = read_log(write(*rows))
    assert (log.format, log.length_mismatches) == ("native", 0)
    assert [r.hash_ids for r in log.requests] == [(1, 2), (1, 2, 3)]
    assert log.order == "file order (1 without arrival time)"
    text = read_log(write({"text_input": "hello", "output_length": 4, "timestamp": 5}))
    assert (text.format, text.field) == ("text", "text_input")


def test_answer_lengths_beside_texts(write: Write) -> None:
    text = write({"text_input": "a", "output_length": 9}, {"text_input": "b"})
    assert [r.output_length for r in read_log(text).requests] == [9, None]
    messages = [{"role": "user", "content": "a"}]
    row: dict[str, object] = {"startTime": "2026-06-02 08:15:09", "messages": messages}
    counts: list[dict[str, object]] = [{"completion_tokens": 5}, {"completion_tokens": "6"}, {}]
    spend = write(*[{"request_id": f"r{i}", **row, **c} for i, c in enumerate(counts)])
    assert [r.output_length for r in read_log(spend).requests] == [5, 6, None]


def test_lines_is_one_prompt_a_line(tmp_path: Path) -> None:
    file = tmp_path / "prompts.txt"
    file.write_text('first prompt\n\n{"prompt": "taken as text"}\n', encoding="utf-8")
    log = read_log(file, ReadOptions(format="lines", chars_per_token=1))
    assert [r.input_length for r in log.requests] == [12, 27]


def test_local_ids_never_merge(tmp_path: Path) -> None:
    """Two conversations, or the same file twice, share no block; subagents share their root's."""
    sub = {"type": "subagent", "t": 5.0, "requests": [{"t": 1.0, "in": 128, "hash_ids": [1, 9]}]}
    talk = {"id": "t", "block_size": 64, "hash_id_scope": "local",
            "requests": [{"t": 0.0, "in": 128, "hash_ids": [1, 2]}, sub]}  # fmt: skip
    file = tmp_path / "a.json"
    file.write_text(json.dumps(talk) + "\n" + json.dumps(talk), encoding="utf-8")
    log = read_log([file, file])
    assert log.block_tokens == 64
    assert len({i for r in log.requests for i in r.hash_ids}) == 4 * 3
    assert sorted(r.timestamp or 0 for r in log.requests) == [0] * 4 + [6000] * 4
    file.write_text(json.dumps({**talk, "hash_id_scope": "global"}), encoding="utf-8")
    assert {i for r in read_log([file, file]).requests for i in r.hash_ids} == {1, 2, 9}


def test_the_end_of_a_conversation_is_no_arrival(write: Write) -> None:
    talk = [{"role": r, "content": r} for r in ("user", "assistant", "user", "assistant")]
    times = ("2023-04-09T00:10:00+00:00", "2023-04-09T00:05:00+00:00")
    log = read_log(write(*[{"conversation": talk, "timestamp": t} for t in times]))
    assert [r.timestamp for r in log.requests] == [None] * 4
    assert log.order == "file order (no arrival times)"
