"""An analysis as a report: the words of each of its sections, in the order of a reader."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from cache_worthy.advise import sections
from cache_worthy.advise.analysis import Analysis
from cache_worthy.advise.offer import EngineAdvice
from cache_worthy.advise.policy_table import PolicyTable
from cache_worthy.advise.recoverable import Recovery
from cache_worthy.advise.workload import Workload, Worth
from cache_worthy.documents import document, to_json
from cache_worthy.numbers import counted, percent
from cache_worthy.report.model import Report, Section
from cache_worthy.report.words import capacity, short
from cache_worthy.report.words.names import SERVERS
from cache_worthy.report.words.workload import by_characters


def build(analysis: Analysis) -> Report:
    """The report of an analysis."""
    advice, workload = analysis.of(EngineAdvice), analysis.of(Workload)
    server = "" if advice is None else f", {SERVERS[advice.engine]}"
    requests = "" if workload is None else f"{counted(workload.requests, 'request')}, "
    return Report(
        title="Prefix cache report",
        source=analysis.input.source,
        about=f"{requests}{analysis.parameters.model.name}{server}",
        short=short.words(analysis),
        sections=tuple(_sections(analysis)),
        footer=_footer(analysis),
        document=to_json(document("analyze", analysis)),
    )


def _sections(analysis: Analysis) -> Iterator[Section]:
    """The sections that have words, which stand in a module of the section's name."""
    for section in sorted((s for s in sections.SECTIONS if s.shown), key=lambda s: s.place):
        words = importlib.import_module(f"cache_worthy.report.words.{section.name}").words
        found: Section | None = words(analysis)
        if found is not None:
            yield replace(found, key=section.name, title=section.title)


def _footer(analysis: Analysis) -> str:
    """What the numbers are not."""
    sentences = [
        (
            "These are recomputation FLOPs under the analytic cost model of sim/cost.py, not measured "
            "latency; no GPU was timed, and FLOPs are not turned into seconds or dollars."
        ),
        "Blocks are whole: a partial last block counts as a full one.",
    ]
    if by_characters(analysis.input):
        sentences.append(
            "Prompts were cut by characters, not tokens, so sizes and costs are approximate."
        )
    policies, bound = analysis.of(PolicyTable), analysis.of(Recovery)
    if policies is not None:
        own = policies.outside_oracle_coverage
        sentences.append(
            "The shipped policies and the replay are inside oracle coverage (docs/evidence.md)"
            + (f"; {', '.join(own)} is your own code and outside it." if own else ".")
        )
    if bound is not None:
        classes = "; or ".join(dict.fromkeys(r.policy_class for r in bound.rows))
        sentences.append(
            "The lower bounds of question 4 are certified: evaluated in exact integers, valid "
            f"whatever the solver did (cache-worthy bound writes the certificate). They bound: "
            f"{classes}. Nothing else here is a bound."
        )
    else:
        sentences.append("Nothing here is a bound.")
    return " ".join(sentences)


def plot(analysis: Analysis, target: str) -> bytes | None:
    """The capacity curve as a file of the kind that ``target`` ends in; None without a curve."""
    from cache_worthy.report.picture import picture

    figure, workload, worth = capacity.figure(analysis), analysis.of(Workload), analysis.of(Worth)
    if figure is None or workload is None or worth is None:
        return None
    name = Path(analysis.input.source).name
    heads = (
        f"{name}: {counted(workload.requests, 'request')}, {analysis.parameters.model.name}",
        f"caching removes at most {percent(worth.ceiling)} of prefill work",
    )
    return picture(figure, heads, target)
