"""Subcommands: one file each, one line each in ``COMMANDS``.

A command module has ``SUMMARY`` (one line), ``add_arguments(parser)`` and ``run(args) -> int``
(the exit code). Shared options come from ``cache_worthy.commands.options``. Heavy imports (numpy,
networkx, pulp, z3) belong inside ``run``.
"""

from __future__ import annotations

COMMANDS: tuple[str, ...] = (
    "analyze",
    "compare",
    "replay",
    "bound",
    "convert",
    "capture",
    "policies",
    "models",
    "study",
    "adversary",
    "formats",
    "schema",
    "completion",
)
