"""What servers and gateways really write and a first reading misses: adapters, failures, pages.

Rank 4: each expectation is written by hand from the public shape of the log. The records are invented.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from cache_worthy.logs.literals import python_literal
from cache_worthy.logs.options import ReadOptions
from cache_worthy.logs.session import read_log
from cache_worthy.sim.errors import TraceError

Run = Callable[..., tuple[int, str, str]]
Write = Callable[..., Path]
FOLDER = Path(__file__).resolve().parents[3] / "examples" / "formats"
SMALL = ReadOptions(block_size=16)


# vLLM at DEBUG: the adapter and n stand on the INFO line of the same request.

PROMPT = "the same long prompt " * 20


def debug(n: int, text: str = PROMPT, second: int = 1) -> str:
    return (
        f"DEBUG 03-04 10:00:{second:02} [request_logger.py:57] Request c{n} details: prompt: {text!r}, "
        "prompt_token_ids: None, prompt_embeds shape: None."
    )


def info(n: int, adapter: str = "None", answers: int = 1, stop: str = "", second: int = 1) -> str:
    return (
        f"INFO 03-04 10:00:{second:02} [request_logger.py:66] Received request c{n}: params: "
        f"SamplingParams(n={answers}, stop=[{stop!r}]), lora_request: {adapter}."
    )


def lora(name: str, number: int = 1) -> str:
    return f"LoRARequest(lora_name={name!r}, lora_int_id={number}, lora_path='/x')"


def test_adapters_of_a_debug_log(write: Write) -> None:
    log = read_log(
        write(
            debug(1), info(1), debug(2), info(2, lora("fr")), debug(3), info(3, lora("fr")),
            debug(4), info(4, lora("de", 2)),
        )
    )  # fmt: skip
    plain, one, two, other = (r.hash_ids for r in log.requests)
    assert one == two
    assert len({plain, one, other}) == 3
    assert log.salts == {"#1": 2, "#2": 1}
    assert log.records.other_lines == 4
    assert log.records.unusable == 0


def test_the_adapter_is_the_one_an_info_log_of_old_gives(write: Write) -> None:
    """The same traffic logged by both releases gives the same blocks."""
    old = (
        f"INFO 03-04 10:00:01 [logger.py:39] Received request c1: prompt: {PROMPT!r}, params: "
        f"SamplingParams(n=1), prompt_token_ids: None, lora_request: {lora('fr')}."
    )
    assert read_log(write(old)).requests == read_log(write(debug(1), info(1, lora("fr")))).requests


def test_several_answers_of_a_debug_log(write: Write) -> None:
    log = read_log(write(debug(1), info(1, answers=4), debug(2), info(2)))
    assert len(log.requests) == 2
    assert log.records.several_answers == 1


def test_lines_of_two_servers_interleave(write: Write) -> None:
    """Joined by request id, and file order stands among equal times."""
    lines = [debug(1, "a" * 90), debug(2, "b" * 90), info(2, lora("fr")), info(1, lora("de", 2))]
    apart = [lines[0], lines[3], lines[1], lines[2]]
    assert read_log(write(*lines)).requests == read_log(write(*apart)).requests


def test_a_stop_string_that_looks_like_an_adapter(write: Write) -> None:
    log = read_log(write(debug(1), info(1, lora("fr"), stop=f"lora_request: {lora('x', 9)}")))
    assert log.requests == read_log(write(debug(1), info(1, lora("fr")))).requests


def test_details_whose_info_line_is_missing_are_kept_in_order(write: Write) -> None:
    """A filtered log: nothing waits for ever, and nothing is lost."""
    log = read_log(write(*[debug(n, f"{n} " * 50) for n in range(300)]), SMALL)
    assert len(log.requests) == 300
    assert log.records.unusable == 0
    texts = write(*[{"prompt": f"{n} " * 50} for n in range(300)])
    assert [r.hash_ids for r in log.requests] == [
        r.hash_ids for r in read_log(texts, SMALL).requests
    ]


def test_the_info_line_may_stand_in_the_next_file(tmp_path: Path) -> None:
    first, second = tmp_path / "a.log", tmp_path / "b.log"
    first.write_text(debug(1) + "\n", encoding="utf-8")
    second.write_text(info(1, lora("fr")) + "\n", encoding="utf-8")
    assert read_log([first, second]).salts == {"#1": 1}


def test_a_held_request_that_cannot_be_used_is_counted_where_it_stood(write: Write) -> None:
    bad = debug(99).replace("prompt_token_ids: None", "prompt_token_ids: [-1]")
    rows = [line for n in range(30) for line in (debug(n), info(n))]
    log = read_log(write(*rows, bad, info(99)))
    assert (len(log.requests), log.records.unusable) == (30, 1)
    assert "line 61: token ids" in log.records.first_unusable


# OpenTelemetry.


def attribute(key: str, value: dict[str, object]) -> dict[str, object]:
    return {"key": key, "value": value}


def text_value(text: str) -> dict[str, object]:
    return {"stringValue": text}


def message_value(role: str, text: str) -> dict[str, object]:
    part = {"kvlistValue": {"values": [
        attribute("type", text_value("text")), attribute("content", text_value(text))]}}  # fmt: skip
    return {"kvlistValue": {"values": [
        attribute("role", text_value(role)),
        attribute("parts", {"arrayValue": {"values": [part]}})]}}  # fmt: skip


def span(text: str, nano: int = 10**18) -> dict[str, object]:
    attributes = [
        attribute("gen_ai.operation.name", text_value("chat")),
        attribute("gen_ai.input.messages", {"arrayValue": {"values": [message_value("user", text)]}}),
    ]  # fmt: skip
    return {"startTimeUnixNano": str(nano), "attributes": attributes}


def document(*spans: dict[str, object]) -> dict[str, object]:
    return {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}


def test_messages_as_values_of_the_protocol(write: Write) -> None:
    message = [{"role": "user", "parts": [{"type": "text", "content": "Hi there"}]}]
    flat = {
        "startTimeUnixNano": str(10**18),
        "attributes": {"gen_ai.operation.name": "chat", "gen_ai.input.messages": json.dumps(message)},
    }  # fmt: skip
    nested = read_log(write(document(span("Hi there"))))
    assert nested.requests == read_log(write(flat)).requests
    snake = json.dumps(document(span("Hi there"))).replace("arrayValue", "array_value")
    assert read_log(write(snake.replace("kvlistValue", "kvlist_value"))).requests == nested.requests


FAILURES: list[dict[str, object]] = [
    {"status": {"code": 2}},
    {"status": {"code": "STATUS_CODE_ERROR", "message": "refused"}},
    {"status": {"status_code": "ERROR"}},
    {"status": "Error"},
]


@pytest.mark.parametrize("failure", FAILURES)
def test_failed_spans_are_dropped_and_counted(write: Write, failure: dict[str, object]) -> None:
    fine: list[dict[str, object]] = [{"status": {"code": 1}}, {"status": {}}, {}]
    spans = [{**span("a"), **f} for f in fine] + [{**span("b"), **failure}]
    for records in ([document(*spans)], spans):
        log = read_log(write(*records))
        assert len(log.requests) == 3
        assert log.records.skipped == {"failed request": 1}


def test_an_error_type_is_a_failure_too(write: Write) -> None:
    failed = span("b")
    listed = failed["attributes"]
    assert isinstance(listed, list)
    listed.append(attribute("error.type", text_value("timeout")))
    log = read_log(write(document(span("a"), failed)))
    assert log.records.skipped == {"failed request": 1}


def test_a_span_without_messages_does_not_hide_the_others(write: Write) -> None:
    empty: dict[str, object] = {
        "attributes": [attribute("gen_ai.operation.name", text_value("chat"))]
    }
    log = read_log(write(document(*[span(str(n)) for n in range(30)], empty)))
    assert (len(log.requests), log.records.unusable) == (30, 1)


CHAT: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "The weather in Graz and in Linz?"},
    {"role": "assistant", "content": "", "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"city":"Graz"}'}},
        {"id": "c2", "type": "function", "function": {"name": "see", "arguments": '{"city": "Linz"}'}},
    ]},
    {"role": "tool", "tool_call_id": "c1", "content": "rain"},
    {"role": "tool", "tool_call_id": "c2", "content": "sun"},
]  # fmt: skip
TOOLS: list[dict[str, Any]] = [
    {"type": "function", "function": {"name": "look", "description": "Looks.", "parameters": {"type": "object"}}},
    {"type": "function", "function": {"name": "see", "parameters": {"type": "object"}}},
]  # fmt: skip


def numbered(form: str) -> dict[str, object]:
    """The attributes of OpenLLMetry in the forms that instrumentations write."""
    out: dict[str, object] = {"gen_ai.request.model": "m"}
    for n, message in enumerate(CHAT):
        at = f"gen_ai.prompt.{n}"
        out[f"{at}.role"] = message["role"]
        if message["content"]:
            out[f"{at}.content"] = message["content"]
        calls = message.get("tool_calls")
        if not isinstance(calls, list):
            continue
        if form == "json":
            out[f"{at}.tool_calls"] = json.dumps(calls)
            continue
        for k, call in enumerate(calls):
            function = "function." if form == "nested" else ""
            out[f"{at}.tool_calls.{k}.id"] = call["id"]
            for field in ("name", "arguments"):
                out[f"{at}.tool_calls.{k}.{function}{field}"] = call["function"][field]
    if form == "json":
        return {**out, "llm.request.functions": json.dumps(TOOLS)}
    for k, tool in enumerate(TOOLS):
        for field, value in tool["function"].items():
            value = value if isinstance(value, str) else json.dumps(value)
            out[f"llm.request.functions.{k}.{field}"] = value
    return out


@pytest.mark.parametrize("form", ["flat", "nested", "json"])
def test_tool_calls_of_numbered_attributes(write: Write, form: str) -> None:
    """The same blocks as the request body, calls and tools included."""
    body = read_log(write({"model": "m", "messages": CHAT, "tools": TOOLS}), SMALL)
    spans = read_log(write({"attributes": numbered(form)}), SMALL)
    assert spans.format == "otel"
    assert [r.hash_ids for r in spans.requests] == [r.hash_ids for r in body.requests]
    without = {k: v for k, v in numbered(form).items() if "tool_calls" not in k}
    assert read_log(write({"attributes": without}), SMALL).requests != spans.requests


@pytest.mark.parametrize("text", ['{"b": 1, "a":2}', "[1, 2]", "[]", '[{"a": 1}]', '"x"', "null"])
def test_numbered_content_that_looks_like_json_is_text(write: Write, text: str) -> None:
    """Only a list of typed parts is what an instrumentation wrote as JSON."""
    body = read_log(write({"messages": [{"role": "user", "content": text}]}))
    span = {"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": text}
    assert read_log(write({"attributes": span})).requests == body.requests
    parts = json.dumps([{"type": "text", "text": text}])
    span = {"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": parts}
    assert read_log(write({"attributes": span})).requests == body.requests


def test_a_numbered_call_that_is_the_whole_prompt(write: Write) -> None:
    call = {"gen_ai.prompt.0.role": "assistant", "gen_ai.prompt.0.tool_calls.0.name": "f"}
    assert len(read_log(write({"attributes": call})).requests) == 1


def test_nanoseconds_order_spans(write: Write) -> None:
    """Neighbours that one float of milliseconds would hold for equal."""
    start = 1_777_629_600_000_000_000
    spans = [span(str(n), start + n) for n in range(40)]
    log = read_log(write(document(*reversed(spans))))
    want = read_log(write(document(*spans)))
    assert len({r.timestamp for r in want.requests}) < 40
    assert [r.hash_ids for r in log.requests] == [r.hash_ids for r in want.requests]
    assert "reverse order" in log.order
    assert log.moved == 40
    assert want.requests[0].timestamp == start // 10**6


# Lists of inputs.


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


# Batches.


@pytest.mark.parametrize("outcome", ["succeeded", "errored", "canceled", "expired"])
def test_the_results_of_a_message_batch(run: Run, write: Write, outcome: str) -> None:
    message = {"role": "assistant", "content": [{"type": "text", "text": "Danube"}]}
    result = {"type": outcome, **({"message": message} if outcome == "succeeded" else {})}
    code, out, err = run("analyze", write({"custom_id": "r-1", "result": result}))
    assert (code, out) == (2, "")
    assert "result file of a message batch" in err
    assert "custom_id and params" in err


# Pages and prefix hashes.


def test_pages_of_a_litellm_listing(write: Write) -> None:
    body = {"messages": [{"role": "user", "content": "question " * 30}]}
    rows: list[dict[str, object]] = [
        {"request_id": f"r{n}", "startTime": f"2026-05-01 10:00:0{n}",
         "status": "failure" if n == 1 else "success", "proxy_server_request": json.dumps(body)}
        for n in range(4)
    ]  # fmt: skip
    page = {"data": rows, "total": 4, "page": 1, "page_size": 50, "total_pages": 1}
    log = read_log(write(page))
    assert log.requests == read_log(write(*rows)).requests
    assert log.records.skipped == {"failed request": 1}


@pytest.mark.parametrize("hit", [True, "True", "true"])
def test_what_the_proxy_answered_itself_is_no_request(write: Write, hit: object) -> None:
    """LiteLLM's own cache of answers: the server behind it prefilled nothing."""
    body = json.dumps({"messages": [{"role": "user", "content": "hello"}]})
    row = {"request_id": "r", "startTime": "2026-11-20 10:00:00", "proxy_server_request": body}
    hits: list[object] = [None, hit, "False", False, "", "None"]
    log = read_log(
        write(*[{**row, "request_id": f"r{n}", "cache_hit": h} for n, h in enumerate(hits)])
    )
    assert len(log.requests) == 5
    assert log.records.skipped == {"answered from the proxy's cache": 1}


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


