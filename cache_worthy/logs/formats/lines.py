"""A plain text file, one prompt per line; never detected, only on ``--format lines``."""

from __future__ import annotations

from cache_worthy.logs.prompts import Prompt, Record

NAME = "lines"
SUMMARY = "plain text, one prompt per line (only with --format lines)"
EXAMPLE = "Answer in one word. Name a river."
FIELDS: tuple[str, ...] = ("line",)
INTERLEAVED = False


def detect(record: Record, field: str | None = None) -> str | None:
    """Any line, but none of a first record: any text would be one."""
    return "line" if field is not None and isinstance(record, str) else None


def parse(record: Record, field: str, scope: str) -> tuple[Prompt, ...]:
    """One request per line."""
    return (Prompt(content=record),) if isinstance(record, str) else ()
