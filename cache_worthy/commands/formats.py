"""List the log formats that can be read, with an example record each (invented)."""

from __future__ import annotations

import argparse

from cache_worthy import arguments as arg
from cache_worthy.output import check_output, to_json, write_output

SUMMARY = "list the log formats with an example record each"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    arg.add_output(parser)


def run(args: argparse.Namespace) -> int:
    """Print the registry."""
    from cache_worthy import __version__
    from cache_worthy.ingest import FORMATS

    check_output(args.output, args.force)
    rows = [
        {"name": f.NAME, "summary": f.SUMMARY, "fields": f.FIELDS, "example": f.EXAMPLE}
        for f in FORMATS
    ]
    if args.json:
        text = to_json(
            {"tool": "cache-worthy", "version": __version__, "command": "formats", "formats": rows}
        )
    else:
        text = "".join(f"{r['name']:<15}{r['summary']}\n  {r['example']}\n\n" for r in rows)
    write_output(text, args.output, args.force)
    return 0
