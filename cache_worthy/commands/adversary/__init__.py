"""Instances that are hard for an eviction policy, in exact arithmetic.

The policies here are the transcriptions of cache_worthy.theory, not the replay policies.
"""

from __future__ import annotations

import argparse
from types import ModuleType

from cache_worthy.commands.adversary import (
    check as adversary_check,
)
from cache_worthy.commands.adversary import (
    find as adversary_find,
)
from cache_worthy.commands.adversary import (
    play as adversary_play,
)

SUMMARY = "find, play and check instances on which a policy pays too much"

#: One module an action: SUMMARY, add_arguments(parser), run(args).
ACTIONS: dict[str, ModuleType] = {
    "find": adversary_find,
    "play": adversary_play,
    "check": adversary_check,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """One subcommand an action."""
    sub = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, module in ACTIONS.items():
        child = sub.add_parser(
            name,
            help=module.SUMMARY,
            description=module.__doc__,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        module.add_arguments(child)
        child.set_defaults(act=module.run)


def run(args: argparse.Namespace) -> int:
    """Run the action."""
    code: int = args.act(args)
    return code
