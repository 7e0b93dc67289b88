"""Recorded conversations: ShareGPT (``conversations``), LMSYS and WildChat (``conversation``).

One record is many requests: the prompt of turn k is all that comes before it. There is no arrival
time of a turn (a record's time is the end of the whole conversation, so it is not used), so the
assumed order is conversation after conversation, turn after turn; with ``--concurrency N`` so many
conversations take turns.
"""

from __future__ import annotations

from cache_worthy.logs.body import as_dict
from cache_worthy.logs.chat import Chat, ChatError, read_messages, read_tools, turns
from cache_worthy.logs.prompts import Prompt, Record, Unusable, label

NAME = "conversations"
SUMMARY = "recorded conversations: ShareGPT, LMSYS, WildChat"
EXAMPLE = (
    '{"id": "talk_0", "conversations": [{"from": "human", "value": "A river?"}, {"from": "gpt", "value": '
    '"Danube"}]}'
)
FIELDS: tuple[str, ...] = ("conversations", "conversation")
INTERLEAVED = False


def detect(record: Record, field: str | None = None) -> str | None:
    """A list of turns."""
    if not isinstance(record, dict):
        return None
    return next((f for f in FIELDS if isinstance(record.get(f), list)), None)


def parse(record: Record, field: str, scope: str) -> tuple[Prompt, ...]:
    """One request per turn."""
    row = as_dict(record)
    try:
        messages = tuple(read_messages(row[field], field))
    except ChatError as error:
        raise Unusable(str(error)) from error
    chat = Chat(messages, read_tools(row.get("tools")))
    model = label(row.get("model"))
    return tuple(Prompt(content=chat.first(n), model=model, session=scope) for n in turns(messages))
