"""Write the constructed samples of examples/formats: one traffic in every log format.

    python scripts/make_format_samples.py [--output DIR]

The traffic is invented. Beside each sample stands its native twin in native/: the same requests as
block ids, numbered here by comparing whole prefixes (text or token ids) and not by hashing, so that
tests/cache_worthy/logs/test_formats.py can hold the readers against an answer that shares no code with
them. SAMPLES says which twin and which options belong to which file.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OUTPUT = ROOT / "examples" / "formats"
BLOCK = 16  # tokens
CHARS = 4  # characters that stand for a token
START = datetime(2026, 5, 1, 10, 0, 0, tzinfo=UTC)
MODEL = "invented-8b"

Json = dict[str, object]

WORDS = [
    "amber",
    "basin",
    "cedar",
    "delta",
    "ember",
    "fjord",
    "grove",
    "heron",
    "inlet",
    "juniper",
    "kelp",
    "lagoon",
    "maple",
    "nectar",
    "orchard",
    "pebble",
    "quartz",
    "river",
    "spruce",
    "tundra",
    "umber",
    "valley",
    "willow",
    "yarrow",
    "zephyr",
]

TOOLS = [
    ("lookup", "Find an entry of the field guide.", {"type": "object", "properties": {"key": {"type": "string"}}}),
    ("measure", "Measure a distance.", {"type": "object", "properties": {"unit": {"type": "string"}}}),
]  # fmt: skip


@dataclass(frozen=True)
class Turn:
    """One message. A call stands for an assistant message that only calls a tool."""

    role: str
    text: str
    call: tuple[str, dict[str, str]] | None = None


@dataclass(frozen=True)
class Asked:
    """One request: seconds since the start, what was asked, tokens answered, whether with tools."""

    second: int
    turns: tuple[Turn, ...]
    output: int
    tools: bool


def traffic() -> list[Asked]:
    """Four agents in two groups, each group with its own preamble, interleaved, from a fixed seed."""
    rng = random.Random(20260501)

    def words(n: int) -> str:
        return " ".join(rng.choice(WORDS) for _ in range(n)).capitalize() + "."

    preambles = [words(60), words(45)]
    sessions: list[list[Turn]] = [[Turn("system", preambles[s % 2])] for s in range(4)]
    asked: list[Asked] = []
    second = 0
    for step in range(14):
        second += rng.randrange(1, 9)
        which = step % 4 if step < 4 else rng.randrange(4)
        turns = sessions[which]
        turns.append(
            Turn("user", words(rng.randrange(8, 30)) + (' It\'s "so"\n' if step % 5 == 0 else ""))
        )
        tools = which % 2 == 0
        asked.append(Asked(second, tuple(turns), rng.randrange(5, 60), tools))
        if tools and step % 3 == 0:
            turns.append(Turn("assistant", "", ("lookup", {"key": rng.choice(WORDS)})))
            turns.append(Turn("tool", words(rng.randrange(5, 20))))
            second += 1
            asked.append(Asked(second, tuple(turns), rng.randrange(5, 60), tools))
        turns.append(Turn("assistant", words(rng.randrange(5, 25))))
    return asked


# What the twins are made of.


def compact(value: object) -> str:
    """JSON with sorted keys and no spaces."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def simple_text(asked: Asked, *, tools: bool) -> str:
    """The prompt under the template ``simple``, written out by hand."""
    out = ""
    if tools and asked.tools:
        listed = [{"name": n, "description": d, "parameters": p} for n, d, p in TOOLS]
        out += "<|tools|>\n" + compact(listed) + "\n"
    for turn in asked.turns:
        out += "<|" + turn.role + "|>\n" + turn.text + "\n"
        if turn.call:
            name, arguments = turn.call
            out += '<|tool_call|>\n{"name":"' + name + '","arguments":' + compact(arguments) + "}\n"
    return out


def token_ids(text: str) -> list[int]:
    """Invented token ids: every word and space-separated piece its own number."""
    return [sum((i + 1) * b for i, b in enumerate(w.encode())) % 50_000 for w in text.split(" ")]