HASHES = ["00aa00aa00aa00aa", "11bb11bb11bb11bb"]


@pytest.mark.parametrize(
    ("value", "options", "block"),
    [
        ({"hash_ids": HASHES, "block_size": 64}, ReadOptions(), 64),
        ({"anything": HASHES, "version": 1, "block_size": 64}, ReadOptions(), 64),
        (HASHES, ReadOptions(block_size=64), 64),
        (json.dumps(HASHES), ReadOptions(), 512),
    ],
)
def test_prefix_hashes_of_litellm(
    write: Write, value: object, options: ReadOptions, block: int
) -> None:
    row = {"request_id": "r", "startTime": "2026-11-20 10:00:00", "prompt_tokens": "100",
           "completion_tokens": 7, "messages": "{}"}  # fmt: skip
    for metadata in ({"prefix_block_hashes": value}, json.dumps({"prefix_block_hashes": value})):
        log = read_log(write({**row, "metadata": metadata}), options)
        assert log.requests[0].hash_ids == tuple(HASHES)
        assert log.requests[0].input_length == 100
        assert log.requests[0].output_length == 7
        assert log.block_tokens == block
        assert log.length_mismatches == (block == 512)


def test_hashes_of_another_shape_are_no_hashes(run: Run, write: Write) -> None:
    row = {"request_id": "r", "startTime": "2026-11-20 10:00:00", "messages": "{}"}
    for value in ({"a": HASHES, "b": HASHES}, [1, 2], [], {}, "off", 5):
        code, _, err = run("analyze", write({**row, "metadata": {"prefix_block_hashes": value}}))
        assert code == 2
        assert "prefix_block_hashes callback" in err


