"""The samples whose records hold a request body, a span or an observation, in each vendor's shape."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from datetime import timedelta

from sample_traffic import BLOCK, MODEL, START, TOOLS, Asked, Json, jsonl, stamp
from sample_twins import id_records


def openai_messages(asked: Asked) -> list[Json]:
    """The messages as OpenAI writes them."""
    out: list[Json] = []
    for n, turn in enumerate(asked.turns):
        message: Json = {"role": turn.role, "content": turn.text}
        if turn.call:
            name, arguments = turn.call
            function = {"name": name, "arguments": json.dumps(arguments)}
            message = {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": f"call_{n}", "type": "function", "function": function}],
            }
        if turn.role == "tool":
            message["tool_call_id"] = f"call_{n - 1}"
        out.append(message)
    return out


def openai_tools() -> list[Json]:
    """The tools as OpenAI writes them."""
    return [
        {"type": "function", "function": {"name": n, "description": d, "parameters": p}}
        for n, d, p in TOOLS
    ]


def openai_body(asked: Asked) -> Json:
    """A chat completion request."""
    body: Json = {"model": MODEL, "messages": openai_messages(asked)}
    if asked.tools:
        body["tools"] = openai_tools()
    return body


def anthropic_body(asked: Asked) -> Json:
    """A messages request."""
    messages: list[Json] = []
    for n, turn in enumerate(asked.turns[1:]):
        part: Json = {"type": "text", "text": turn.text}
        role = turn.role
        if turn.call:
            part = {
                "type": "tool_use",
                "id": f"toolu_{n}",
                "name": turn.call[0],
                "input": turn.call[1],
            }
        if role == "tool":
            role = "user"
            inner = [{"type": "text", "text": turn.text}]
            part = {"type": "tool_result", "tool_use_id": f"toolu_{n - 1}", "content": inner}
        messages.append({"role": role, "content": [part]})
    system = [{"type": "text", "text": asked.turns[0].text, "cache_control": {"type": "ephemeral"}}]
    body: Json = {"model": MODEL, "max_tokens": 100, "system": system, "messages": messages}
    if asked.tools:
        body["tools"] = [{"name": n, "description": d, "input_schema": p} for n, d, p in TOOLS]
    return body


def otel_span(asked: Asked) -> Json:
    """A GenAI span with flat attributes."""
    messages: list[Json] = []
    for n, turn in enumerate(asked.turns[1:]):
        part: Json = {"type": "text", "content": turn.text}
        if turn.call:
            part = {
                "type": "tool_call",
                "id": f"c{n}",
                "name": turn.call[0],
                "arguments": turn.call[1],
            }
        if turn.role == "tool":
            part = {"type": "tool_call_response", "id": f"c{n - 1}", "response": turn.text}
        messages.append({"role": turn.role, "parts": [part]})
    attributes: Json = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": MODEL,
        "gen_ai.usage.output_tokens": asked.output,
        "gen_ai.system_instructions": json.dumps(
            [{"type": "text", "content": asked.turns[0].text}]
        ),
        "gen_ai.input.messages": json.dumps(messages),
    }
    if asked.tools:
        attributes["gen_ai.tool.definitions"] = json.dumps(
            [
                {"type": "function", "name": n, "description": d, "parameters": p}
                for n, d, p in TOOLS
            ]
        )
    nano = int((START + timedelta(seconds=asked.second)).timestamp()) * 10**9
    return {
        "spanId": f"{asked.second:016x}",
        "startTimeUnixNano": str(nano),
        "attributes": attributes,
    }


def any_value(value: object) -> Json:
    """A plain value as the protocol's ``AnyValue``."""
    if isinstance(value, list):
        return {"arrayValue": {"values": [any_value(v) for v in value]}}
    if isinstance(value, dict):
        return {"kvlistValue": {"values": key_values(value)}}
    return {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}


def key_values(values: dict[str, object]) -> list[object]:
    """An object as the protocol's list of keys and values."""
    return [{"key": k, "value": any_value(v)} for k, v in values.items()]


def otlp_document(requests: Sequence[Asked]) -> str:
    """The spans as the OTLP file exporter writes them, another library's and a failed one between.

    Messages are JSON in a string in one span and values of the protocol in the next.
    """
    spans = []
    for n, asked in enumerate(requests):
        span = otel_span(asked)
        attributes = span["attributes"]
        assert isinstance(attributes, dict)
        if n % 2:
            attributes = {
                k: json.loads(v) if isinstance(v, str) and v.startswith("[") else v
                for k, v in attributes.items()
            }
        span["attributes"] = key_values(attributes)
        spans.append(span)
    spans.insert(3, {**spans[2], "spanId": "f" * 16, "status": {"code": 2, "message": "refused"}})
    other = {
        "name": "GET /health",
        "attributes": [{"key": "http.method", "value": {"stringValue": "GET"}}],
    }
    return jsonl([{"resourceSpans": [{"scopeSpans": [{"spans": [other, *spans]}]}]}])


def litellm_row(n: int, asked: Asked) -> dict[str, str]:
    """A row of the spend table."""
    return {
        "request_id": f"chatcmpl-{n}",
        "call_type": "acompletion",
        "startTime": stamp(asked.second, "%Y-%m-%d %H:%M:%S.000"),
        "model": MODEL,
        "prompt_tokens": "900",
        "status": "success",
        "messages": "{}",
        "proxy_server_request": json.dumps(openai_body(asked)),
    }


def litellm_csv(requests: Sequence[Asked]) -> str:
    """Newest first, as the table is shown; one failed call, which counts for nothing."""
    rows = [litellm_row(n, a) for n, a in enumerate(requests)]
    rows.insert(3, {**rows[2], "request_id": "chatcmpl-failed", "status": "failure"})
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(reversed(rows))
    return out.getvalue()


def litellm_hashes() -> str:
    """Rows without a prompt, with the keyed block ids of the prefix-hash callback.

    The names inside the metadata are invented; the reader goes by their shape.
    """
    rows = []
    for n, (asked, ids, length) in enumerate(id_records()):
        hashes = {"block_size": BLOCK, "ids": [f"{(i * 2654435761) % 2**64:016x}" for i in ids]}
        row: Json = {**litellm_row(n, asked), "prompt_tokens": length, "proxy_server_request": "{}"}
        rows.append({**row, "completion_tokens": asked.output,
                     "metadata": json.dumps({"prefix_block_hashes": hashes})})  # fmt: skip
    return jsonl(rows)


def langfuse_pages(requests: Sequence[Asked]) -> str:
    """Pages of the public API, a span between the generations."""
    rows: list[Json] = [{"id": "s", "type": "SPAN", "name": "agent", "input": {"any": "thing"}}]
    for n, asked in enumerate(requests):
        rows.append(
            {"id": f"g{n}", "type": "GENERATION", "model": MODEL, "level": "DEFAULT",
             "startTime": stamp(asked.second, "%Y-%m-%dT%H:%M:%S.000Z"),
             "input": {"messages": openai_messages(asked),
                       "tools": openai_tools() if asked.tools else []}}
        )  # fmt: skip
    pages = [rows[n : n + 7] for n in range(0, len(rows), 7)]
    return "".join(
        json.dumps({"data": page, "meta": {"page": n, "totalPages": len(pages)}}, indent=1) + "\n"
        for n, page in enumerate(pages, 1)
    )
