"""When machine code is worth its start: loading it takes longer than a replay of a small log.

Whatever is decided here, results are the same; only time and memory are not.
"""

from __future__ import annotations

import importlib
from functools import cache

SINGLE_FROM = 100_000
"""Requests from which one replay alone takes longer in Python than loading the machine code."""

MANY_FROM = 3_000
"""Requests from which the replays of a whole analysis do."""

LOADED_FROM = 100
"""Requests from which a replay gains once it is loaded."""

_loaded = False


on_disk = True
"""Whether machine code may be kept on disk and taken from there."""


@cache
def available() -> bool:
    """Whether numba is installed, works with the numpy beside it and may compile.

    Without that (``NUMBA_DISABLE_JIT``) the kernels would be slower than the plain engine, and their
    products of numpy's 32-bit integers would overflow.
    """
    try:
        numba = importlib.import_module("numba")
    except ImportError:
        return False
    return not numba.config.DISABLE_JIT


def expect_many(requests: int) -> None:
    """Say that many replays of a log of this size follow."""
    global _loaded
    _loaded = _loaded or (requests >= MANY_FROM and available())


def wanted(requests: int) -> bool:
    """Whether a replay of a log of this size should run as machine code."""
    global _loaded
    if requests < (LOADED_FROM if _loaded else SINGLE_FROM) or not available():
        return False
    _loaded = True
    return True
