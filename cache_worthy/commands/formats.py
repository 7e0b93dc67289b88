"""List the log formats that can be read, with an example record each (invented).

A record is one line in a log; here long ones are broken to fit a terminal. --json has them
as they are.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from cache_worthy.commands import options as arg
from cache_worthy.report.model import Facts


@dataclass(frozen=True, slots=True)
class ListedFormat:
    """A format: what it is, the fields that mark it, and an invented record."""

    name: str
    summary: str
    fields: tuple[str, ...]
    example: str


@dataclass(frozen=True, slots=True)
class FormatList:
    """The registry, in order of detection."""

    formats: tuple[ListedFormat, ...]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    arg.add_output(parser)


def run(args: argparse.Namespace) -> int:
    """Print the registry."""
    from cache_worthy.logs.formats import FORMATS

    rows = tuple(
        ListedFormat(name=f.NAME, summary=f.SUMMARY, fields=f.FIELDS, example=f.EXAMPLE)
        for f in FORMATS
    )
    shown = tuple(line for r in rows for line in ((r.name, r.summary), ("", r.example)))
    arg.write_result(args, FormatList(rows), lambda: [Facts("formats", shown)])
    return 0
