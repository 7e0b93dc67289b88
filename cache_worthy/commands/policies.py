"""List the shipped policies, one line and its source each.

Columns: name, engine whose cache it replays (radix: the model of this project), whether the
path of the request in service is pinned, what it does, and its source in brackets.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from cache_worthy.commands import options as arg
from cache_worthy.measure.policies import Listed, listed
from cache_worthy.report.model import Column, Table, table_of


@dataclass(frozen=True, slots=True)
class PolicyList:
    """Every policy that ``replay`` takes."""

    policies: tuple[Listed, ...]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    arg.add_output(parser)


def run(args: argparse.Namespace) -> int:
    """Print the registry."""
    rows = tuple(listed())
    arg.write_result(args, PolicyList(rows), lambda: [_table(rows)])
    return 0


def _table(rows: tuple[Listed, ...]) -> Table:
    return table_of(
        "policies",
        rows,
        columns={
            "name": lambda p: p.name,
            Column("engine", words=True): lambda p: p.engine,
            Column("pins", words=True): lambda p: "pins" if p.pins_path else "-",
            Column("what it does", words=True): lambda p: f"{p.summary} [{p.source}]",
        },
    )
