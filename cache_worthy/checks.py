"""Checks of the values that users give.

A check takes the name of the argument and its value, and returns the value as Python's own type:
scalars and arrays of numpy are taken wherever a number or a list is.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from cache_worthy.errors import UsageError

Name = TypeVar("Name", bound=str)

INF = float("inf")


def wrong(name: str, expected: str, value: object) -> UsageError:
    """The error of an argument whose value is not what was expected."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # noqa: BLE001 (of a class of the user's own)
        text = f"a {type(value).__name__}"
    return UsageError(f"{name}: expected {expected}, got {text[:80]}{'...' * (len(text) > 80)}")


def integer(name: str, value: object, *, least: float = -INF, most: float = INF) -> int:
    """An integer, within its range.

    Examples
    --------
    >>> integer("pins", True, least=1)
    Traceback (most recent call last):
    ...
    cache_worthy.errors.UsageError: pins: expected an integer >= 1, got True
    """
    from numbers import Integral

    if isinstance(value, Integral) and not isinstance(value, bool):
        found = int(value)
        if least <= found <= most:
            return found
    raise wrong(name, "an integer" + _range(f">= {least}", f"<= {most}"), value)


def real(
    name: str, value: object, *, above: float = -INF, least: float = -INF, most: float = INF
) -> float:
    """A number, within its range and not NaN.

    Examples
    --------
    >>> real("sample", 1, above=0, most=1)
    1.0
    """
    from numbers import Real

    try:
        found = float(value) if isinstance(value, Real) and not isinstance(value, bool) else None
    except OverflowError:
        found = None
    if found is not None and above < found <= most and least <= found:
        return found
    raise wrong(name, "a number" + _range(f"> {above:g}", f">= {least:g}", f"<= {most:g}"), value)


def _range(*ends: str) -> str:
    shown = [end for end in ends if not end.endswith("inf")]
    return " " + " and ".join(shown) if shown else ""


def boolean(name: str, value: object) -> bool:
    """True or False, and nothing that merely counts as one."""
    numpy = sys.modules.get("numpy")
    if isinstance(value, bool) or (numpy is not None and isinstance(value, numpy.bool_)):
        return bool(value)
    raise wrong(name, "True or False", value)


def text(name: str, value: object, expected: str = "a string") -> str:
    """A string."""
    if isinstance(value, str):
        return str(value)
    raise wrong(name, expected, value)


def one_of(name: str, value: object, names: Iterable[Name]) -> Name:
    """One of the names."""
    for known in names:
        if isinstance(value, str) and value == known:
            return known
    raise wrong(name, f"one of {', '.join(names)}", value)


def file_name(name: str, value: object, expected: str = "the name of a file") -> str:
    """A string or a path that a system can take."""
    found = text(name, os.fspath(value) if isinstance(value, os.PathLike) else value, expected)
    try:
        if b"\0" not in os.fsencode(found):
            return found
    except UnicodeEncodeError:
        pass
    raise wrong(name, expected, value)


def listed(name: str, value: object, expected: str) -> list[Any]:
    """The items of a list, an array or the like; a string or a mapping is none."""
    if isinstance(value, Iterable) and not isinstance(value, str | bytes | bytearray | Mapping):
        try:
            return list(value)
        except TypeError:  # an array without dimensions
            pass
    raise wrong(name, expected, value)
