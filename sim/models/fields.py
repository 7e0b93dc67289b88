"""Typed reading of a model's JSON fields; what is wrong is one line with the name of the field."""

from __future__ import annotations

from collections.abc import Mapping
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

    def raw(self, name: str) -> Any:
        """The value as it is, None where absent."""
        return self._values.get(name)

    def _typed(self, name: str, kind: type, what: str) -> Any:
        """The value, of this type, or None where absent."""
        value = self._values.get(name)
        if value is not None and type(value) is not kind:
            raise InputError(f"{name}: expected {what}, got {shown(value)}")
        return value

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
        value: bool | None = self._typed(name, bool, "true or false")
        return default if value is None else value

    def text(self, name: str) -> str | None:
        """A string, or None where absent."""
        value: str | None = self._typed(name, str, "a string")
        return value

    def inner(self, name: str) -> Fields | None:
        """An object, or None where absent."""
        value = self._typed(name, dict, "an object")
        return None if value is None else Fields(value)

    def section(self, name: str) -> Fields:
        """An object that has to be there."""
        found = self.inner(name)
        if found is None:
            raise InputError(f"{name}: missing; expected an object")
        return found

    def integers(self, name: str) -> list[int]:
        """A list of integers."""
        value = self.raw(name)
        if not isinstance(value, list) or not all(type(i) is int for i in value):
            raise InputError(f"{name}: expected a list of integers, got {shown(value)}")
        return value

    def per_layer(self, name: str, layers: int) -> list[Any] | None:
        """A list with one entry per layer, or None where absent."""
        value = self._values.get(name)
        if value is None:
            return None
        if not isinstance(value, list) or len(value) < layers:
            raise InputError(f"{name}: expected a list of {layers} entries, got {shown(value)}")
        return value[:layers]

    def every_layer(self, name: str) -> list[Any]:
        """A list with one entry per layer, which has to be there."""
        value = self.per_layer(name, self.layers)
        if value is None:
            raise InputError(f"{name}: missing; expected a list with one entry per layer")
        return value
