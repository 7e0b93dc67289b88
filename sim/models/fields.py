"""Typed reading of a model's JSON fields; what is wrong is one line with the name of the field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cache_worthy.sim.errors import InputError

LARGEST = 10**9
"""No architecture constant is larger; the products stay within what a float can show."""

MOST_LAYERS = 10_000
"""Of a configuration, whose layers are listed one by one."""


def shown(value: object) -> str:
    """A value as an error message quotes it."""
    text = repr(value)
    return text if len(text) <= 40 else "a longer value"


def checked(name: str, value: object, least: int = 1, most: int = LARGEST) -> int:
    """An integer within its range.

    Raises
    ------
    InputError
        For anything else, true and false included.
    """
    if type(value) is not int or not least <= value <= most:
        raise InputError(f"{name}: expected an integer from {least} to {most}, got {shown(value)}")
    return value


class Fields:
    """An object of a configuration; null counts as absent."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def __contains__(self, name: str) -> bool:
        return self._values.get(name) is not None

    def raw(self, name: str) -> object:
        """The value as it stands, None where absent."""
        return self._values.get(name)

    def integer(self, name: str, default: int | None = None, least: int = 1) -> int:
        """An integer; without a default it has to be there."""
        if name not in self:
            if default is None:
                raise InputError(f"{name}: missing; expected an integer from {least} to {LARGEST}")
            return default
        return checked(name, self._values[name], least)

    def optional(self, name: str, least: int = 1) -> int | None:
        """An integer, or None where absent."""
        return self.integer(name, least=least) if name in self else None

    @property
    def layers(self) -> int:
        """``num_hidden_layers``."""
        return checked("num_hidden_layers", self._values.get("num_hidden_layers"), 1, MOST_LAYERS)

    def flag(self, name: str, default: bool = False) -> bool:
        """True or false."""
        value = self._values.get(name)
        if value is None:
            return default
        if type(value) is not bool:
            raise InputError(f"{name}: expected true or false, got {shown(value)}")
        return value

    def text(self, name: str) -> str | None:
        """A string, or None where absent."""
        value = self._values.get(name)
        if value is not None and not isinstance(value, str):
            raise InputError(f"{name}: expected a string, got {shown(value)}")
        return value

    def per_layer(self, name: str, layers: int) -> Sequence[Any] | None:
        """A list with one entry per layer, or None where absent."""
        value = self._values.get(name)
        if value is None:
            return None
        if not isinstance(value, list) or len(value) < layers:
            raise InputError(f"{name}: expected a list of {layers} entries, got {shown(value)}")
        return value[:layers]

    def inner(self, name: str) -> Fields | None:
        """An object, or None where absent."""
        value = self._values.get(name)
        if value is None:
            return None
        if not isinstance(value, dict):
            raise InputError(f"{name}: expected an object, got {shown(value)}")
        return Fields(value)
