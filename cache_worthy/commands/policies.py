"""List the shipped policies, one line and its source each."""

from __future__ import annotations

import argparse

from cache_worthy import arguments as arg
from cache_worthy.output import check_output, to_json, write_output

SUMMARY = "list the policies with their sources"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    arg.add_output(parser)


def run(args: argparse.Namespace) -> int:
    """Print the registry."""
    from cache_worthy import __version__
    from cache_worthy.sim.policies import POLICIES

    check_output(args.output, args.force)
    rows = [
        {"name": name, "summary": policy.summary, "source": policy.source}
        for name, policy in POLICIES.items()
    ]
    if args.json:
        text = to_json(
            {
                "tool": "cache-worthy",
                "version": __version__,
                "command": "policies",
                "policies": rows,
            }
        )
    else:
        text = "".join(f"{r['name']:<15}{r['summary']}  [{r['source']}]\n" for r in rows)
    write_output(text, args.output, args.force)
    return 0
