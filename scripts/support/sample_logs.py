"""The samples that servers and data sets write: log lines, conversations, block hashes."""

from __future__ import annotations

import json
from collections.abc import Sequence

from sample_traffic import (
    BLOCK,
    MODEL,
    START,
    Asked,
    Json,
    Turn,
    jsonl,
    last_of_sessions,
    stamp,
)
from sample_twins import id_records, simple_text, token_ids


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
