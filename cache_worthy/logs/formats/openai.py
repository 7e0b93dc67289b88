"""OpenAI-style requests: batch input files, and logged bodies of chat, completions, responses.

In a batch file the order of the lines is the only order. A ``prompt`` may be token ids, which are
used as they are, or a list of prompts, which are requests of their own; so are the texts or id
lists under ``input`` of an embeddings request. A list of items under ``input`` is one chat. A
request that continues a response stored at the server (``previous_response_id``,
``conversation``) holds only the end of its prompt and is unusable.
"""

from __future__ import annotations

from cache_worthy.logs.body import as_dict, body_field, parsed, prompts
from cache_worthy.logs.prompts import Prompt, Record, Refused, Unusable, check_status

NAME = "openai"
SUMMARY = "request bodies: OpenAI batch input, logged chat, completions, responses"
EXAMPLE = (
    '{"custom_id": "job-1", "method": "POST", "url": "/v1/chat/completions", "body": {"model": "m", '
    '"messages": [{"role": "system", "content": "Answer in one word."}, {"role": "user", "content": "Name a river."}]}}'
)
FIELDS: tuple[str, ...] = ("body.messages", "body.prompt", "body.input")
INTERLEAVED = False

_WRAPPERS = ("body", "request")


def _body(record: Record) -> tuple[str, dict[str, object]] | None:
    if not isinstance(record, dict):
        return None
    for name in _WRAPPERS:
        inner = parsed(record.get(name))
        if isinstance(inner, dict) and body_field(inner):
            return f"{name}.", inner
    if "model" in record and body_field(record):
        return "", record
    return None


def is_batch_output(record: Record) -> bool:
    """Whether a record is a line of a batch *output* file."""
    return (
        isinstance(record, dict)
        and "custom_id" in record
        and "body" not in record
        and isinstance(record.get("response"), dict | type(None))
        and "response" in record
    )


def detect(record: Record) -> str | None:
    """A request body with a prompt; a batch output file is recognised to be refused."""
    if is_batch_output(record):
        return "response"
    found = _body(record)
    return f"{found[0]}{body_field(found[1])}" if found else None


def accept(record: Record, field: str) -> str | None:
    """Any request body: chat and completions may alternate, and ``model`` may be missing."""
    if isinstance(record, dict) and "." not in field and body_field(record):
        return field
    return field if detect(record) else None


def parse(record: Record, field: str, scope: str) -> tuple[Prompt, ...]:
    """The requests of one body; one with an HTTP status from 400 on beside it is skipped."""
    row = as_dict(record)
    if is_batch_output(row):
        raise Refused(
            "a batch output file: it holds answers and no prompts; give the batch input file "
            "(the lines with custom_id, url and body)"
        )
    check_status(row)
    found = _body(row) or ("", row)
    name = body_field(found[1])
    if name is None:
        raise Unusable("no messages, prompt or input in the request body")
    return prompts(row, found[1], name, request_id=row.get("request_id", row.get("custom_id")))
