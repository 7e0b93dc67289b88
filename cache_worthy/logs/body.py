"""From a request body to requests, for the formats that hold one."""

from __future__ import annotations

import json
from collections.abc import Mapping

from cache_worthy.logs.chat import Chat, ChatError, read_chat
from cache_worthy.logs.prompts import (
    Prompt,
    Record,
    Tokens,
    Unusable,
    kind,
    label,
    lookup,
    priority_of,
    token_count,
)
from cache_worthy.logs.times import to_ms

BODY_FIELDS = ("messages", "prompt", "input")
CONTINUED = (
    "the request goes on from a stored response (previous_response_id or conversation), whose text "
    "is part of the prompt and not in the log; log prompts where the model is served"
)
TIMES = ("timestamp", "start_time", "startTime", "created_at", "time", "tstamp")


def body_field(body: object) -> str | None:
    """The field of a request body that holds the prompt."""
    if not isinstance(body, dict):
        return None
    return next((f for f in BODY_FIELDS if body.get(f) is not None), None)


def time_of(record: Mapping[str, object]) -> int | float | None:
    """The arrival time, under one of its usual names."""
    return next((t for f in TIMES if (t := to_ms(record.get(f))) is not None), None)


def answer_length(record: Mapping[str, object]) -> int | None:
    """Tokens of the answer, if the record counts them."""
    stated = token_count(record.get("output_length"))
    return token_count(record.get("completion_tokens")) if stated is None else stated


def parsed(value: object) -> object:
    """JSON inside a string, or the value itself.

    Examples
    --------
    >>> parsed('[{"role": "user"}]'), parsed("plain"), parsed({"a": 1})
    ([{'role': 'user'}], 'plain', {'a': 1})
    """
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def contents(body: dict[str, object], field: str) -> list[Chat | Tokens | str]:
    """The prompts of a body: a chat, a text, token ids, or a list of texts or id lists."""
    value = body.get(field)
    if field == "input" and (body.get("previous_response_id") or body.get("conversation")):
        raise Unusable(CONTINUED)
    try:
        if field == "messages":
            return [read_chat({**body, field: parsed(value)}, field)]
        if isinstance(value, str):
            if field == "input" and (body.get("instructions") or body.get("tools")):
                return [read_chat({**body, "input": [value]}, field)]
            return [value]
        if isinstance(value, list) and value:
            kinds = set(map(type, value))
            if kinds == {int}:
                return [Tokens(value)]
            if kinds == {str}:  # completions, and embeddings under "input": each its own prefix
                return list(value)
            if kinds == {list}:
                return [Tokens(v) for v in value]
            if field == "input":
                return [read_chat(body, field)]
    except ChatError as error:
        raise Unusable(str(error)) from error
    raise Unusable(f"{field}: expected a string, got {kind(value)}")


def prompts(
    record: dict[str, object], body: dict[str, object], field: str, *, request_id: object = None
) -> tuple[Prompt, ...]:
    """The requests of a body, with what the record around it says of them."""
    found = contents(body, field)
    answers, time = body.get("n"), time_of(record)
    # The tokens of several prompts' answers are counted together.
    answer = answer_length(record) if len(found) == 1 else None
    return tuple(
        Prompt(
            content=content,
            output_length=answer,
            timestamp=time,
            model=label(body.get("model", record.get("model"))),
            salt=label(lookup(body, "cache_salt")) or label(lookup(body, "lora_name")),
            priority=priority_of(body),
            request_id=label(request_id),
            answers=answers if type(answers) is int and answers > 1 else 1,
        )
        for content in found
    )


def as_dict(record: Record) -> dict[str, object]:
    """A record that is known not to be a line of text."""
    if not isinstance(record, dict):
        raise Unusable("expected an object")
    return record
