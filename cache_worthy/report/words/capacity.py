"""The words of questions 2 and 3: the least memory, and how much to give."""

from __future__ import annotations

from collections.abc import Iterable

from cache_worthy.advise.analysis import Analysis
from cache_worthy.advise.band import Band
from cache_worthy.advise.capacity import CapacityCurve
from cache_worthy.advise.offer import EngineAdvice
from cache_worthy.advise.policy_table import PolicyTable
from cache_worthy.advise.recoverable import Recovery
from cache_worthy.advise.sample import SampleReport
from cache_worthy.advise.workload import Workload
from cache_worthy.numbers import gib, percent, ratio
from cache_worthy.report.charts import CapacityChart, Point, lower_steps
from cache_worthy.report.model import (
    Answer,
    Column,
    Figure,
    Legend,
    Prose,
    Section,
    Table,
    table_of,
)
from cache_worthy.report.words.marks import capacity_mark
from cache_worthy.report.words.sample import least_name

FLOOR_TEXT = (
    "A request pins its own path while it is served, so less memory than the deepest request "
    "cannot serve this log at all."
)


def words(analysis: Analysis) -> Section | None:
    """The section."""
    curve, w = analysis.of(CapacityCurve), analysis.of(Workload)
    if curve is None or w is None:
        return None
    best, sample = curve.recommended, analysis.of(SampleReport)
    about = f"under {curve.policy}, {_whose(analysis)}"
    return Section(
        about=about if sample is None else f"{about}, from a sample",
        parts=(
            Answer(
                "Question 2",
                "Minimum cache",
                f"{gib(w.floor_bytes)} = {percent(w.floor_fraction, 2)} of the working set",
            ),
            Prose(FLOOR_TEXT),
            *([] if (found := figure(analysis)) is None else [found]),
            Answer("Question 3", "Allocate", f"{percent(best.fraction, 2)} = {gib(best.bytes)}"),
            Prose(_allocate(curve, w) + capacity_mark(analysis.of(Band))),
        ),
    )


def _whose(analysis: Analysis) -> str:
    return (
        "the deployed default"
        if analysis.of(EngineAdvice) is None
        else "on the tree of this project"
    )


def _allocate(curve: CapacityCurve, w: Workload) -> str:
    """What the recommended capacity costs, and what more would buy."""
    best = curve.recommended
    rest = w.working_set_bytes - best.bytes
    over = best.total_cost - w.compulsory_cost
    share = percent(over / best.total_cost if best.total_cost else 0.0)
    more = (
        f"The other {gib(rest)} would save only another {share}."
        if rest
        else "It is the whole working set: more memory saves nothing."
    )
    return (
        f"Costs {ratio(best.cost_ratio)}x the compulsory minimum. {more} Rule: {curve.rule} "
        "(elasticity: percent of work saved per percent of memory added)."
    )


def remarks(curve: CapacityCurve, n: int, least: str) -> str:
    """What the point ``n`` of the curve is."""
    last = len(curve.points) - 1
    named = ((0, least), (curve.recommended_index, "recommended"), (last, "working set"))
    return ", ".join(name for index, name in named if index == n)


def _over(cost: int, w: Workload) -> float | None:
    return cost / w.compulsory_cost if w.compulsory_cost else None


def figure(analysis: Analysis) -> Figure | None:
    """Cost over capacity, with the cheapest policy and the certified bound; None without a curve."""
    curve, w, policies = analysis.of(CapacityCurve), analysis.of(Workload), analysis.of(PolicyTable)
    if curve is None or w is None or policies is None:
        return None
    bound, sample = analysis.of(Recovery), analysis.of(SampleReport)
    errors = [0.0] * len(curve.points) if sample is None else [e.error for e in sample.curve]
    least = least_name(sample)
    marks = [(least, curve.points[0].bytes), ("recommended", curve.recommended_bytes)]
    if analysis.parameters.capacity_bytes is not None:
        marks.append(("yours", analysis.parameters.capacity_bytes))
    certified = () if bound is None else tuple(_certified(bound))
    ends = curve.points[0].bytes, curve.points[-1].bytes
    chart = CapacityChart(
        curve=tuple(_under(curve, errors)),
        best=tuple(_cheapest(policies)),
        bound=certified,
        steps=lower_steps(*ends, ((p.size, p.value) for p in certified)) if certified else (),
        marks=tuple((f"{name}: {gib(size)}", size) for name, size in marks),
    )
    first = f"{curve.policy}, {_whose(analysis)}"
    legend = [
        Legend("dot", "lru", f"{first}, estimated, with its error" if any(errors) else first),
        Legend("diamond", "best", "cheapest policy, where all were replayed"),
    ]
    if certified:
        legend.append(
            Legend("square", "bound", "certified lower bound: no policy can enter the shaded area")
        )
    return Figure(
        "Capacity curve",
        _description(curve, w, bound=bound, least=least, error=max(errors)),
        draw=chart,
        legend=tuple(legend),
        caption="Recompute as a multiple of the compulsory minimum, which any cache pays.",
        numbers=tuple(_numbers(curve, w, bound=bound, sample=sample)),
    )


