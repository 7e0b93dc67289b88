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
    """Of its part of the report."""
    place: int = 0
    """Of its part in the report, ascending."""
    needs: tuple[str, ...] = ()
    """Sections whose results it takes; without one of them it is not measured."""
    wants: tuple[str, ...] = ()
    """Sections whose results it takes after those, None where there is none."""
    skip: str = ""
    """What the help of ``--skip`` says of it; "" for a section that is always measured."""
    gated: bool = True
    """Measured only where question 1 says that caching is worth it."""
    shown: bool = True
    """False for an intermediate: in no document, and measured where a section needs it."""
    compare: Compare | None = None
    """Its quantities in a document; unless given, the fields of its result that are numbers."""
    measure: Callable[..., Any] = _unmeasured
    """``measure(context, *needs, *wants)``: the result, or None where there is nothing to say."""

    def __call__(self, measure: Callable[..., Any]) -> Section:
        """The section with the function below it."""
        return dataclasses.replace(self, measure=measure)

    @property
    def result(self) -> type:
        """What it measures; a class of its own, by which ``Analysis.of`` finds it."""
        kind = typing.get_type_hints(self.measure)["return"]
        (found,) = [k for k in typing.get_args(kind) or (kind,) if k is not types.NoneType]
        return typing.cast(type, found)

    @property
    def optional(self) -> bool:
        """Whether its field of the document may be null."""
        return self.gated or bool(self.skip)

    def quantities(self, document: Reader) -> Quantities:
        """What ``compare`` sets beside the same of another document."""
        if self.compare is not None:
            return self.compare(document)
        here = document.maybe(self.name)
        return plain(here, self.title.upper() or self.name, self.result) if self.shown else ()
