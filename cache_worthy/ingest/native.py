"""Native logs: a ``hash_ids`` list a record (Mooncake, AIPerf mooncake_trace)."""

from __future__ import annotations

from cache_worthy.ingest.options import IngestOptions
from cache_worthy.sim.trace import JsonLines, Request, parse_native

NAME = "native"
FIELDS = ("hash_ids",)


def detect(record: dict[str, object]) -> str | None:
    """The field that makes a record native."""
    return "hash_ids" if "hash_ids" in record else None


def parse(
    lines: JsonLines, number: int, record: dict[str, object], field: str, options: IngestOptions
) -> Request:
    """Ids are used verbatim."""
    return parse_native(lines, number, record)
