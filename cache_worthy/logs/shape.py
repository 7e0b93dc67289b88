"""The one shape that a log keeps: its format, and the field that carries its prompts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cache_worthy.errors import UsageError
from cache_worthy.logs.formats import FORMATS, counts, lines, native, text
from cache_worthy.logs.json_text import HINT, Broken, parse_line
from cache_worthy.logs.prompts import Format, Record, Unusable
from cache_worthy.logs.tally import ANY_JSON, Place


class Shape:
    """The shape of a log; ``format`` is None until a record is recognised, or one is named.

    Raises
    ------
    UsageError
        If no format has that name; ``auto`` names none.
    """

    def __init__(self, name: str) -> None:
        names = {f.NAME: f for f in FORMATS}
        if name not in ("auto", *names):
            raise UsageError(f"--format {name}: unknown; expected auto, {', '.join(names)}")
        self.format: Format | None = names.get(name)
        self.field = ""  # that carries the prompt, once there was one
        self.in_json = True  # whether records are JSON objects
        self._first = Place("", "")  # of the record that has the field

    def detect(self, place: Place, record: Record) -> bool:
        """Take the format of a first record as that of the log; whether it is a known one."""
        for module in FORMATS:
            if (field := module.detect(record)) is not None:
                self.format = module
                self._found(field, place, record)
                return True
        return False

    def _found(self, field: str, place: Place, record: Record) -> None:
        self.field, self._first, self.in_json = field, place, isinstance(record, dict)

    def accept(self, place: Place, record: Record) -> str | None:
        """The field of a record of the log's format; None for any other line between them.

        Raises
        ------
        Unusable
            If the record does not belong in such a log.
        """
        chosen = self.format
        field = None if chosen is None else chosen.detect(record, self.field)
        if field is None:
            if chosen is not None and chosen.INTERLEAVED:
                return None
            raise Unusable(self._unknown(place, record))
        if not self.field:
            self._found(field, place, record)
        return field

    def _unknown(self, place: Place, record: Record) -> str:
        if isinstance(record, str):
            parsed = parse_line(record)
            if isinstance(parsed, Broken):
                return parsed.reason
            return f"not JSON (Expecting value); {HINT}, or a server log (cache-worthy formats)"
        if self.format is None:
            readable = [m for m in FORMATS if m not in (counts, lines)]
            fields = dict.fromkeys(f for m in (native, text, *readable) for f in m.FIELDS)
            return f"no prompt: expected one of the fields {', '.join(fields)}"
        others = (f for m in FORMATS if m is not counts and (f := m.detect(record)))
        other = self.format.detect(record) or next(others, None)
        has = f"has {other!r}" if other else "has no prompt field"
        first = self._first.record if self._first.file == place.file else str(self._first)
        return f"{has}, but {first} has {self.field!r}; a log must keep one shape"

    def owner(self, value: Broken) -> str | None:
        """The format whose request a broken record would be, as ``Bad.owner`` has it.

        None for just another line of a log that has others between its requests.
        """
        chosen = self.format
        interleaved = chosen is not None and chosen.INTERLEAVED
        if value.ends or value.opens or (chosen is not None and not interleaved):
            owner = ANY_JSON if self.in_json else ""
        else:  # a request whose prompt cannot be trusted, or any other line
            among = FORMATS if chosen is None else (chosen,)
            mine = (f.NAME for f in among if f.INTERLEAVED and value.text and f.detect(value.text))
            owner = next(mine, "")
        return None if interleaved and not owner and not value.ends else owner


def unpaged(
    records: Iterable[tuple[str, Record | Broken]],
) -> Iterator[tuple[str, Record | Broken]]:
    """Records one by one, also those that an interface hands out by the page under ``data``."""
    for place, value in records:
        rows = value.get("data") if isinstance(value, dict) else None
        if (
            isinstance(value, dict)
            and isinstance(rows, list)
            and rows
            and all(isinstance(r, dict) for r in rows)
            and not any(f.detect(value) for f in FORMATS)
            and any(f.detect(rows[0]) for f in FORMATS)
        ):
            yield from ((f"{place}, data[{n}]", row) for n, row in enumerate(rows))
        else:
            yield place, value
