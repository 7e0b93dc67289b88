"""Reading ``analyze --json`` documents back."""

from __future__ import annotations

from typing import TypeVar

from cache_worthy.documents import read_json, schema_id
from cache_worthy.errors import UsageError

T = TypeVar("T")

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

    def maybe(self, *names: str) -> Reader | None:
        """A field, possibly nested; None if it is null or missing."""
        here = self
        for name in names:
            if not isinstance(here.value, dict) or here.value.get(name) is None:
                return None
            here = here.get(name)
        return here

    def some(self, name: str, rows: str) -> list[Reader]:
        """The elements of a list in a field; none if the field is null or missing."""
        here = self.maybe(name)
        return [] if here is None else here.rows(rows)

    def _typed(self, kind: type[T], expected: str) -> T:
        value = self.value
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise self._wrong(self.place, expected)
        if isinstance(value, int | float) and abs(value) > LARGEST:
            raise self._wrong(self.place, f"a number of at most {LARGEST:.0e}")
        return value

    def names(self) -> list[str]:
        """The names of an object's fields."""
        return list(self._typed(dict, "an object"))

    def rows(self, name: str) -> list[Reader]:
        """The elements of a list."""
        found = self.get(name)
        values = found._typed(list, "a list")
        return [Reader(self.file, v, f"{found.place}.{n}") for n, v in enumerate(values)]

    def integer(self, *names: str) -> int:
        """An integer."""
        return self.get(*names)._typed(int, "an integer")

    def number(self, *names: str) -> float | None:
        """A number, or null."""
        found = self.get(*names)
        if found.value is None:
            return None
        kind = int if isinstance(found.value, int) else float
        return found._typed(kind, "a number or null")

    def text(self, *names: str) -> str:
        """A string."""
        return self.get(*names)._typed(str, "a string")


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
