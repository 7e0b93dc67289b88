"""LiteLLM spend logs: JSON lines, a JSON array, or CSV; prompts are JSON inside strings.

Prompts are stored only if the operator turned that on. The proxy cuts long strings in the middle
and leaves a mark; only what comes before the first mark is used, in whole blocks.

Since v1.111 the callback ``prefix_block_hashes`` writes keyed ids of whole prefixes (chained
HMAC-SHA256, 16 hexadecimal digits each), the partial last block included, to the row's metadata;
if a row has them they are used, and no prompt is needed. *Not verified:* the names of the fields.
The documentation names none, and no release with the callback could be looked at (1.110.2 has none).
So they are read by their shape: the list of strings under that name, or the one such list in the
object there, and ``block_size`` beside it. If no size is stated, give --block-size.
"""

from __future__ import annotations

import dataclasses

from cache_worthy.logs.body import (
    answer_length,
    as_dict,
    body_field,
    parsed,
    prompts,
)
from cache_worthy.logs.chat import Chat
from cache_worthy.logs.chat_templates import simple
from cache_worthy.logs.prompts import Blocks, Prompt, Record, Skipped, Unusable, label, token_count
from cache_worthy.logs.times import to_ms

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
    "of the LiteLLM proxy, or its prefix_block_hashes callback"
)
CUT = "... (litellm_truncated"
"""The mark that the proxy writes at a cut."""

CALLBACK = "prefix_block_hashes"
"""The callback that stores block ids, and the name of its field."""

_MARKS = {"startTime", "spend", "proxy_server_request", "call_type"}


def detect(record: Record, field: str | None = None) -> str | None:
    """A request id beside the columns of the spend table."""
    if not isinstance(record, dict) or "request_id" not in record:
        return None
    return "proxy_server_request" if _MARKS & record.keys() else None


def parse(record: Record, field: str, scope: str) -> tuple[Prompt, ...]:
    """The request of a row; failed calls and answers from the proxy's own cache are skipped."""
    row = as_dict(record)
    if row.get("status") == "failure":
        raise Skipped("failed request")
    if row.get("cache_hit") in (True, "True", "true"):
        raise Skipped("answered from the proxy's cache")
    if (hashes := _hashes(row)) is not None:
        return (
            Prompt(
                content=hashes,
                input_length=token_count(row.get("prompt_tokens")),
                output_length=answer_length(row),
                timestamp=to_ms(row.get("startTime")),
                model=label(row.get("model")),
                request_id=label(row.get("request_id")),
            ),
        )
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
    found = prompts(row, body, body_field(body) or "messages", request_id=row.get("request_id"))
    return tuple(dataclasses.replace(p, cut=True, cut_mark=CUT) if _is_cut(p) else p for p in found)


def _hashes(row: dict[str, object]) -> Blocks | None:
    """The ids of the prefix-hash callback, by their shape."""
    metadata = parsed(row.get("metadata"))
    for holder in (row, metadata):
        if not isinstance(holder, dict):
            continue
        found = parsed(holder.get(CALLBACK))
        inside = found if isinstance(found, dict) else {CALLBACK: found}
        lists = [v for v in inside.values() if isinstance(v, list) and v]
        ids = [i for i in lists[0] if isinstance(i, str)] if len(lists) == 1 else []
        if ids and len(ids) == len(lists[0]):
            size = inside.get("block_size")
            stated = type(size) is int and 1 <= size <= 1 << 20
            return Blocks(ids, size if stated else None, stated)  # type: ignore[arg-type]
    return None


def _is_cut(prompt: Prompt) -> bool:
    content = prompt.content
    text = simple(content) if isinstance(content, Chat) else content
    return isinstance(text, str) and CUT in text
