"""The exact offline optimum of a small instance by dynamic programming.

States are ancestor-closed sets of resident nodes, as bit masks. Three facts keep them few:

* *Lazy eviction.* After a request it is enough to consider the maximal ancestor-closed sets that
  hold the requested path and fit: from a superset every continuation of the subset can be followed
  at no greater cost.
* *Dead nodes go.* A node that is not requested again (then none of its descendants is) is dropped
  before the next request.
* *Dominance.* State ``A`` reached at cost ``a`` is dropped when some ``B`` was reached at cost
  ``b`` with ``b + cost(A - B) <= a``: from ``B``, follow the best continuation of ``A`` and load
  each node of ``A - B`` at most once more, the first time it is missed.

Evidence: the answer equals an independent integer program under two solvers, Belady's rule where
Belady is optimal (established theory), and hand-computed instances; every schedule is rechecked by
:func:`cache_worthy.oracles.schedule.check_schedule`. See ``tests/oracles/test_optimal.py`` and
``scripts/check/oracles.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import lcm

from cache_worthy.oracles.schedule import Schedule, ScheduleError, check_schedule, require_capacity
from cache_worthy.theory.instance import Instance, Number

Progress = Callable[[int, int], None]
"""Called before every request with its index and the number of states kept so far."""


def optimal_cost(instance: Instance, capacity: int, progress: Progress | None = None) -> Number:
    """Least total cost of serving ``instance`` from an empty cache of ``capacity``.

    Parameters
    ----------
    instance : Instance
    capacity : int
        In size units, at least ``instance.floor``.
    progress : callable, optional
        Called with (request index, states) before every request; it may raise to stop the search.

    Returns
    -------
    int or Fraction
        Exact. The first loads are included, so it is at least ``instance.compulsory``.

    Raises
    ------
    OracleError
        If the capacity cannot hold the largest requested path.

    Notes
    -----
    Exponential in the number of nodes at worst; ``scripts/check/oracles.py --reach`` measures how
    large an instance takes ten seconds.

    Examples
    --------
    >>> instance = Instance(parent=(None, 0, None, None), size=(1, 1, 1, 1), cost=(0, 5, 2, 0),
    ...                     requests=(1, 2, 3, 2, 3, 2))
    >>> optimal_cost(instance, 2)
    7
    """
    return optimal_schedule(instance, capacity, progress).cost


def optimal_schedule(
    instance: Instance, capacity: int, progress: Progress | None = None
) -> Schedule:
    """An optimal schedule, with the resident nodes right after every request.

    Loads happen only on request (lazy loading costs nothing: a load can always be put off to the
    request that needs it). Ties are broken in a fixed way, so the schedule is a function of the
    arguments. Parameters and errors as in :func:`optimal_cost`.

    Examples
    --------
    >>> instance = Instance(parent=(None, 0, 0), size=(1, 1, 1), cost=(4, 1, 7),
    ...                     requests=(1, 2, 1, 2))
    >>> schedule = optimal_schedule(instance, 2)
    >>> schedule.cost, [sorted(state) for state in schedule.states]
    (20, [[0, 1], [0, 2], [0, 1], [0, 2]])
    """
    require_capacity(instance, capacity)
    expected, masks = _search(instance, capacity, progress)
    nodes = range(instance.n)
    states = tuple(frozenset(u for u in nodes if mask >> u & 1) for mask in masks)
    cost = check_schedule(instance, capacity, states)
    if cost != expected:
        raise ScheduleError(f"the schedule costs {cost}, the search said {expected}")
    return Schedule(cost=cost, states=states)


def _search(
    instance: Instance, capacity: int, progress: Progress | None
) -> tuple[Fraction, list[int]]:
    """The optimum, and the resident nodes after each request as bit masks."""
    # Integers throughout: Fractions are scaled by their common denominator.
    scale = lcm(*(Fraction(c).denominator for c in instance.cost)) if instance.n else 1
    cost = [int(c * scale) for c in instance.cost]
    size = list(instance.size)
    paths = [_mask(instance.path(v)) for v in range(instance.n)]
    children = [_mask(kids) for kids in instance.children()]

    # alive[t]: nodes on the path of some request t' >= t.
    alive = [0] * (len(instance.requests) + 1)
    for t in range(len(instance.requests) - 1, -1, -1):
        alive[t] = alive[t + 1] | paths[instance.requests[t]]

    layer: dict[int, int] = {0: 0}
    back: list[dict[int, int]] = []
    for t, v in enumerate(instance.requests):
        if progress is not None:
            progress(t, len(layer))
        path = paths[v]
        reached: dict[int, tuple[int, int]] = {}
        fitted: dict[int, list[int]] = {}
        for state, paid in layer.items():
            want = state & alive[t] | path
            price = paid + _weight(path & ~state, cost)
            if want not in fitted:
                fitted[want] = _fit(want, path, capacity, size, children)
            for new in fitted[want]:
                old = reached.get(new)
                if old is None or (price, state) < old:
                    reached[new] = (price, state)
        layer = _undominated({new: price for new, (price, _) in reached.items()}, cost)
        back.append({new: reached[new][1] for new in layer})

    best, state = min((paid, state) for state, paid in layer.items())
    states: list[int] = []
    for step in reversed(back):
        states.append(state)
        state = step[state]
    return Fraction(best, scale), states[::-1]


def _mask(nodes: tuple[int, ...]) -> int:
    return sum(1 << u for u in nodes)


def _weight(mask: int, weight: list[int]) -> int:
    total = 0
    while mask:
        low = mask & -mask
        total += weight[low.bit_length() - 1]
        mask ^= low
    return total


def _fit(want: int, pinned: int, capacity: int, size: list[int], children: list[int]) -> list[int]:
    """Ancestor-closed subsets of ``want`` that hold ``pinned`` and fit; all maximal ones are there.

    Leaves are removed one at a time and a branch ends as soon as it fits. Every set on the way to
    a maximal fitting set contains it strictly, so does not fit, so no maximal set is missed.
    """
    surplus = _weight(want, size) - capacity
    if surplus <= 0:
        return [want]
    done: list[int] = []
    seen = {want}
    stack = [(want, surplus)]
    while stack:
        state, over = stack.pop()
        loose = state & ~pinned
        while loose:
            low = loose & -loose
            loose ^= low
            u = low.bit_length() - 1
            if children[u] & state:
                continue
            smaller = state ^ low
            if smaller in seen:
                continue
            seen.add(smaller)
            if over <= size[u]:
                done.append(smaller)
            else:
                stack.append((smaller, over - size[u]))
    return done


def _undominated(reached: dict[int, int], cost: list[int]) -> dict[int, int]:
    """Drop every state ``A`` at ``a`` with some ``B`` at ``b`` where ``b + cost(A - B) <= a``."""
    # If B dominates A then b <= a, and b = a leaves cost(A) <= cost(B): in this order a state
    # comes after everything that dominates it, and dominance is transitive.
    order = sorted(reached.items(), key=lambda item: (item[1], -_weight(item[0], cost), item[0]))
    kept: list[tuple[int, int]] = []
    for state, paid in order:
        for other, less in kept:
            slack = paid - less
            missing = state & ~other
            while missing and slack >= 0:
                low = missing & -missing
                slack -= cost[low.bit_length() - 1]
                missing ^= low
            if slack >= 0:
                break
        else:
            kept.append((state, paid))
    return dict(kept)
