"""What a section of an analysis is: one entry of the registry in ``sections.py``.

A section is its measure function with what the rest must know of it; the loop of ``analysis.py`` runs
it, the document and its schema have a field of its name, ``compare`` its figures, and
``cache_worthy.report.words.NAME`` its words.
"""

from __future__ import annotations

import functools
import types
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from cache_worthy.advise.quantity import Compare, nothing, plain

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Section(Generic[R]):
    """One part of an analysis."""

    name: str
    """The field of the document."""
    result: type[R]
    """What it measures; a class of its own, by which ``Analysis.of`` finds it."""
    measure: Callable[..., R | None]
    """``measure(context, *needs, *wants)``: the result, or None where there is nothing to say."""
    title: str = ""
    """Of its part of the report."""
    place: int = 0
    """Of its part in the report, ascending."""
    needs: tuple[str, ...] = ()
    """Sections whose results it takes, in this order. Without one that it needs it is not measured;
    one that it wants may be None."""
    wants: tuple[str, ...] = ()
    """Sections whose results it takes, in this order. Without one that it needs it is not measured;
    one that it wants may be None."""
    skip: str = ""
    """What the help of ``--skip`` says of it; "" for a section that is always measured."""
    gated: bool = True
    """Measured only where question 1 says that caching is worth it."""
    shown: bool = True
    """False for an intermediate: in no document, and measured where a section needs it."""
    compare: Compare = nothing
    """Its quantities in a document; unless given, the fields of its result that are numbers."""

    @property
    def optional(self) -> bool:
        """Whether its field of the document may be null."""
        return self.gated or bool(self.skip)


def section(
    name: str,
    *,
    title: str = "",
    place: int = 0,
    needs: tuple[str, ...] = (),
    wants: tuple[str, ...] = (),
    skip: str = "",
    gated: bool = True,
    shown: bool = True,
    compare: Compare | None = None,
) -> Callable[[Callable[..., R | None]], Section[R]]:
    """Make the measure function below it a section; the fields are those of :class:`Section`."""

    def make(measure: Callable[..., R | None]) -> Section[R]:
        result = _result(measure)
        head = title.upper() or name
        default = functools.partial(plain, section=name, title=head, result=result)
        return Section(
            name=name,
            result=result,
            measure=measure,
            title=title,
            place=place,
            needs=needs,
            wants=wants,
            skip=skip,
            gated=gated,
            shown=shown,
            compare=(default if shown else nothing) if compare is None else compare,
        )

    return make


def _result(measure: Callable[..., R | None]) -> type[R]:
    """The annotated result, without None."""
    kind = typing.get_type_hints(measure)["return"]
    (found,) = [k for k in typing.get_args(kind) or (kind,) if k is not types.NoneType]
    return typing.cast("type[R]", found)
