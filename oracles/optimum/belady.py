"""Belady's rule: furthest next use goes first.

On flat instances with unit sizes and equal costs it is optimal (Belady 1966; Mattson et al. 1970),
which makes it ground truth from established theory for the exact solvers. On a forest the same
order, the deeper node first on ties, always meets a node without resident children first, since a
node is used whenever a descendant is; there it is a feasible schedule, not an optimal one.
"""

from __future__ import annotations

from cache_worthy.oracles.schedule import (
    OracleError,
    Schedule,
    ScheduleError,
    check_schedule,
    require_capacity,
)
from cache_worthy.theory.instance import Instance, Number


def is_flat_unit(instance: Instance) -> bool:
    """No dependencies, unit sizes, one cost: the classical paging problem."""
    return (
        all(p is None for p in instance.parent)
        and all(s == 1 for s in instance.size)
        and len(set(instance.cost)) <= 1
    )


def flat_belady_cost(instance: Instance, capacity: int) -> Number:
    """The optimum of a flat unit instance: cost times Belady's faults.

    Raises
    ------
    OracleError
        If the instance is not flat with unit sizes and one cost, or the capacity is under 1.

    Notes
    -----
    Time: requests x capacity.

    Examples
    --------
    >>> pages = Instance((None,) * 5, (1,) * 5, (1,) * 5, (0, 1, 2, 3, 0, 1, 4, 0, 1, 2, 3, 4))
    >>> flat_belady_cost(pages, 3), flat_belady_cost(pages, 4)
    (7, 6)
    """
    if not is_flat_unit(instance):
        raise OracleError("Belady's rule is optimal on flat instances of unit size and one cost")
    require_capacity(instance, capacity)
    never = len(instance.requests)
    following = [never] * never
    upcoming: dict[int, int] = {}
    for t in range(never - 1, -1, -1):
        following[t] = upcoming.get(instance.requests[t], never)
        upcoming[instance.requests[t]] = t
    cache: dict[int, int] = {}  # page -> next use
    faults = 0
    for t, page in enumerate(instance.requests):
        if page not in cache:
            faults += 1
            if len(cache) == capacity:
                del cache[max(cache, key=lambda p: (cache[p], p))]
        cache[page] = following[t]
    return faults * instance.cost[0] if faults else 0


def tree_belady_schedule(instance: Instance, capacity: int) -> Schedule:
    """Belady's order on a forest, one whole node at a time, as a checked schedule.

    Raises
    ------
    OracleError
        If the capacity cannot hold the largest requested path.
    ScheduleError
        If the order ever meets a node with a resident child.

    Notes
    -----
    The obvious form, for small instances: requests x nodes. At trace scale
    :func:`cache_worthy.oracles.bound.clairvoyant.tree_belady` has the same cost.
    """
    require_capacity(instance, capacity)
    depth = [len(instance.path(v)) for v in range(instance.n)]
    children = instance.children()
    paths = [frozenset(instance.path(v)) for v in range(instance.n)]
    resident: set[int] = set()
    states: list[frozenset[int]] = []
    for t, v in enumerate(instance.requests):

        def next_use(u: int, now: int = t) -> int:
            later = range(now + 1, len(instance.requests))
            return next((i for i in later if u in paths[instance.requests[i]]), len(states) + 10**9)

        while sum(instance.size[u] for u in resident | paths[v]) > capacity:
            victim = max(resident - paths[v], key=lambda u: (next_use(u), depth[u], u))
            if resident & set(children[victim]):
                raise ScheduleError(f"request {t}: node {victim} is not a leaf")
            resident.remove(victim)
        resident |= paths[v]
        states.append(frozenset(resident))
    return Schedule(check_schedule(instance, capacity, states), tuple(states))
