"""Compare two analyses, written with analyze --json: two logs, two days, two engines.

Different models or block sizes are compared all the same, and the difference is named first. Exit
code 0 whatever differs.
"""

from __future__ import annotations

import argparse

from cache_worthy.commands import options as arg
from cache_worthy.console import check_output, write_output
from cache_worthy.documents import document, to_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.add_argument("a", metavar="A.json", help="- for standard input")
    parser.add_argument("b", metavar="B.json", help="- for standard input")
    arg.add_output(parser)


def run(args: argparse.Namespace) -> int:
    """Compare and print."""
    from cache_worthy.advise.comparison import compare
    from cache_worthy.advise.reader import read_document
    from cache_worthy.report.terminal import render_sections
    from cache_worthy.report.words.comparison import sections

    check_output(args.output, args.force)
    arg.require(not args.a == args.b == "-", "-: only one of the two can be standard input")
    for name in (args.a, args.b):
        arg.require(
            args.output == "-" or not arg.same_file(args.output, name),
            f"-o {args.output}: is one of the documents; give another name for the result",
        )
    result = compare(read_document(args.a), read_document(args.b))
    text = to_json(document("compare", result)) if args.json else render_sections(sections(result))
    write_output(text, args.output, args.force)
    return 0
