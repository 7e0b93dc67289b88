"""OpenTelemetry: values of the protocol, failures, numbered attributes, nanoseconds (rank 4)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cache_worthy.logs.options import ReadOptions
from cache_worthy.logs.session import read_log

Write = Callable[..., Path]
SMALL = ReadOptions(block_size=16)


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


FAILURES: list[dict[str, object]] = [
    {"status": {"code": 2}},
    {"status": {"code": "STATUS_CODE_ERROR", "message": "refused"}},
    {"status": {"status_code": "ERROR"}},
    {"status": "Error"},
]

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


def test_otel_messages_on_an_event_of_the_span(write: Write) -> None:
    message = json.dumps([{"role": "user", "parts": [{"type": "text", "content": "Hi"}]}])
    attributes = {"gen_ai.operation.name": "chat"}
    event = {"name": "details", "attributes": {"gen_ai.input.messages": message}}
    there = read_log(write({"attributes": attributes, "events": [event]}))
    here = read_log(write({"attributes": {**attributes, "gen_ai.input.messages": message}}))
    assert there.requests == here.requests
    old = {"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "Hi"}
    assert read_log(write({"attributes": old})).requests == here.requests
