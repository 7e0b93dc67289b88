"""The trace-scale bounds, asked about an instance of the formal model."""

from __future__ import annotations

from fractions import Fraction

from cache_worthy.oracles.bound.clairvoyant import round_relaxation, tree_belady
from cache_worthy.oracles.bound.flow import chain_optimum
from cache_worthy.oracles.bound.groups import group_references, trace_of_instance
from cache_worthy.oracles.bound.lp import Rows, relax
from cache_worthy.oracles.bound.offline import offline_bound
from cache_worthy.oracles.optimum.milp import milp_cost
from cache_worthy.oracles.schedule import require_capacity
from cache_worthy.theory.instance import Instance, Number


def milp_highs(instance: Instance, capacity: int) -> Number:
    """The integer program by HiGHS."""
    return milp_cost(instance, capacity, "highs")


def milp_cbc(instance: Instance, capacity: int) -> Number:
    """The integer program by CBC."""
    return milp_cost(instance, capacity, "cbc")


def certified_lower(
    instance: Instance, capacity: int, rows: Rows = "A3", window: int | None = None
) -> Fraction:
    """The certified bound, as it would be computed for a trace."""
    require_capacity(instance, capacity)
    if not instance.requests:
        return Fraction(0)
    trace = trace_of_instance(instance)
    bound = offline_bound(trace, capacity, rows=rows, window=window)
    return bound.certified.bound * trace.unit


def lower_chain(instance: Instance, capacity: int) -> Number:
    """Chain rows only."""
    return certified_lower(instance, capacity, "chain")


def lower_a2(instance: Instance, capacity: int) -> Number:
    """Chain and A2 rows."""
    return certified_lower(instance, capacity, "A2")


def lower_a3(instance: Instance, capacity: int) -> Number:
    """Chain and A3 rows."""
    return certified_lower(instance, capacity, "A3")


def lower_ascent(instance: Instance, capacity: int) -> Number:
    """Window ascent with windows of four requests."""
    return certified_lower(instance, capacity, "chain", window=4)


def lower_flow(instance: Instance, capacity: int) -> Number:
    """The chain program as a circulation."""
    trace = trace_of_instance(instance)
    return chain_optimum(trace, group_references(trace), capacity) * trace.unit


def upper_belady(instance: Instance, capacity: int) -> Number:
    """Tree Belady."""
    trace = trace_of_instance(instance)
    return tree_belady(trace, group_references(trace), capacity).cost * trace.unit


def upper_rounded(instance: Instance, capacity: int) -> Number:
    """The A3 program rounded."""
    trace = trace_of_instance(instance)
    grouped = group_references(trace)
    kept = relax(trace, grouped, capacity, rows="A3").kept
    return round_relaxation(trace, grouped, capacity, kept).cost * trace.unit
