"""Subcommands: one module each, one line each in ``COMMANDS``.

A command's module has ``add_arguments(parser)`` and ``run(args) -> int`` (the exit code), or, with
subcommands of its own, ``ACTIONS`` in the form of ``COMMANDS``; its docstring is the text of ``--help``.
Shared options come from ``cache_worthy.commands.options``. Heavy imports (numpy, networkx, pulp, z3)
belong inside ``run``.
"""

from __future__ import annotations

from collections.abc import Mapping

COMMANDS: Mapping[str, str] = {
    "analyze": "what caching is worth on a log, how much memory, which policy, what to pin",
    "compare": "two analyze --json documents side by side",
    "replay": "replay a log under one policy at one capacity",
    "bound": "what any schedule must recompute at one capacity, with a certificate",
    "convert": "write a log as a canonical trace (Mooncake JSON lines)",
    "capture": "record a running server's requests: a reverse proxy that writes a log",
    "policies": "list the policies with their sources",
    "models": "list the shipped models with their bytes per token, parameters and sources",
    "study": "measure a real engine with the prefix cache off and on",
    "adversary": "find, play and check instances on which a policy pays too much",
    "formats": "list the log formats with an example record each",
    "schema": "print the JSON Schema of a --json document",
    "completion": "print a shell completion script",
}
"""Name and summary of every command; listing them imports none."""

OTHER_SPELLINGS: Mapping[str, str] = {"analyse": "analyze"}
