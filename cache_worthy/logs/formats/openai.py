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


def detect(record: Record, field: str | None = None) -> str | None:
    """A request body with a prompt, or what is refused: a line of a batch's output file.

    Later, chat and completions may alternate, and ``model`` may be missing.
    """
    if field is not None and isinstance(record, dict) and "." not in field and body_field(record):
        return field
    body = _body(record)
    found = "response" if is_batch_output(record) else body and f"{body[0]}{body_field(body[1])}"
    return found if field is None else found and field


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