# Lines that are no text, before the first request that is.


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


# Numbers that do not divide.


@pytest.mark.parametrize("ratio", [3.3, 2.7, 4.0])
@pytest.mark.parametrize("block", [16, 7, 512])
def test_odd_ratios_are_no_length_mismatch(
    write: Write, run: Run, ratio: float, block: int
) -> None:
    """Blocks are cut from the text here, so nothing of the log's can disagree."""
    file = write(*[{"prompt": "x" * n} for n in range(1, 400, 7)])
    options = ("--chars-per-token", ratio, "--block-size", block, "--no-bound")
    _, out, _ = run("analyze", file, *options, "--json", "-q")
    assert json.loads(out)["input"]["length_mismatches"] == 0
    _, out, _ = run("analyze", file, *options)
    assert "more or fewer blocks" not in out


# Literals.


@given(st.text())
def test_literals_are_what_repr_writes(text: str) -> None:
    assert python_literal(repr(text)) == text


def test_damaged_escapes_do_not_warn(recwarn: pytest.WarningsRecorder, write: Write) -> None:
    line = r"INFO 03-04 10:00:00 [logger.py:39] Received request c1: prompt: 'a\d\q', params: p, prompt_token_ids: None."
    event = r"[2026-03-01 09:00:00] Receive: obj=GenerateReqInput(rid=['a\d'], text=['\d'])"
    assert read_log(write(line), ReadOptions(chars_per_token=1)).requests[0].input_length == 5
    assert len(read_log(write(event)).requests) == 1
    assert not recwarn.list


