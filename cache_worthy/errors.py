"""The error of what a user did wrong."""

from __future__ import annotations

from cache_worthy.sim.errors import InputError


class UsageError(InputError):
    """What is wrong, where, the allowed range and a hint; the command line ends with exit code 2."""
