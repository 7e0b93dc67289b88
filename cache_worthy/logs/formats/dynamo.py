"""NVIDIA Dynamo request traces (``dynamo.request.trace.v1``): 64-bit hashes of whole prefixes.

Only ``request_end`` records with replay metadata hold a request; tool and payload records are
others. A record may be wrapped in ``{"timestamp": …, "event": {…}}``.
"""

from __future__ import annotations

from cache_worthy.logs.hash_ids import block_size_of
from cache_worthy.logs.prompts import Blocks, Prompt, Record, Unusable, count, kind, label
from cache_worthy.logs.times import to_ms

NAME = "dynamo"
SUMMARY = "block hashes of 64 bits (NVIDIA Dynamo request trace v1)"
EXAMPLE = (
    '{"schema": "dynamo.request.trace.v1", "event_type": "request_end", "request": {"request_id": '
    '"q-4", "input_tokens": 40, "request_received_ms": 1781000000500, "replay": {"trace_block_size"'
    ': 32, "input_length": 40, "input_sequence_hashes": [18000000000000000007, 11]}}}'
)
FIELDS: tuple[str, ...] = ("request.replay.input_sequence_hashes",)
INTERLEAVED = False


def _event(record: Record) -> dict[str, object] | None:
    if not isinstance(record, dict):
        return None
    inner = record.get("event")
    event = inner if isinstance(inner, dict) else record
    schema = event.get("schema")
    return event if isinstance(schema, str) and schema.startswith("dynamo.request.trace") else None


def detect(record: Record, field: str | None = None) -> str | None:
    """The schema name."""
    return FIELDS[0] if _event(record) is not None else None


def parse(record: Record, field: str, scope: str) -> tuple[Prompt, ...]:
    """One request for each finished one."""
    event = _event(record)
    if event is None or event.get("event_type") != "request_end":
        return ()
    request = event.get("request")
    if not isinstance(request, dict):
        raise Unusable(f"request: expected an object, got {kind(request)}")
    replay = request.get("replay")
    if not isinstance(replay, dict):
        raise Unusable(
            "no replay metadata, so no prefix identity; start Dynamo with DYN_REQUEST_TRACE=1 and "
            "request_end among DYN_REQUEST_TRACE_RECORDS"
        )
    ids = replay.get("input_sequence_hashes")
    if not isinstance(ids, list) or not set(map(type, ids)) <= {int, str}:
        raise Unusable("input_sequence_hashes: expected a list of integers")
    length = count(replay.get("input_length"))
    return (
        Prompt(
            content=Blocks(ids, block_size_of(replay, "trace_block_size"), True),
            input_length=count(request.get("input_tokens")) if length is None else length,
            output_length=count(request.get("output_tokens")),
            timestamp=to_ms(request.get("request_received_ms")),
            model=label(request.get("model")),
            request_id=label(request.get("request_id")),
        ),
    )
