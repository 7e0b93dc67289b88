"""The parser of the command line, made from the registry of commands."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Container, Mapping

from cache_worthy import __version__
from cache_worthy.commands import COMMANDS
from cache_worthy.errors import UsageError


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line and a hint."""

    def error(self, message: str) -> None:  # type: ignore[override]
        raise UsageError(f"{message} (see {self.prog} --help)")


def build_parser(loaded: Container[str] = COMMANDS) -> argparse.ArgumentParser:
    """The parser: every command is listed, and those in ``loaded`` have their options."""
    parser: argparse.ArgumentParser = Parser(
        prog="cache-worthy",
        description="Advisor and workbench for prefix caching in LLM serving.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"cache-worthy {__version__}")
    sub = parser.add_subparsers(dest="command", metavar="COMMAND")
    _add_commands(sub, "cache_worthy.commands", commands=COMMANDS, loaded=loaded)
    return parser


def _add_commands(
    sub: argparse._SubParsersAction[argparse.ArgumentParser],
    package: str,
    commands: Mapping[str, str],
    loaded: Container[str],
) -> None:
    """List every command of a package; those in ``loaded`` are imported and get their options."""
    for name, summary in commands.items():
        if name not in loaded:
            sub.add_parser(name, help=summary)
            continue
        module = importlib.import_module(f"{package}.{name}")
        child = sub.add_parser(
            name,
            help=summary,
            description=module.__doc__,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        actions: Mapping[str, str] = getattr(module, "ACTIONS", {})
        if actions:
            below = child.add_subparsers(dest="action", metavar="ACTION", required=True)
            _add_commands(below, module.__name__, commands=actions, loaded=actions)
        else:
            module.add_arguments(child)
            child.set_defaults(run=module.run)
