"""Anthropic-style requests: message batches (``params``) and logged request bodies.

The result file of a batch is recognised to be refused.
"""

from __future__ import annotations

from cache_worthy.logs.body import as_dict, prompts
from cache_worthy.logs.prompts import Prompt, Record, Refused, Unusable, check_status

NAME = "anthropic"
SUMMARY = "request bodies: Anthropic messages and message batches"
EXAMPLE = (
    '{"system": [{"type": "text", "text": "Answer in one word."}], "messages": [{"role": "user", "content": '
    '[{"type": "tool_result", "content": [{"type": "text", "text": "Danube"}]}]}]}'
)
FIELDS: tuple[str, ...] = ("params.messages", "messages")
INTERLEAVED = False

_OUTCOMES = ("succeeded", "errored", "canceled", "expired")
_OWN_PARTS = ("tool_use", "tool_result", "thinking", "redacted_thinking")


def is_batch_result(record: Record) -> bool:
    """Whether a record is a line of a batch's result file."""
    if not isinstance(record, dict) or "params" in record:
        return False
    result = record.get("result")
    return "custom_id" in record and isinstance(result, dict) and result.get("type") in _OUTCOMES


def detect(record: Record, field: str | None = None) -> str | None:
    """``params`` of a batch, or a body with what only this API has; later, any body with messages."""
    if not isinstance(record, dict):
        return None
    if is_batch_result(record):
        return "result"
    if field is not None:
        holder = record.get("params") if field.startswith("params") else record
        return field if isinstance(holder, dict) and "messages" in holder else None
    params = record.get("params")
    if isinstance(params, dict) and isinstance(params.get("messages"), list):
        return "params.messages"
    messages = record.get("messages")
    if not isinstance(messages, list):
        return None
    own = "system" in record or "anthropic_version" in record or any(map(_own, messages))
    return "messages" if own else None


def _own(message: object) -> bool:
    content = message.get("content") if isinstance(message, dict) else None
    return isinstance(content, list) and any(
        isinstance(p, dict) and p.get("type") in _OWN_PARTS for p in content
    )


def parse(record: Record, field: str, scope: str) -> tuple[Prompt, ...]:
    """One request per record; a batch's results are refused, and an HTTP status from 400 on skipped."""
    row = as_dict(record)
    if is_batch_result(row):
        raise Refused(
            "the result file of a message batch: it holds answers and no prompts; give the request "
            "file of the batch (the lines with custom_id and params)"
        )
    check_status(row)
    body = row.get("params") if field.startswith("params") else row
    if not isinstance(body, dict):
        raise Unusable("params: expected an object")
    return prompts(row, body, "messages", request_id=row.get("request_id", row.get("custom_id")))
