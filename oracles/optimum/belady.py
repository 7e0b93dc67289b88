"""Belady's rule: furthest next use goes first.

On flat instances with unit sizes and equal costs it is optimal (Belady 1966; Mattson et al. 1970),
which makes it ground truth from established theory for the exact solvers.
"""

from __future__ import annotations

from cache_worthy.oracles.schedule import OracleError, require_capacity
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
