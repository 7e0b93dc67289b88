"""Reading ``analyze --json`` documents back."""

from __future__ import annotations

from cache_worthy.documents import read_json, schema_id
from cache_worthy.errors import UsageError

LARGEST = 10**30
"""No figure of a document is larger: FLOPs of a log are below 1e25."""


class Reader:
    """A place in a document; anything missing or of another type is a usage error."""

    def __init__(self, file: str, value: object, place: str = "") -> None:
        self.file = file
        self.value = value
        self.place = place

    def _wrong(self, what: str, expected: str) -> UsageError:
        return UsageError(f"{self.file}: no whole analyze document: {what}: expected {expected}")

    def get(self, *names: str) -> Reader:
        """A field, possibly nested."""
        here = self
        for name in names:
            place = f"{here.place}.{name}".lstrip(".")
            if not isinstance(here.value, dict) or name not in here.value:
                raise self._wrong(place, "the field to be there")
            here = Reader(self.file, here.value[name], place)
        return here

    def maybe(self, name: str) -> Reader | None:
        """A field; None if it is null or missing."""
        there = isinstance(self.value, dict) and self.value.get(name) is not None
        return self.get(name) if there else None

    def names(self) -> list[str]:
        """The names of an object's fields."""
        if not isinstance(self.value, dict):
            raise self._wrong(self.place, "an object")
        return list(self.value)

    def rows(self, name: str) -> list[Reader]:
        """The elements of a list."""
        found = self.get(name)
        if not isinstance(found.value, list):
            raise self._wrong(found.place, "a list")
        return [Reader(self.file, v, f"{found.place}.{n}") for n, v in enumerate(found.value)]

    def integer(self, *names: str) -> int:
        """An integer."""
        found = self.get(*names)
        if type(found.value) is not int:
            raise self._wrong(found.place, "an integer")
        found.bounded(found.value)
        return found.value

    def number(self, *names: str) -> float | None:
        """A number, or null."""
        found = self.get(*names)
        if found.value is None:
            return None
        if isinstance(found.value, bool) or not isinstance(found.value, int | float):
            raise self._wrong(found.place, "a number or null")
        found.bounded(found.value)
        return found.value

    def bounded(self, value: float) -> None:
        """Refuse numbers that no analysis writes."""
        if abs(value) > LARGEST:
            raise self._wrong(self.place, f"a number of at most {LARGEST:.0e}")

    def text(self, *names: str) -> str:
        """A string."""
        found = self.get(*names)
        if not isinstance(found.value, str):
            raise self._wrong(found.place, "a string")
        return found.value


def read_document(file: str) -> Reader:
    """An ``analyze --json`` document of this schema version.

    Raises
    ------
    UsageError
        For anything else.
    """
    value = read_json(file, "; write it with analyze --json")
    if not isinstance(value, dict) or value.get("tool") != "cache-worthy":
        raise UsageError(f"{file}: no document of cache-worthy; write it with analyze --json")
    if value.get("command") != "analyze":
        raise UsageError(
            f"{file}: a document of {str(value.get('command'))[:40]!r}; expected one of analyze --json"
        )
    if value.get("schema") != schema_id("analyze"):
        raise UsageError(
            f"{file}: follows schema {str(value.get('schema'))[:60]}; this version reads "
            f"{schema_id('analyze')}: write both documents with one version"
        )
    return Reader(file, value)
