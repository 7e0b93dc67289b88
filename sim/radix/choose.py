"""When to use the compiled engine: loading it takes longer than the replay of a small log.

The choice changes time and memory, never a result.
"""

from __future__ import annotations

import importlib
from functools import cache

SINGLE_FROM = 100_000
"""Requests from which a single replay in Python takes longer than loading the machine code."""

MANY_FROM = 3_000
"""Requests from which the replays of a whole analysis do."""

LOADED_FROM = 100
"""Requests from which a replay gains once the machine code is loaded."""

_loaded = False

on_disk = True
"""Whether machine code may be kept on disk and taken from there."""


@cache
def available() -> bool:
    """Whether numba is installed, works with the installed numpy and may compile.

    Where it may not (``NUMBA_DISABLE_JIT``) the kernels would be slower than the plain engine, and
    their products of numpy's 32-bit integers would overflow.
    """
    try:
        numba = importlib.import_module("numba")
    except ImportError:
        return False
    return not numba.config.DISABLE_JIT


def expect_many(requests: int) -> None:
    """Announce many replays of a log of this size."""
    global _loaded
    _loaded = _loaded or (requests >= MANY_FROM and available())


def wanted(requests: int) -> bool:
    """Whether to replay a log of this size as machine code."""
    global _loaded
    if requests < (LOADED_FROM if _loaded else SINGLE_FROM) or not available():
        return False
    _loaded = True
    return True
