"""Text logs: a record holds the prompt itself, as a string or as chat messages."""

from __future__ import annotations

from cache_worthy.logs.body import as_dict, contents, parsed, time_of
from cache_worthy.logs.chat import Chat
from cache_worthy.logs.prompts import (
    Prompt,
    Record,
    Tokens,
    Unusable,
    count,
    kind,
    label,
    priority_of,
)

NAME = "text"
SUMMARY = "the prompt as text or messages in a JSON record"
EXAMPLE = '{"prompt": "Answer in one word. Name a river."}'
FIELDS: tuple[str, ...] = ("prompt", "text", "input", "messages", "text_input")
INTERLEAVED = False


def detect(record: Record, field: str | None = None) -> str | None:
    """The first text field present; that of the first record in all."""
    found = next((f for f in FIELDS if f in record), None) if isinstance(record, dict) else None
    return found if field in (None, "", found) else None


def parse(record: Record, field: str, scope: str) -> tuple[Prompt, ...]:
    """One request per record; several where ``prompt`` or ``input`` lists several."""
    row = as_dict(record)
    value = row[field]
    if field == "messages" and isinstance(messages := parsed(value), list):
        value = messages  # a cell of CSV, or JSON inside a string
    if isinstance(value, str):
        found: list[Chat | Tokens | str] = [value]
    elif field in ("messages", "input", "prompt") and isinstance(value, list):
        found = contents(row, field)
    else:
        expected = "a list of messages" if field == "messages" else "a string"
        raise Unusable(f"{field}: expected {expected}, got {kind(value)}")
    answers = row.get("n")
    return tuple(
        Prompt(
            content=content,
            output_length=count(row.get("output_length")),
            timestamp=time_of(row),
            model=label(row.get("model")),
            salt=label(row.get("cache_salt")),
            request_id=label(row.get("request_id")),
            priority=priority_of(row),
            answers=answers if type(answers) is int and answers > 1 else 1,
        )
        for content in found
    )
