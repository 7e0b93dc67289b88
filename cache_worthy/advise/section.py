"""What a section of an analysis is: one entry of the registry in ``sections.py``.

The loop of ``analysis.py`` measures it. The document and its schema have a field of its name, ``compare``
its figures, and ``cache_worthy.report.words.NAME`` its words.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any

from cache_worthy.advise.quantity import Compare, Quantities, plain
from cache_worthy.advise.reader import Reader


def _unmeasured(*_: object) -> None:
    raise NotImplementedError("a section stands above its measure function")


@dataclass(frozen=True, slots=True)
class Section:
    """One part of an analysis, written as a decorator of its measure function."""

    name: str
    """The field of the document."""
    _: KW_ONLY
    title: str = ""
    """Heading of its part of the report."""
    place: int = 0
    """Position of that part, ascending."""
    needs: tuple[str, ...] = ()
    """Sections whose results it takes; it is not measured unless all are there."""
    wants: tuple[str, ...] = ()
    """Sections whose results it takes after those; None if not there."""
    skip: str = ""
    """Its description in the help of ``--skip``; "" for a section that is always measured."""
    gated: bool = True
    """Whether it is measured only if question 1 finds caching worth it."""
    shown: bool = True
    """False for an intermediate result: in no document, and measured if a section needs it."""
    compare: Compare | None = None
    """Its quantities in a document; by default the fields of its result that are numbers."""
    measure: Callable[..., Any] = _unmeasured
    """``measure(context, *needs, *wants)``: the result, or None if there is nothing to say."""

    def __call__(self, measure: Callable[..., Any]) -> Section:
        """The section with the function below it."""
        return dataclasses.replace(self, measure=measure)

    @property
    def result(self) -> type:
        """The class of its result, by which ``Analysis.of`` finds it; sections share none."""
        kind = typing.get_type_hints(self.measure)["return"]
        (found,) = [k for k in typing.get_args(kind) or (kind,) if k is not types.NoneType]
        return typing.cast(type, found)

    @property
    def optional(self) -> bool:
        """Whether its field of the document may be null."""
        return self.gated or bool(self.skip)

    def quantities(self, document: Reader) -> Quantities:
        """What ``compare`` takes from a document."""
        if self.compare is not None:
            return self.compare(document)
        here = document.maybe(self.name)
        return plain(here, self.title.upper() or self.name, self.result) if self.shown else ()
