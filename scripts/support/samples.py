"""The samples of examples/formats: which file is in which format, its native twin, and its options.

A new format adds its sample to ``SAMPLES`` and, where no twin has the same requests, to ``TWINS``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sample_bodies import (
    anthropic_body,
    langfuse_pages,
    litellm_csv,
    litellm_hashes,
    litellm_row,
    openai_body,
    openai_messages,
    openai_tools,
    otel_span,
    otlp_document,
)
from sample_logs import (
    dynamo,
    lmsys,
    sglang_json,
    sglang_log,
    sharegpt,
    vllm_debug_log,
    vllm_log,
    weka,
)
from sample_traffic import BLOCK, MODEL, Asked, conversation_requests, jsonl, stamp, traffic
from sample_twins import id_records, of_text, of_tokens, simple_text, token_ids


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