def _under(curve: CapacityCurve, errors: Iterable[float]) -> Iterable[Point]:
    for p, error in zip(curve.points, errors, strict=True):
        title = f"{curve.policy} at {percent(p.fraction)} = {gib(p.bytes)}: {ratio(p.cost_ratio)}x"
        yield Point(p.bytes, p.cost_ratio or 1.0, title, error=error)


def _certified(bound: Recovery) -> Iterable[Point]:
    for row in bound.rows:
        title = f"certified bound at {percent(row.fraction)} = {gib(row.bytes)}: "
        value = row.lower_bound_ratio
        yield Point(row.bytes, value or 1.0, f"{title}{ratio(value)}x")


def _cheapest(policies: PolicyTable) -> Iterable[Point]:
    for row in policies.rows:
        for cell in row.cells:
            if cell.policy == row.best and cell.cost_ratio is not None:
                title = f"{row.best} at {percent(row.fraction)} = {gib(row.bytes)}: "
                yield Point(row.bytes, cell.cost_ratio, f"{title}{ratio(cell.cost_ratio)}x")


def _description(
    curve: CapacityCurve, w: Workload, *, bound: Recovery | None, least: str, error: float
) -> str:
    first, last, best = curve.points[0], curve.points[-1], curve.recommended
    text = (
        f"Cost over capacity, from {ratio(first.cost_ratio)}x the compulsory minimum at the {least}, "
        f"{gib(first.bytes)}, to {ratio(last.cost_ratio)}x at the working set, "
        f"{gib(w.working_set_bytes)}, under {curve.policy}. Recommended: {gib(best.bytes)}, "
        f"{ratio(best.cost_ratio)}x."
    )
    if bound is not None and bound.rows:
        text += (
            f" The best shipped policy pays {ratio(_over(bound.rows[0].best_cost, w))}x at the floor; "
            f"no policy of the class pays less than {ratio(bound.rows[0].lower_bound_ratio)}x there."
        )
    return text + (f" From a sample: plus or minus {error:.3f} at the most." if error else "")


def _numbers(
    curve: CapacityCurve, w: Workload, *, bound: Recovery | None, sample: SampleReport | None
) -> Iterable[Table]:
    points, of = curve.points, range(len(curve.points))
    errors = [] if sample is None else [f"{e.error:.4f}" for e in sample.curve]
    yield table_of(
        "capacity-table",
        of,
        columns={
            "capacity": lambda n: percent(points[n].fraction, 2),
            "size": lambda n: gib(points[n].bytes),
            "cost": lambda n: ratio(points[n].cost_ratio),
            "block\nhit rate": lambda n: percent(points[n].block_hit_rate),
            "elasticity": lambda n: _elasticity(points[n].elasticity),
            **({} if sample is None else {"+/-\nof cost": lambda n: errors[n]}),
            Column("", words=True): lambda n: remarks(curve, n, least_name(sample)),
        },
        chosen=curve.recommended_index,
    )
    if bound is not None and bound.rows:
        yield table_of(
            "bound-table",
            bound.rows,
            caption="Cheapest policy and certified lower bound",
            columns={
                "capacity": lambda r: percent(r.fraction),
                "size": lambda r: gib(r.bytes),
                "its cost": lambda r: ratio(_over(r.best_cost, w)),
                "lower bound": lambda r: ratio(r.lower_bound_ratio),
                Column("policy", words=True): lambda r: r.best_policy,
            },
        )


def _elasticity(value: float | None) -> str:
    return "--" if value is None else f"{value:z.3f}"
