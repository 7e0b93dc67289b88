"""The quantities of a document that ``compare`` compares with those of another.

A quantity comes with what its own log says of its spread: its values in the halves of the log and
under the cost functions of the sensitivity band. Helpers of most sections are here.
"""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Literal

from cache_worthy.advise.reader import Reader

Unit = Literal["count", "bytes", "share", "ratio", "words"]
Value = int | float | str | None
Spread = tuple[float, float] | frozenset[str]

WORKLOAD = "WORKLOAD"
CAPACITY = "CAPACITY"
RECOVERABLE = "RECOVERABLE at the recommended capacity"
POLICY = "POLICY"
SINGLE_REQUESTS = "SINGLE REQUESTS under lru at the recommended capacity"
MISSES = "WHY NO HIT, as a share of the uncached prefill cost"

TITLES = (WORKLOAD, CAPACITY, RECOVERABLE, POLICY, SINGLE_REQUESTS, MISSES)
"""Headings in order; those that a section adds follow."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A value of one document."""

    name: str
    unit: Unit
    value: Value
    spread: Spread | None = field(default=None, kw_only=True)
    """Range of the value, or the possible names, by its own log; None if unknown."""
    answer: str = field(default="", kw_only=True)
    """For an answer, the beginning of the sentence on its change; else ""."""


Quantities = Iterable[tuple[str, Quantity]]
"""Each with its heading."""

Compare = Callable[[Reader], Quantities]
"""The quantities of a section in a document, in which the section may be null."""


def nothing(document: Reader) -> Quantities:
    """For a section whose figures are the spread of others, or are compared elsewhere."""
    return ()


def plain(here: Reader | None, title: str, result: type) -> Quantities:
    """The fields of a section's result that are numbers."""
    if here is None or not dataclasses.is_dataclass(result):
        return
    hints = typing.get_type_hints(result)
    for name in (one.name for one in dataclasses.fields(result)):
        kinds = set(typing.get_args(hints[name])) or {hints[name]}
        if kinds - {type(None)} <= {int, float}:
            yield title, Quantity(name.replace("_", " "), unit_of(name), here.number(name))


def unit_of(field: str) -> Unit:
    """The unit of a field, by its name.

    Examples
    --------
    >>> [unit_of(name) for name in ("kv_bytes", "cost_ratio", "reuse_fraction", "requests")]
    ['bytes', 'ratio', 'share', 'count']
    """
    ends: dict[str, Unit] = {"bytes": "bytes", "ratio": "ratio", "fraction": "share"}
    return ends.get(field.rpartition("_")[2], "count")


def spread(value: float | None, *others: Iterable[float | None]) -> tuple[float, float] | None:
    """From the least to the largest of a value and its alternatives; None without alternatives."""
    found = [v for values in others for v in values if v is not None]
    return None if value is None or not found else (min(value, *found), max(value, *found))


def halves(document: Reader, name: str) -> list[float | None]:
    """A value for each half of the log."""
    parts = document.some("splits", "parts")
    return [part.number(name) for part in parts if part.text("name").startswith("half")]


def members(document: Reader, name: str) -> list[float | None]:
    """A value under each cost function of the sensitivity band."""
    return [member.number(name) for member in document.some("band", "members")]


def recommended(document: Reader) -> int | None:
    """The recommended capacity in bytes; None if question 1 ended the run."""
    curve = document.maybe("capacity")
    return None if curve is None else curve.integer("recommended_bytes")


def at_recommended(document: Reader, section: str, rows: str) -> Reader | None:
    """The row of a section at the recommended capacity; None if there is none."""
    size = recommended(document)
    found = document.some(section, rows)
    return next((row for row in found if row.integer("bytes") == size), None)
