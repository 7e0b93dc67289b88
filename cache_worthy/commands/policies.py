"""List the shipped policies, one line and its source each.

Columns: name, engine whose cache it replays (radix: the model of this project), whether the
path of the request in service is pinned, what it does, and its source in brackets.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from cache_worthy.commands import options as arg
from cache_worthy.console import check_output
from cache_worthy.measure.policies import Listed, listed
from cache_worthy.report.model import Column, Table, table


@dataclass(frozen=True, slots=True)
class PolicyList:
    """Every policy that ``replay`` takes."""

    policies: tuple[Listed, ...]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    arg.add_output(parser)


def run(args: argparse.Namespace) -> int:
    """Print the registry."""
    check_output(args.output, args.force)
    rows = tuple(listed())
    arg.write_result(args, PolicyList(rows), lambda: [_table(rows)])
    return 0


def _table(rows: tuple[Listed, ...]) -> Table:
    return table(
        "policies",
        "",
        columns=[Column(head, words=True) for head in ("name", "engine", "pins", "what it does")],
        rows=(
            (p.name, p.engine, "pins" if p.pins_path else "-", f"{p.summary} [{p.source}]")
            for p in rows
        ),
    )
