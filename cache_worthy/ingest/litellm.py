"""LiteLLM spend logs: JSON lines, a JSON array, or CSV; prompts are JSON inside strings.

Prompts are stored only where the operator turned that on. The proxy cuts long strings in the middle
and leaves a mark; only what stands before the first mark is used, in whole blocks.
"""

from __future__ import annotations

import dataclasses

from cache_worthy.ingest.body import as_dict, body_field, parsed, prompts
from cache_worthy.ingest.chat import Chat, render
from cache_worthy.ingest.record import Prompt, Record, Skipped, Unusable

NAME = "litellm"
SUMMARY = "LiteLLM spend logs, JSON lines, array or CSV"
EXAMPLE = (
    '{"request_id": "gen-8", "startTime": "2026-06-02 08:15:09.250", "model": "m", "prompt_tokens": '
    '6, "messages": "{}", "proxy_server_request": "{\\"messages\\": [{\\"role\\": \\"user\\", '
    '\\"content\\": \\"Name a river.\\"}]}"}'
)
FIELDS: tuple[str, ...] = ("proxy_server_request", "messages")
INTERLEAVED = False

NO_PROMPT = (
    "a spend log without its prompt; set store_prompts_in_spend_logs: true under general_settings "
    "of the LiteLLM proxy"
)
CUT = "... (litellm_truncated"
"""What the proxy writes where it cut a string."""

_MARKS = {"startTime", "spend", "proxy_server_request", "call_type"}


def detect(record: Record) -> str | None:
    """A request id beside the columns of the spend table."""
    if not isinstance(record, dict) or "request_id" not in record:
        return None
    return "proxy_server_request" if _MARKS & record.keys() else None


def accept(record: Record, field: str) -> str | None:
    """As the first one."""
    return detect(record)


def parse(record: Record, field: str, scope: str) -> tuple[Prompt, ...]:
    """The request of a row; failed calls are skipped."""
    row = as_dict(record)
    if row.get("status") == "failure":
        raise Skipped("failed request")
    body = parsed(row.get("proxy_server_request"))
    if isinstance(body, dict) and isinstance(body.get("body"), dict):
        body = body["body"]
    if not isinstance(body, dict) or body_field(body) is None:
        messages = parsed(row.get("messages"))
        if not messages or not isinstance(messages, list | str):
            raise Unusable(NO_PROMPT)
        name = "messages" if isinstance(messages, list) else "prompt"
        body = {name: messages, "tools": parsed(row.get("tools"))}
    if row.get("model") is not None:
        body = {**body, "model": row["model"]}
    found = prompts(row, body, body_field(body) or "messages", row.get("request_id"))
    return tuple(dataclasses.replace(p, cut=True, cut_mark=CUT) if _is_cut(p) else p for p in found)


def _is_cut(prompt: Prompt) -> bool:
    content = prompt.content
    text = render(content, "simple") if isinstance(content, Chat) else content
    return isinstance(text, str) and CUT in text