# Adapters, failures and fields of other formats.


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


@pytest.mark.traces
def test_tied_times_of_the_conversation_trace(traces: Path) -> None:
    """12,031 requests at 1,180 times: the file's order stands among equal times."""
    file = traces / "conversation_trace.jsonl"
    log = read_log(file)
    assert len({r.timestamp for r in log.requests}) == 1180
    assert log.moved == 0
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert [list(r.hash_ids) for r in log.requests] == [row["hash_ids"] for row in rows]


# Rows of the list of messy input that had no test of their own.


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress, bytes])
def test_standard_input_plain_and_compressed(
    monkeypatch: pytest.MonkeyPatch, pack: Callable[[bytes], bytes]
) -> None:
    """Also of a server log with lines between, with a BOM and CRLF."""
    plain = (FOLDER / "vllm.log").read_bytes()
    data = pack(b"\xef\xbb\xbf" + plain.replace(b"\n", b"\r\n"))
    monkeypatch.setattr("sys.stdin", type("Stdin", (), {"buffer": io.BytesIO(data)}))
    log = read_log("-", SMALL)
    assert log.requests == read_log(FOLDER / "vllm.log", SMALL).requests
    assert log.source == "<stdin>"


def test_csv_cells_longer_than_the_default_limit(tmp_path: Path) -> None:
    """And the limit, which is the whole process's, is put back."""
    before = csv.field_size_limit()
    file = tmp_path / "log.csv"
    rows = "".join(f"2026-05-01,{'x' * 200_000}\n" for _ in range(2))
    file.write_text("timestamp,prompt\n" + rows, encoding="utf-8")
    assert [r.input_length for r in read_log(file).requests] == [50_000] * 2
    assert csv.field_size_limit() == before


