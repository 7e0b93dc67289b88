"""Text logs: the prompt itself, cut into blocks of characters and hashed cumulatively.

A prefix cache hashes ``(parent hash, tokens of the block)``; without a tokeniser this hashes
``(parent hash, characters of the block)``. Two prompts share a block exactly when they share all
characters up to its end. Only the scale (blocks a prompt) rides on the ratio of characters to
tokens.
"""

from __future__ import annotations

import json
from hashlib import blake2b

from cache_worthy.ingest.options import IngestOptions
from cache_worthy.sim.trace import JsonLines, Request

NAME = "text"
FIELDS = ("prompt", "text", "input", "messages")


def detect(record: dict[str, object]) -> str | None:
    """The first text field present."""
    return next((f for f in FIELDS if f in record), None)


def parse(
    lines: JsonLines, number: int, record: dict[str, object], field: str, options: IngestOptions
) -> Request:
    """Cut the prompt into blocks.

    Raises
    ------
    TraceError
        If the field holds neither a string nor a list of chat messages.
    """
    value = record[field]
    if isinstance(value, str):
        prompt = value
    elif field in ("messages", "input") and isinstance(value, list):
        prompt = _chat(lines, number, field, value)
    else:
        expected = "a list of messages" if field == "messages" else "a string"
        lines.fail(number, f"{field}: expected {expected}, got {type(value).__name__}")
    timestamp = record.get("timestamp")
    return Request(
        hash_ids=chunk_ids(prompt, options.chars_per_block),
        input_length=-int(-len(prompt) // options.chars_per_token),
        timestamp=timestamp if type(timestamp) in (int, float) else None,  # type: ignore[arg-type]
    )


def chunk_ids(prompt: str, chars_per_block: int) -> tuple[int, ...]:
    """Chained 63-bit hashes of the prompt's blocks, the partial last one included.

    BLAKE2b, not ``hash()``: the latter is salted a process, which would break determinism.

    Examples
    --------
    >>> a, b = chunk_ids("shared, then this", 8), chunk_ids("shared, and then", 8)
    >>> a[0] == b[0], a[1] == b[1], len(a), len(b)
    (True, False, 3, 2)
    """
    ids = []
    parent = b""
    for start in range(0, len(prompt), chars_per_block):
        chunk = prompt[start : start + chars_per_block].encode("utf-8", "surrogatepass")
        parent = blake2b(parent + chunk, digest_size=8).digest()
        ids.append(int.from_bytes(parent, "big") >> 1)
    return tuple(ids)


def _chat(lines: JsonLines, number: int, field: str, messages: list[object]) -> str:
    """Chat messages as one text: a role marker, the content, a newline, message by message."""
    out = []
    for i, message in enumerate(messages):
        if not isinstance(message, dict):
            lines.fail(number, f"{field}[{i}]: expected an object, got {type(message).__name__}")
        content = message.get("content")
        if isinstance(content, list):
            content = "".join(_part(part) for part in content)
        elif content is None:
            content = ""
        elif not isinstance(content, str):
            content = _canonical(content)
        rest = {k: v for k, v in message.items() if k not in ("role", "content")}
        out.append(f"<|{message.get('role', '')}|>\n{content}\n")
        if rest:
            out.append(_canonical(rest) + "\n")
    return "".join(out)


def _part(part: object) -> str:
    if isinstance(part, dict) and isinstance(part.get("text"), str):
        return str(part["text"])
    return part if isinstance(part, str) else _canonical(part)


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
