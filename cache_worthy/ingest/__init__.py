"""Logs of any known shape to requests: one file a format, one line each in ``FORMATS``.

A format module has ``NAME``, ``detect(record) -> str | None`` (the field it reads, or None) and
``parse(lines, number, record, field, options) -> Request``.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from cache_worthy.ingest import native, text
from cache_worthy.ingest.options import IngestOptions
from cache_worthy.sim.errors import TraceError
from cache_worthy.sim.trace import JsonLines, Request

FORMATS: tuple[ModuleType, ...] = (native, text)
"""In order of detection; to add one, write its file and add it here."""

__all__ = ["FORMATS", "IngestOptions", "Log", "read_log"]


@dataclass(frozen=True, slots=True)
class Log:
    """A request log as the advisor sees it.

    Attributes
    ----------
    source : str
        File name, or ``<stdin>``.
    sha256 : str
        Digest of the bytes read.
    format : str
        Name of the format.
    field : str
        The field that carries the prompt.
    requests : list of Request
    block_tokens : int
        Tokens in one block.
    chars_per_block : int or None
        Where blocks were cut from text.
    skipped_truncated : int
        1 if the last line was cut and skipped.
    length_mismatches : int
        Records whose number of blocks is not ``ceil(input_length / block_tokens)``.
    """

    source: str
    sha256: str
    format: str
    field: str
    requests: list[Request] = dataclasses.field(repr=False)
    block_tokens: int
    chars_per_block: int | None
    skipped_truncated: int
    length_mismatches: int


def read_log(source: str | Path, options: IngestOptions | None = None) -> Log:
    """Read a whole log; the first record decides the format and the field, the rest must follow.

    Parameters
    ----------
    source : str or Path
        A file, or ``"-"`` for standard input.
    options : IngestOptions, optional

    Raises
    ------
    TraceError
        On a file that cannot be read, a record of no known format, or mixed formats. The message
        names file and line.
    """
    options = options or IngestOptions()
    lines = JsonLines(source)
    requests: list[Request] = []
    chosen: tuple[ModuleType, str, int] | None = None
    for number, record in lines:
        found = _detect(record)
        if chosen is None:
            if found is None:
                expected = ", ".join(f for module in FORMATS for f in module.FIELDS)
                lines.fail(number, f"no prompt: expected one of the fields {expected}")
            chosen = (*found, number)
        elif found != chosen[:2]:
            has = f"has {found[1]!r}" if found else "has no prompt field"
            lines.fail(
                number,
                f"{has}, but line {chosen[2]} has {chosen[1]!r}; a log must keep one shape",
            )
        requests.append(chosen[0].parse(lines, number, record, chosen[1], options))
    if chosen is None:
        raise TraceError(f"{lines.name}: empty: no records")
    block = options.block_tokens
    return Log(
        source=lines.name,
        sha256=lines.digest,
        format=chosen[0].NAME,
        field=chosen[1],
        requests=requests,
        block_tokens=block,
        chars_per_block=options.chars_per_block if chosen[0] is text else None,
        skipped_truncated=lines.truncated,
        length_mismatches=sum(len(r.hash_ids) != -(-r.input_length // block) for r in requests),
    )


def _detect(record: dict[str, object]) -> tuple[ModuleType, str] | None:
    for module in FORMATS:
        name = module.detect(record)
        if name is not None:
            return module, name
    return None