def native(
    rows: Sequence[tuple[Asked, Sequence[object], int]], *, timed: bool, output: bool
) -> str:
    """Twins: ``rows`` holds a request, its units (characters or tokens) and the units of a block."""
    number: dict[tuple[object, ...], int] = {}
    lines = []
    for asked, units, size in rows:
        ids = []
        for end in range(size, len(units) + size, size):
            ids.append(number.setdefault(tuple(units[:end]), len(number)))
        tokens = len(units) if size == BLOCK else -(-len(units) // CHARS)
        record: Json = {"timestamp": asked.second * 1000} if timed else {}
        record["input_length"] = tokens
        if output:
            record["output_length"] = asked.output
        lines.append({**record, "block_size": BLOCK, "hash_ids": ids})
    return jsonl(lines)


def of_text(requests: Sequence[Asked], *, tools: bool, timed: bool, output: bool) -> str:
    """The twin whose blocks are characters."""
    size = BLOCK * CHARS
    return native(
        [(a, simple_text(a, tools=tools), size) for a in requests], timed=timed, output=output
    )


def of_tokens(requests: Sequence[Asked], *, timed: bool, output: bool) -> str:
    """The twin whose blocks are token ids."""
    return native(
        [(a, token_ids(simple_text(a, tools=True)), BLOCK) for a in requests],
        timed=timed,
        output=output,
    )


def id_records() -> list[tuple[Asked, list[int], int]]:
    """Requests as block ids, for the formats that hold ids themselves."""
    rows = [json.loads(line) for line in of_tokens(traffic(), timed=True, output=True).splitlines()]
    return [(a, r["hash_ids"], r["input_length"]) for a, r in zip(traffic(), rows, strict=True)]


# How the formats write it.


def jsonl(records: Sequence[object]) -> str:
    """One JSON value a line."""
    return "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in records)


def stamp(second: int, form: str) -> str:
    """A moment of the traffic as text."""
    return (START + timedelta(seconds=second)).strftime(form)


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


def litellm_csv(requests: Sequence[Asked]) -> str:
    """Newest first, as the table is shown; one failed call, which counts for nothing."""
    rows = [litellm_row(n, a) for n, a in enumerate(requests)]
    rows.insert(3, {**rows[2], "request_id": "chatcmpl-failed", "status": "failure"})
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(reversed(rows))
    return out.getvalue()


def vllm_log(requests: Sequence[Asked]) -> str:
    """To v0.10: prompts at INFO, other lines between."""
    out = ["INFO 05-01 09:59:58 [api_server.py:1834] Starting vLLM API server 0 on port 8000"]
    for n, asked in enumerate(requests):
        head = stamp(asked.second, "INFO %m-%d %H:%M:%S [logger.py:39] ")
        text = simple_text(asked, tools=True)
        out.append(
            f"{head}Received request chatcmpl-{n}: prompt: {text!r}, params: SamplingParams(n=1, "
            f"stop=[', prompt_token_ids: [9, 9]']), prompt_token_ids: None, prompt_embeds shape: "
            "None, lora_request: None."
        )
        out.append(stamp(asked.second, "INFO %m-%d %H:%M:%S [async_llm.py:271] Added request."))
    return "\n".join(out) + "\n"


def vllm_debug_log(requests: Sequence[Asked]) -> str:
    """Later versions: the prompt in a DEBUG line, an INFO line without it."""
    out = []
    for n, asked in enumerate(requests):
        head = stamp(asked.second, "%m-%d %H:%M:%S [request_logger.py:57]")
        text = simple_text(asked, tools=True)
        out.append(
            f"(APIServer pid=77) DEBUG {head} Request chatcmpl-{n} details: prompt: {text!r}, "
            f"prompt_token_ids: {token_ids(text)}, prompt_embeds shape: None."
        )
        out.append(
            f"(APIServer pid=77) INFO {head} Received request chatcmpl-{n}: params: "
            "SamplingParams(n=1, temperature=0.7), lora_request: None."
        )
    return "\n".join(out) + "\n"


def sglang_json(requests: Sequence[Asked]) -> str:
    """Arrival and finish of each request as JSON events."""
    out: list[Json] = []
    for n, asked in enumerate(requests):
        obj: Json = {"rid": f"r{n}", "text": simple_text(asked, tools=True), "input_ids": None}
        at = stamp(asked.second, "%Y-%m-%dT%H:%M:%S.000000")
        out.append({"timestamp": at, "event": "request.received", "rid": f"r{n}", "obj": obj})
        at = stamp(asked.second + 1, "%Y-%m-%dT%H:%M:%S.500000")
        out.append(
            {"timestamp": at, "event": "request.finished", "rid": f"r{n}", "obj": obj,
             "out": {"meta_info": {"completion_tokens": asked.output}}}
        )  # fmt: skip
    return jsonl(out)


def sglang_log(requests: Sequence[Asked]) -> str:
    """Text lines with token ids, other lines between."""
    out = ["[2026-05-01 09:59:59] The server is fired up and ready to roll!"]
    for n, asked in enumerate(requests):
        ids = token_ids(simple_text(asked, tools=True))
        head = stamp(asked.second, "[%Y-%m-%d %H:%M:%S]")
        out.append(
            f"{head} Receive: obj=GenerateReqInput(rid='r{n}', http_worker_ipc=None, text=None, "
            f"input_ids={ids}, sampling_params={{'max_new_tokens': 64, 'stop': [')']}}, "
            "lora_path=None, extra_key=None)"
        )
        out.append(f"{head} Decode batch, #running-req: 1, #token: 900, token usage: 0.01")
    return "\n".join(out) + "\n"


def last_of_sessions() -> list[Asked]:
    """Whole conversations: of requests that extend each other, the longest, in order of start."""
    requests = traffic()
    return [
        a
        for a in requests
        if not any(b is not a and b.turns[: len(a.turns)] == a.turns for b in requests)
    ]


def conversation_requests() -> list[Asked]:
    """The prompts of those conversations, turn after turn."""
    out = []
    for whole in last_of_sessions():
        answered = (*whole.turns, Turn("assistant", "Done."))
        for n in range(1, len(answered)):
            if answered[n].role == "assistant":
                out.append(Asked(0, answered[:n], 0, False))
    return out


def sharegpt() -> str:
    """The conversations as one JSON array."""
    roles = {"user": "human", "assistant": "gpt", "system": "system", "tool": "observation"}
    out = []
    for n, whole in enumerate(last_of_sessions()):
        turns: list[Json] = []
        for turn in (*whole.turns, Turn("assistant", "Done.")):
            entry: Json = {"from": roles[turn.role], "value": turn.text}
            if turn.call:
                entry["function_call"] = {"name": turn.call[0], "arguments": turn.call[1]}
            turns.append(entry)
        out.append({"id": f"talk_{n}", "conversations": turns})
    return json.dumps(out, indent=1, ensure_ascii=False) + "\n"


def lmsys() -> str:
    """The conversations, one a line."""
    out = []
    for n, whole in enumerate(last_of_sessions()):
        turns: list[Json] = []
        for turn in (*whole.turns, Turn("assistant", "Done.")):
            entry: Json = {"role": turn.role, "content": turn.text}
            if turn.call:
                entry["function_call"] = {"name": turn.call[0], "arguments": turn.call[1]}
            turns.append(entry)
        out.append({"conversation_id": f"c{n}", "model": MODEL, "conversation": turns})
    return jsonl(out)


def weka() -> tuple[str, str]:
    """Conversations with local ids, pretty-printed one after another, and the twin."""
    documents: list[Json] = []
    twins: list[tuple[int, int, Json]] = []
    fresh = 0
    for n, whole in enumerate(last_of_sessions()):
        mine = [(a, i, t) for a, i, t in id_records() if whole.turns[: len(a.turns)] == a.turns]
        local: dict[int, int] = {}
        entries: list[Json] = []
        for asked, ids, length in mine:
            numbers = [local.setdefault(i, len(local)) for i in ids]
            entries.append({"t": float(asked.second), "type": "n", "in": length,
                            "out": asked.output, "hash_ids": numbers})  # fmt: skip
            twins.append((asked.second, len(twins), {
                "timestamp": asked.second * 1000, "input_length": length,
                "output_length": asked.output, "block_size": BLOCK,
                "hash_ids": [fresh + i for i in numbers]}))  # fmt: skip
        fresh += len(local)
        documents.append({"id": f"trace_{n}", "block_size": BLOCK, "hash_id_scope": "local",
                          "requests": entries})  # fmt: skip
    twins.sort(key=lambda t: t[:2])
    text = "".join(json.dumps(d, indent=1) + "\n" for d in documents)
    return text, jsonl([t[2] for t in twins])


def dynamo() -> str:
    """Finished requests, every second one wrapped, and a tool event."""
    base = int(START.timestamp()) * 1000
    out: list[Json] = [
        {"schema": "dynamo.request.trace.v1", "event_type": "tool_start", "tool": {}}
    ]
    for n, (asked, ids, length) in enumerate(id_records()):
        replay = {
            "trace_block_size": BLOCK,
            "input_length": length,
            "input_sequence_hashes": [2**64 - 1 - i * (2**40 + 7) for i in ids],
        }
        request = {
            "request_id": f"r{n}", "model": MODEL, "input_tokens": length,
            "output_tokens": asked.output, "request_received_ms": base + asked.second * 1000,
            "replay": replay,
        }  # fmt: skip
        event: Json = {
            "schema": "dynamo.request.trace.v1", "event_type": "request_end", "request": request
        }  # fmt: skip
        out.append({"timestamp": n, "event": event} if n % 2 else event)
    return jsonl(out)


@dataclass(frozen=True)
class Sample:
    """A file, its twin, and the options it is read with."""

    file: str
    twin: str
    format: str
    make: Callable[[], str]
    options: tuple[str, ...] = ("--block-size", str(BLOCK))
    timed: bool = True
    outputs: bool = False


def _each(write: Callable[[int, Asked], object]) -> Callable[[], str]:
    return lambda: jsonl([write(n, a) for n, a in enumerate(traffic())])


def _of(write: Callable[[Sequence[Asked]], str]) -> Callable[[], str]:
    return lambda: write(traffic())


SAMPLES: tuple[Sample, ...] = (
    Sample("native.jsonl", "tokens", "native", _each(lambda n, a: {
        "timestamp": a.second * 1000, "input_length": id_records()[n][2],
        "output_length": a.output, "hash_ids": [i + 700 for i in id_records()[n][1]]}),
        outputs=True),
    Sample("bailian.jsonl", "tokens", "bailian", _each(lambda n, a: {
        "chat_id": n, "parent_chat_id": -1, "timestamp": float(a.second),
        "input_length": id_records()[n][2], "output_length": a.output, "type": "text", "turn": 1,
        "hash_ids": id_records()[n][1]}), options=(), outputs=True),
    Sample("dynamo.jsonl", "tokens", "dynamo", dynamo, options=(), outputs=True),
    Sample("weka.json", "weka", "weka", lambda: weka()[0], options=(), outputs=True),
    Sample("openai_batch.jsonl", "chat_untimed", "openai", _each(lambda n, a: {
        "custom_id": f"r-{n}", "method": "POST", "url": "/v1/chat/completions",
        "body": openai_body(a)}), timed=False),
    Sample("openai_chat.jsonl", "chat", "openai", _each(lambda n, a: {
        "timestamp": a.second * 1000, **openai_body(a)})),
    Sample("openai_tokens.jsonl", "tokens", "openai", _each(lambda n, a: {
        "timestamp": a.second * 1000, "request": {
            "model": MODEL, "prompt": token_ids(simple_text(a, tools=True))}})),
    Sample("text.jsonl", "chat", "text", _each(lambda n, a: {
        "timestamp": a.second * 1000, "prompt": simple_text(a, tools=True)})),
    Sample("vllm.log", "chat", "vllm", _of(vllm_log)),
    Sample("vllm_debug.log", "tokens", "vllm", _of(vllm_debug_log)),
    Sample("sglang.jsonl", "chat", "sglang", _of(sglang_json)),
    Sample("sglang.log", "tokens", "sglang", _of(sglang_log)),
    Sample("litellm.jsonl", "chat", "litellm", _each(litellm_row)),
    Sample("litellm.json", "chat", "litellm", lambda: json.dumps(
        [litellm_row(n, a) for n, a in enumerate(traffic())], indent=1) + "\n"),
    Sample("litellm.csv", "chat", "litellm", _of(litellm_csv)),
    Sample("anthropic.jsonl", "chat", "anthropic", _each(lambda n, a: {
        "timestamp": a.second * 1000, **anthropic_body(a)})),
    Sample("anthropic_batch.jsonl", "chat_untimed", "anthropic", _each(lambda n, a: {
        "custom_id": f"r-{n}", "params": anthropic_body(a)}), timed=False),
    Sample("sharegpt.json", "conversations", "conversations", sharegpt, timed=False),
    Sample("lmsys.jsonl", "conversations", "conversations", lmsys, timed=False),
    Sample("langfuse.jsonl", "chat", "langfuse", _each(lambda n, a: {
        "id": f"g{n}", "type": "GENERATION", "model": MODEL,
        "start_time": stamp(a.second, "%Y-%m-%d %H:%M:%S.000000"), "input": json.dumps(
            {"messages": openai_messages(a), "tools": openai_tools() if a.tools else []})})),
    Sample("langfuse_pages.json", "chat", "langfuse", _of(langfuse_pages)),
    Sample("litellm_hashes.jsonl", "tokens", "litellm", litellm_hashes, options=(), outputs=True),
    Sample("otel.jsonl", "chat", "otel", _each(lambda n, a: otel_span(a)), outputs=True),
    Sample("otlp.json", "chat", "otel", _of(otlp_document), outputs=True),
)  # fmt: skip

TWINS: dict[str, Callable[[], str]] = {
    "chat": lambda: of_text(traffic(), tools=True, timed=True, output=True),
    "chat_untimed": lambda: of_text(traffic(), tools=True, timed=False, output=False),
    "tokens": lambda: of_tokens(traffic(), timed=True, output=True),
    "conversations": lambda: of_text(
        conversation_requests(), tools=False, timed=False, output=False
    ),
    "weka": lambda: weka()[1],
}


def main() -> int:
    """Write the files."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--output", type=Path, default=OUTPUT, metavar="DIR")
    folder: Path = parser.parse_args().output
    (folder / "native").mkdir(parents=True, exist_ok=True)
    for sample in SAMPLES:
        (folder / sample.file).write_bytes(sample.make().encode())
    for name, make in TWINS.items():
        (folder / "native" / f"{name}.jsonl").write_bytes(make().encode())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
