"""AgentX / WEKA traces: one JSON object per *conversation*, with block ids local to it.

Local ids mean nothing outside their conversation, so they are never merged across objects or
files, even where two conversations started alike: sharing between conversations is not in such a
log. Times are seconds from each conversation's own start: ordered by time, conversations run side by
side; with ``--order file`` one after another, with ``--concurrency N`` so many at once. Subagents are nested and share the scope of their
conversation; their times are taken as relative to the subagent's start when they are before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b

from cache_worthy.logs.hash_ids import block_size_of
from cache_worthy.logs.prompts import Blocks, Prompt, Record, Unusable, count, kind, label
from cache_worthy.logs.times import to_ms
from cache_worthy.sim.trace import BlockId

NAME = "weka"
SUMMARY = "one conversation per object, block ids local to it (AgentX / WEKA)"
EXAMPLE = (
    '{"id": "talk-7", "block_size": 64, "hash_id_scope": "local", "requests": [{"t": 0.5, "in": 70, '
    '"out": 12, "hash_ids": [0, 1]}]}'
)
FIELDS: tuple[str, ...] = ("requests[].hash_ids",)
INTERLEAVED = False


def detect(record: Record, field: str | None = None) -> str | None:
    """A list of requests beside a block size."""
    if not isinstance(record, dict) or not isinstance(record.get("requests"), list):
        return None
    return FIELDS[0] if "block_size" in record or "hash_id_scope" in record else None


def parse(record: Record, field: str, scope: str) -> tuple[Prompt, ...]:
    """Every request of the conversation, its subagents' included."""
    assert isinstance(record, dict)
    size = block_size_of(record)
    local = record.get("hash_id_scope", "local") != "global"
    key = blake2b(scope.encode("utf-8", "surrogatepass"), digest_size=16).digest() if local else b""
    return tuple(
        _prompt(entry, time, Blocks(_scoped_ids(entry, key), size, True), session=scope)
        for entry, time in _requests(record.get("requests"))
    )


Entry = dict[str, object]


def _requests(
    entries: object, start: float = 0.0, level: int = 0
) -> Iterator[tuple[Entry, int | float | None]]:
    """The entries with block ids, and when each came, in milliseconds."""
    if not isinstance(entries, list) or level > 32:
        raise Unusable(f"requests: expected a list, got {kind(entries)}")
    times = [
        t for e in entries if isinstance(e, dict) and (t := to_ms(e.get("t"), 1000)) is not None
    ]
    base = start if level and times and min(times) < start else 0.0
    for entry in entries:
        if not isinstance(entry, dict):
            raise Unusable(f"requests: expected objects, got {kind(entry)}")
        time = to_ms(entry.get("t"), 1000)
        if time is not None and base:
            time += base
        if isinstance(entry.get("requests"), list):
            yield from _requests(entry["requests"], time or 0.0, level + 1)
        elif entry.get("hash_ids") is not None:
            yield entry, time


def _prompt(entry: Entry, time: float | None, content: Blocks, *, session: str) -> Prompt:
    return Prompt(
        content=content,
        input_length=count(entry.get("in")),
        output_length=count(entry.get("out")),
        timestamp=time,
        model=label(entry.get("model")),
        session=session,
        own_clock=True,
    )


def _scoped_ids(entry: Entry, key: bytes) -> list[BlockId]:
    ids = entry["hash_ids"]
    if not isinstance(ids, list) or not set(map(type, ids)) <= {int, str}:
        raise Unusable("hash_ids: expected a list of integers or strings")
    return [_scoped(key, i) for i in ids] if key else ids


def _scoped(key: bytes, block: object) -> int:
    data = repr(block).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(data, digest_size=8, key=key).digest(), "big") >> 1
