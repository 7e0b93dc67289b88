"""Write a log as its canonical trace: Mooncake JSON lines, what the certificate checker reads.

Blocks are numbered by first appearance; the same id under two different parents is two blocks.
Requests, their order, lengths and times are the log's own.
"""

from __future__ import annotations

import argparse
import json

from cache_worthy import arguments as arg
from cache_worthy.output import check_output, write_output

SUMMARY = "write a log as a canonical trace (Mooncake JSON lines)"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    arg.add_log(parser)
    arg.add_output(parser, json=False)


def run(args: argparse.Namespace) -> int:
    """Convert and write."""

    check_output(args.output, args.force)
    log = arg.read_log(args)
    number: dict[tuple[int, object], int] = {}
    lines: list[str] = []
    for request in log.requests:
        ids: list[int] = []
        parent = -1
        for block in request.hash_ids:
            parent = number.setdefault((parent, block), len(number))
            ids.append(parent)
        record: dict[str, object] = {}
        if request.timestamp is not None:
            record["timestamp"] = request.timestamp
        record["input_length"] = request.input_length
        if request.output_length is not None:
            record["output_length"] = request.output_length
        record["hash_ids"] = ids
        lines.append(json.dumps(record) + "\n")
    write_output("".join(lines), args.output, args.force)
    return 0
