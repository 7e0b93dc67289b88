"""The advisor: answers six questions from one log; each decides whether the next is asked.

Each answer is a section (``sections.py``). Sections are measured in the order in which they need
each other.
"""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from graphlib import TopologicalSorter
from typing import Any, ClassVar, TypeVar

from cache_worthy.advise import sections
from cache_worthy.advise.context import Context, Options
from cache_worthy.advise.memory import Engine
from cache_worthy.advise.priced import Priced, priced
from cache_worthy.advise.section import Section
from cache_worthy.logs.log import Log, Records
from cache_worthy.measure.cost_curve import CostCurve
from cache_worthy.measure.result import Result
from cache_worthy.sim.cost import Model
from cache_worthy.workers import SERIAL, Workers

__all__ = ["Analysis", "Input", "Options", "Parameters", "analyze"]

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Input:
    """The log that was read."""

    source: str
    sha256: str
    format: str
    field: str
    requests: int
    skipped_truncated_lines: int
    length_mismatches: int
    block_tokens: int
    chars_per_block: int | None
    ids_reinterned: bool
    records: Records
    order: str
    moved: int
    tokenizer: str | None
    template: str | None
    models: dict[str, int]
    salts: dict[str, int]
    characters_by_kind: dict[str, float] | None = dataclasses.field(
        default=None, metadata={"optional": True}
    )
    """Where tokens were estimated: shares of the characters by script or kind, from which they were."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """Everything besides the log that the numbers depend on."""

    model: Model
    chars_per_token: float
    """As given, or the mean where tokens were estimated; 4 where neither was needed."""
    capacity_bytes: int | None
    own_policies: tuple[str, ...]
    pins: int
    skip: tuple[str, ...]
    cost_curve: CostCurve | None
    engine: Engine
    gpu_gib: float | None
    sglang_version: str | None
    show_text: bool
    priced: Priced | None = field(default=None, metadata={"optional": True})


class Analysis(Mapping[str, object], Result):
    """The whole result: what ``--json`` writes and the report shows.

    A mapping from the fields of the document to their values, which are attributes too:
    ``parameters``, ``input`` and every section. A section is None if question 1 ended the run, if
    it was skipped or if it has nothing to say.
    """

    document_name: ClassVar[str] = "analyze"

    parameters: Parameters
    input: Input

    def __init__(self, parameters: Parameters, input: Input, results: Mapping[str, object]) -> None:
        self.parameters = parameters
        self.input = input
        self._results = dict(results)

    @staticmethod
    def fields() -> dict[str, object]:
        """The annotation of every field of the document."""
        found: dict[str, object] = {"parameters": Parameters, "input": Input}
        for one in sections.SECTIONS:
            if one.shown:
                found[one.name] = one.result | None if one.optional else one.result
        return found

    def rows(self) -> Sequence[dict[str, object]]:
        """The policy table, one row per capacity and policy; empty if question 1 ended the run."""
        return [
            {
                "capacity_fraction": row.fraction,
                "capacity_bytes": row.bytes,
                "capacity_blocks": row.blocks,
                "label": row.label,
                **{f.name: getattr(cell, f.name) for f in fields(cell)},
            }
            for row in (() if self.policy is None else self.policy.rows)
            for cell in row.cells
        ]

    def of(self, kind: type[R]) -> R | None:
        """The result of exactly this type, or None if it was not measured."""
        found = (value for value in self._results.values() if type(value) is kind)
        return next(found, None)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._results:
            raise AttributeError(name)
        return self._results[name]

    def __getitem__(self, name: str) -> object:
        if name not in self.fields():
            raise KeyError(name)
        return getattr(self, name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.fields())

    def __len__(self) -> int:
        return len(self.fields())


def analyze(
    log: Log,
    options: Options | None = None,
    step: Callable[[str], None] = lambda text: None,
    workers: Workers = SERIAL,
) -> Analysis:
    """Answer the questions for one log.

    Raises
    ------
    UsageError
        If the chosen capacity is under the floor.
    """
    skippable = sections.skippable()
    context = Context(log, options, step=step, workers=workers, skippable=skippable)
    results: dict[str, Any] = {}
    for one in _ordered(sections.SECTIONS):
        results[one.name] = None
        if _runs(one, context, results) and all(results[name] is not None for name in one.needs):
            if one.title:
                step(one.title)
            taken = (results[name] for name in (*one.needs, *one.wants))
            results[one.name] = one.measure(context, *taken)
    options, forest = context.options, context.forest
    parameters = _from(
        Parameters,
        options,
        chars_per_token=log.chars_per_token,
        capacity_bytes=context.chosen,
        priced=priced(options.model, log.models),
        own_policies=tuple(options.own_policies),
        skip=tuple(sorted(_skipped(context, results))),
    )
    read = _from(
        Input,
        log,
        requests=len(log.requests),
        skipped_truncated_lines=log.skipped_truncated,
        ids_reinterned=forest.reinterned,
    )
    return Analysis(parameters, read, results)


def _from(kind: Callable[..., R], source: object, **others: object) -> R:
    """A ``kind`` whose fields are ``others`` and, by the same names, those of ``source``."""
    names = typing.get_type_hints(kind).keys() - others
    return kind(**{name: getattr(source, name) for name in names}, **others)


def _ordered(all_of: Sequence[Section]) -> Iterator[Section]:
    """The sections, each after those whose results it takes; optional ones after ``worth``."""
    named = {one.name: one for one in all_of}
    before = {
        one.name: (*one.needs, *one.wants, *(("worth",) if one.optional else ())) for one in all_of
    }
    return (named[name] for name in TopologicalSorter(before).static_order())


def _runs(one: Section, context: Context, results: Mapping[str, Any]) -> bool:
    """Whether a section is measured; an intermediate one if a section that needs it is."""
    if one.gated and not results["worth"].worth_caching:
        return False
    if one.skip and one.name in _skipped(context, results):
        return False
    return one.shown or any(
        one.name in other.needs and _runs(other, context, results) for other in sections.SECTIONS
    )


def _skipped(context: Context, results: Mapping[str, Any]) -> frozenset[str]:
    """The sections that are left out: with a sample, all that can be."""
    sampled = (context.options.sample or 1) < 1 and results["worth"].worth_caching
    return frozenset(context.skippable) if sampled else context.options.skip