def test_standard_input_among_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    lines = (FOLDER / "text.jsonl").read_bytes().splitlines(keepends=True)
    file = tmp_path / "first.jsonl"
    file.write_bytes(b"".join(lines[:6]))
    data = io.BytesIO(b"".join(lines[6:]))
    monkeypatch.setattr("sys.stdin", type("Stdin", (), {"buffer": data}))
    log = read_log([file, "-"], SMALL)
    assert log.requests == read_log(FOLDER / "text.jsonl", SMALL).requests


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity"])
def test_no_number_in_any_container(tmp_path: Path, constant: str) -> None:
    good = [{"prompt": f"p{n}"} for n in range(30)]
    lines = [json.dumps(g) for g in good] + [f'{{"prompt": "x", "timestamp": {constant}}}']
    file = tmp_path / "log.jsonl"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    log = read_log(file)
    assert (len(log.requests), log.records.unusable) == (30, 1)
    assert f"{constant} is not a JSON number" in log.records.first_unusable


def test_duplicate_keys_of_a_request_body_take_the_last(write: Write) -> None:
    twice = '{"model": "m", "prompt": "first", "prompt": "the second"}'
    once = {"model": "m", "prompt": "the second"}
    assert read_log(write(twice)).requests == read_log(write(once)).requests


def test_the_template_option_reaches_the_blocks(run: Run, write: Write) -> None:
    chat = {"messages": [{"role": "user", "content": "hello " * 40}]}
    file = write(chat, chat)
    found = {}
    for template in ("simple", "chatml", "llama3"):
        _, out, _ = run("analyze", file, "--template", template, "--json", "--no-bound", "-q")
        assert json.loads(out)["input"]["template"] == template
        _, found[template], _ = run("convert", file, "--template", template, "-q")
    assert len(set(found.values())) == 3
    code, _, err = run("analyze", file, "--template", "vicuna")
    assert code == 2
    assert "simple" in err


def test_the_salt_field_option_keeps_tenants_apart(run: Run, write: Write) -> None:
    file = write(*[{"prompt": "same " * 900, "meta": {"tenant": t}} for t in "aabb"])
    _, whole, _ = run("analyze", file, "--json", "--no-bound", "-q")
    _, apart, _ = run("analyze", file, "--salt-field", "meta.tenant", "--json", "--no-bound", "-q")
    blocks = [json.loads(t)["workload"]["distinct_blocks"] for t in (whole, apart)]
    assert blocks[1] == 2 * blocks[0]
    assert json.loads(apart)["input"]["salts"] == {"a": 2, "b": 2}


@pytest.mark.parametrize("field", ["model", "meta.engine"])
def test_the_model_field_option_in_its_three_forms(run: Run, write: Write, field: str) -> None:
    rows = [
        {"prompt": "same " * 900, "model": m, "meta": {"engine": m}} for m in ("x", "x", "y", "y")
    ]
    file = write(*rows)
    code, out, err = run("analyze", file, "--model-field", field)
    assert (code, out) == (2, "")
    assert "requests of 2 models: x (2), y (2)" in err
    for value, requests in (("x", 2), ("*", 4)):
        argv = ("analyze", file, "--model-field", f"{field}={value}", "--json", "--no-bound", "-q")
        assert json.loads(run(*argv)[1])["input"]["requests"] == requests


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


def test_one_bad_request_of_a_conversation_is_counted_alone(write: Write) -> None:
    rows = [{"t": float(n), "in": 64, "hash_ids": [n]} for n in range(30)]
    talk = {"id": "t", "block_size": 64, "requests": rows}
    tokens = {"model": "m", "prompt": [[1, 2], [-1], *[[n] for n in range(40)]]}
    assert len(read_log(write(talk)).requests) == 30
    log = read_log(write(tokens))
    assert (len(log.requests), log.records.unusable) == (41, 1)
    with pytest.raises(TraceError, match="token ids"):
        read_log(write({"model": "m", "prompt": [[-1], [-2]]}))
