"""The one error type of the command line: bad input, told in a line or two, exit code 2."""

from __future__ import annotations


class UsageError(Exception):
    """What is wrong, where, the allowed range and a hint; shown without a traceback."""
