"""Print the JSON Schema (draft 2020-12) of a document that --json writes.

Without a name the names are listed. A document says in its field "schema" which one it follows; the
number at the end is raised when a field goes or changes its meaning, not when one is added.
"""

from __future__ import annotations

import argparse
import json

from cache_worthy.commands import options as arg
from cache_worthy.console import write_output
from cache_worthy.documents import DOCUMENTS, schema, schema_id
from cache_worthy.report.model import Facts
from cache_worthy.report.terminal import render_parts


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.add_argument("name", nargs="?", metavar="NAME", help=", ".join(DOCUMENTS))
    arg.add_output(parser, json=False)


def run(args: argparse.Namespace) -> int:
    """Print one schema, or the names of all."""
    if args.name is None:
        text = render_parts([Facts("schemas", tuple((n, schema_id(n)) for n in DOCUMENTS))])
    else:
        arg.require(
            args.name in DOCUMENTS, f"{args.name}: unknown; expected one of {', '.join(DOCUMENTS)}"
        )
        text = json.dumps(schema(args.name), indent=2) + "\n"
    write_output(text, args.output, args.force)
    return 0
