"""Every oracle on an instance of the formal model, in one list; the trace-scale bounds included.

To add one: a function ``(instance, capacity) -> Number`` and one entry in :data:`ORACLES`.
``tests/oracles/test_registry.py`` then holds it against the exact optimum on random instances, by
its kind, with no further code.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Literal

from cache_worthy.oracles.bound.clairvoyant import round_relaxation, tree_belady
from cache_worthy.oracles.bound.flow import chain_optimum
from cache_worthy.oracles.bound.groups import group_references, trace_of_instance
from cache_worthy.oracles.bound.lp import Rows, relax
from cache_worthy.oracles.bound.offline import offline_bound
from cache_worthy.oracles.optimum.belady import flat_belady_cost
from cache_worthy.oracles.optimum.milp import milp_cost
from cache_worthy.oracles.optimum.optimal import optimal_cost
from cache_worthy.oracles.schedule import require_capacity
from cache_worthy.theory.instance import Instance, Number


@dataclass(frozen=True, slots=True)
class Oracle:
    """An oracle and how its answer relates to the optimum."""

    name: str
    kind: Literal["exact", "lower", "upper"]
    """Equal to the optimum, never above it, or the cost of a feasible schedule."""
    answer: Callable[[Instance, int], Number]
    """Takes an instance and a capacity."""
    domain: Literal["any", "flat unit"] = "any"
    """Which instances it answers."""


def certified_lower(
    instance: Instance, capacity: int, *, rows: Rows = "A3", window: int | None = None
) -> Fraction:
    """The certified bound, as it would be computed for a trace."""
    require_capacity(instance, capacity)
    if not instance.requests:
        return Fraction(0)
    trace = trace_of_instance(instance)
    bound = offline_bound(trace, capacity, rows=rows, window=window)
    return bound.certified.bound * trace.unit


def lower_flow(instance: Instance, capacity: int) -> Number:
    """The chain program as a circulation."""
    trace = trace_of_instance(instance)
    return chain_optimum(trace, group_references(trace), capacity) * trace.unit


def upper_belady(instance: Instance, capacity: int) -> Number:
    """Tree Belady."""
    trace = trace_of_instance(instance)
    return tree_belady(trace, group_references(trace), capacity) * trace.unit


def upper_rounded(instance: Instance, capacity: int) -> Number:
    """The A3 program, rounded to a feasible schedule."""
    trace = trace_of_instance(instance)
    grouped = group_references(trace)
    kept = relax(trace, grouped, capacity, rows="A3").kept
    return round_relaxation(trace, grouped, capacity, kept) * trace.unit


ORACLES: tuple[Oracle, ...] = (
    Oracle("dynamic program", "exact", optimal_cost),
    Oracle("integer program, HiGHS", "exact", partial(milp_cost, solver="highs")),
    Oracle("integer program, CBC", "exact", partial(milp_cost, solver="cbc")),
    Oracle("Belady", "exact", flat_belady_cost, domain="flat unit"),
    Oracle("certified chain", "lower", partial(certified_lower, rows="chain")),
    Oracle("certified A2", "lower", partial(certified_lower, rows="A2")),
    Oracle("certified A3", "lower", partial(certified_lower, rows="A3")),
    Oracle("certified ascent", "lower", partial(certified_lower, rows="chain", window=4)),
    Oracle("min-cost flow", "lower", lower_flow),
    Oracle("tree Belady", "upper", upper_belady),
    Oracle("LPround", "upper", upper_rounded),
)
