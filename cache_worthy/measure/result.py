"""What the results of all commands have in common."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from cache_worthy.documents import document
from cache_worthy.errors import UsageError
from cache_worthy.logs.log import Log, Records


@dataclass(frozen=True, slots=True)
class InputRead:
    """What was read, as every JSON document states it."""

    source: str
    sha256: str
    format: str
    skipped_truncated_lines: int
    records: Records
    order: str


def input_read(log: Log) -> InputRead:
    """What was read."""
    return InputRead(
        source=log.source,
        sha256=log.sha256,
        format=log.format,
        skipped_truncated_lines=log.skipped_truncated,
        records=log.records,
        order=log.order,
    )


class Result:
    """A result that converts to plain values; its fields are those of a JSON document."""

    __slots__ = ()

    document_name: ClassVar[str]

    def to_dict(self) -> dict[str, object]:
        """What ``--json`` writes, as plain dicts, lists, strings, numbers and None."""
        return document(self.document_name, self)

    def rows(self) -> Sequence[dict[str, object]]:
        """The result as rows of a table: one of all its single values, unless it says otherwise."""
        plain = self.to_dict().items()
        return [{k: v for k, v in plain if not isinstance(v, dict | list)}]

    def to_frame(self) -> Any:
        """The rows as a pandas ``DataFrame``.

        Raises
        ------
        UsageError
            If pandas is not installed.
        """
        try:
            pandas = importlib.import_module("pandas")
        except ImportError as error:
            raise UsageError("to_frame: needs pandas; pip install pandas") from error
        return pandas.DataFrame(self.rows())
