"""Errors of the simulator."""

from __future__ import annotations


class InputError(ValueError):
    """Input that the simulator cannot use: what, where, the allowed range."""


class TraceError(InputError):
    """A trace that cannot be read; the message names the file, the line and what was expected."""


class CapacityError(InputError):
    """A capacity under the floor: some request's own path does not fit."""


class InvariantError(RuntimeError):
    """A bug in the simulator or in a policy, never a property of the input.

    Raised with ``raise``, so ``python -O`` does not remove it.
    """
