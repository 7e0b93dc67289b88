"""Langfuse observations: only ``GENERATION`` holds a model call; input may be JSON in a string.

One observation a record, or whole pages of the public API (``{"data": […], "meta": {…}}``), which
the reader takes apart.
"""

from __future__ import annotations

import dataclasses

from cache_worthy.logs.body import as_dict, body_field, parsed, prompts
from cache_worthy.logs.prompts import Prompt, Record, Skipped, Unusable, label

NAME = "langfuse"
SUMMARY = "Langfuse observations (generations)"
EXAMPLE = (
    '{"type": "GENERATION", "start_time": "2026-06-02 08:15:09.250000", "input": '
    '"[{\\"role\\":\\"user\\",\\"content\\":\\"Name a river.\\"}]"}'
)
FIELDS: tuple[str, ...] = ("input",)
INTERLEAVED = False

_TYPES = ("GENERATION", "SPAN", "EVENT", "AGENT", "TOOL", "CHAIN", "RETRIEVER", "EMBEDDING")


def detect(record: Record, field: str | None = None) -> str | None:
    """A kind of observation."""
    return "input" if isinstance(record, dict) and record.get("type") in _TYPES else None


def parse(record: Record, field: str, scope: str) -> tuple[Prompt, ...]:
    """The request of a generation."""
    row = as_dict(record)
    if row.get("type") != "GENERATION":
        return ()
    if row.get("level") == "ERROR":
        raise Skipped("failed request")
    value = parsed(row.get("input"))
    if isinstance(value, dict) and body_field(value):
        body = value
    elif isinstance(value, list):
        body = {"prompt" if set(map(type, value)) == {str} else "messages": value}
    elif isinstance(value, str) and value:
        body = {"prompt": value}
    else:
        raise Unusable("a generation without input; turn off masking of inputs in the SDK")
    model = row.get("model", row.get("providedModelName"))
    if model is not None:
        body = {**body, "model": model}
    found = prompts(row, body, body_field(body) or "messages", request_id=row.get("id"))
    session = label(row.get("sessionId", row.get("session_id")))
    return tuple(dataclasses.replace(one, session=session) for one in found)
