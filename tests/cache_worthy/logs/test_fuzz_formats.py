"""Any bytes, damaged samples and any JSON under known keys: requests or one clear error (rank 2).

``attempt`` raises on every other outcome; scripts/check/fuzz.py runs it coverage-guided.
"""

from __future__ import annotations

import json
import os

import attempts as script
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

SEEDS = list(script.seeds())

# More by hand: FUZZ_EXAMPLES=5000 python -m pytest tests/cache_worthy/logs/test_fuzz_formats.py
EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "80"))

KEYS = [
    "hash_ids", "input_length", "output_length", "timestamp", "chat_id", "schema", "event",
    "event_type", "request", "replay", "requests", "block_size", "hash_id_scope", "obj", "rid",
    "text", "input_ids", "request_id", "startTime", "status", "messages", "proxy_server_request",
    "type", "input", "attributes", "resourceSpans", "conversations", "conversation", "from", "value",
    "role", "content", "parts", "tool_calls", "function", "arguments", "params", "system", "tools",
    "body", "model", "prompt", "n", "custom_id", "response", "id", "t", "in", "priority",
    "gen_ai.input.messages", "gen_ai.system_instructions", "trace_block_size",
    "input_sequence_hashes", "cache_salt", "prompt_tokens", "ContextTokens", "output", "name",
    "data", "meta", "status", "code", "metadata", "prefix_block_hashes", "key", "stringValue",
    "arrayValue", "kvlistValue", "values", "spans", "scopeSpans", "result", "startTimeUnixNano",
    "level", "events", "error.type", "log", "stream", "time", "source", "image_url", "url", "file",
    "gen_ai.prompt.0.role", "gen_ai.prompt.0.content", "gen_ai.prompt.0.tool_calls",
    "gen_ai.prompt.0.tool_calls.0.name", "llm.request.functions.0.name", "cache_hit",
]  # fmt: skip
WORDS = [
    "dynamo.request.trace.v1", "request_end", "request.received", "request.finished", "GENERATION",
    "user", "assistant", "tool", "tool_use", "tool_result", "image_url", "[{}]", "{", "failure",
    "ERROR", "succeeded", "gen_ai.input.messages", "2026-05-01 10:00:00", "1e999", "\ud800", "...", "", "*", "local",
    "stdout", "line\n", "data:image/png;base64,AA==", "blob", "image",
]  # fmt: skip
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([2**63, 2**64 - 1, -1, 10**400, 16, 1 << 21])
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(WORDS)
    | st.text(max_size=20)
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5)
    ),
    max_leaves=14,
)
records = st.dictionaries(st.sampled_from(KEYS), values, min_size=1, max_size=7)
heads = st.tuples(st.integers(0, 255), st.integers(0, 255)).map(bytes)


@given(st.binary(max_size=400))
def test_any_bytes(data: bytes) -> None:
    script.attempt(data)


@settings(max_examples=EXAMPLES, deadline=None)
@given(
    heads, st.lists(records, min_size=1, max_size=4), st.sampled_from(["lines", "array", "indent"])
)
def test_any_json_under_known_keys(head: bytes, rows: list[dict[str, object]], form: str) -> None:
    if form == "lines":
        text = "\n".join(json.dumps(r) for r in rows)
    else:
        text = json.dumps(rows, indent=1 if form == "indent" else None)
    script.attempt(head + text.encode())


@settings(max_examples=EXAMPLES, deadline=None)
@given(heads, st.sampled_from(SEEDS), st.data())
def test_damaged_samples(head: bytes, seed: bytes, data: st.DataObject) -> None:
    body = seed[2:]
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(body)))
        gone = data.draw(st.sampled_from([0, 1, 5, 200]))
        new = data.draw(
            st.binary(max_size=6)
            | st.sampled_from(
                [b"\n", b"\r\n", b'"', b"'", b"\\", b"[", b"}", b"null", b"NaN", b"-1"]
            )
        )
        body = body[:at] + new + body[at + gone :]
    script.attempt(head + body)


@pytest.mark.parametrize(
    "data",
    [
        b"\xff\0" + b'\0\r{"chat_id": 51, "hash_ids": [90]}\n',  # the CSV sniffer met a lone return
        b"\xff\0" + b'{"type": []}',  # a type that cannot be hashed
    ],
)
def test_what_fuzzing_found(data: bytes) -> None:
    script.attempt(data)


def test_seeds_are_read() -> None:
    """The seeds reach what they are for: most of them hold requests."""
    outcomes = [script.attempt(s) for s in SEEDS]
    assert sum(n > 0 for n in outcomes) >= len(SEEDS) * 2 // 3


def test_an_unclear_error_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check can fail: a traceback and a shapeless message are both findings."""
    from cache_worthy.logs import session
    from cache_worthy.sim.errors import TraceError

    def silent(*args: object) -> None:
        raise TraceError("")

    monkeypatch.setattr(session, "read_log", silent)
    with pytest.raises(script.Finding):
        script.attempt(b"{}")

    def crash(*args: object) -> None:
        raise KeyError("x")

    monkeypatch.setattr(session, "read_log", crash)
    with pytest.raises(KeyError):
        script.attempt(b"{}")
