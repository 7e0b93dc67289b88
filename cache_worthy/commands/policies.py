"""List the shipped policies, one line and its source each.

Columns: name, engine whose cache it replays (radix: the model of this project), whether the
path of the request in service is pinned, what it does, and its source in brackets.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from cache_worthy.commands import options as arg
from cache_worthy.console import check_output, wrapped, write_output
from cache_worthy.documents import document, to_json
from cache_worthy.measure.policies import Listed, listed


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
    if args.json:
        text = to_json(document("policies", PolicyList(rows)))
    else:
        text = "".join(
            wrapped(
                f"{p.summary} [{p.source}]",
                f"{p.name:<17}{p.engine:<9}{'pins' if p.pins_path else '-':<6}",
                " " * 32,
            )
            + "\n"
            for p in rows
        )
    write_output(text, args.output, args.force)
    return 0
