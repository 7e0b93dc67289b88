"""A schedule of cache states and the check that it serves an instance.

Everything in ``oracles`` that returns a schedule is held against :func:`check_schedule`, which
shares no code with any solver: it knows the model (``theory/instance.py``) and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cache_worthy.theory.instance import Instance, Number


class OracleError(ValueError):
    """An oracle was asked something it cannot answer; the message says what and the range."""


class ScheduleError(RuntimeError):
    """A schedule that does not serve its instance: a bug in whatever produced it."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """Cache contents over time."""

    cost: Number
    """Total price of all loads, starting from the empty cache."""
    states: tuple[frozenset[int], ...]
    """``states[t]`` holds the resident nodes right after request ``t`` was served (the requested
    path included). What ``states[t]`` lacks of ``states[t - 1]`` was evicted before the loads of
    request ``t``; what it has more was loaded by request ``t``."""


def require_capacity(instance: Instance, capacity: int) -> None:
    """Raise :class:`OracleError` when ``capacity`` cannot hold the largest requested path."""
    if isinstance(capacity, bool) or not isinstance(capacity, int):
        raise OracleError(f"capacity = {capacity!r}: expected an integer >= {instance.floor}")
    if capacity < instance.floor:
        raise OracleError(
            f"capacity = {capacity}: the largest requested path needs {instance.floor}"
        )


def check_schedule(
    instance: Instance, capacity: int, states: Sequence[frozenset[int] | set[int]]
) -> Number:
    """Recompute the cost of a schedule from its states alone.

    Checked at every request: the requested path is resident, residency is ancestor-closed, the
    capacity holds, and only nodes of the requested path were loaded (demand paging).

    Returns
    -------
    int or Fraction
        The cost of all loads.

    Raises
    ------
    ScheduleError
        Naming the request and the rule that is broken.

    Notes
    -----
    Time: the total number of resident nodes over all states.

    Examples
    --------
    >>> instance = Instance(parent=(None, 0, 0), size=(1, 1, 1), cost=(4, 1, 7), requests=(1, 2))
    >>> check_schedule(instance, 2, [{0, 1}, {0, 2}])
    12
    """
    if len(states) != len(instance.requests):
        raise ScheduleError(f"{len(states)} states for {len(instance.requests)} requests")
    total: Number = 0
    before: frozenset[int] | set[int] = frozenset()
    for t, (v, state) in enumerate(zip(instance.requests, states, strict=True)):
        path = set(instance.path(v))
        if not path <= state:
            raise ScheduleError(f"request {t}: {sorted(path - state)} of its path not resident")
        for u in state:
            above = instance.parent[u]
            if above is not None and above not in state:
                raise ScheduleError(f"request {t}: node {u} resident without its parent {above}")
        used = sum(instance.size[u] for u in state)
        if used > capacity:
            raise ScheduleError(f"request {t}: {used} resident, capacity {capacity}")
        loaded = state - before
        if not loaded <= path:
            raise ScheduleError(f"request {t}: {sorted(loaded - path)} loaded but not requested")
        total += sum((instance.cost[u] for u in loaded), 0)
        before = state
    return total
