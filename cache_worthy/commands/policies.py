"""List the shipped policies, one line and its source each.

Columns: name, engine whose cache it replays (radix: the model of this project), whether the
path of the request in service is pinned, what it does.
"""

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
    from cache_worthy.engine_replay import listed
    from cache_worthy.sim.policies import POLICIES

    check_output(args.output, args.force)
    rows = [
        {
            "name": name,
            "summary": policy.summary,
            "source": policy.source,
            "engine": "radix",
            "pins_path": True,
        }
        for name, policy in POLICIES.items()
    ]
    rows += [
        {
            "name": p.name,
            "summary": p.summary,
            "source": p.source,
            "engine": p.engine,
            "pins_path": p.pins_path,
        }
        for p in listed()
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
        text = "".join(
            f"{r['name']:<17}{r['engine']:<9}{'pins' if r['pins_path'] else '-':<6}"
            f"{r['summary']}  [{r['source']}]\n"
            for r in rows
        )
    write_output(text, args.output, args.force)
    return 0
