"""Request cycles repeated forever: exact mean cost of a policy and of the optimum.

One phase can be lucky; a cycle shows that a ratio is reached again and again, so that no additive
constant saves a bound.
"""

from __future__ import annotations

from collections.abc import Hashable
from fractions import Fraction

from cache_worthy.theory.algorithms import make
from cache_worthy.theory.instance import Instance, Number
from cache_worthy.theory.search.load_counts import Schedules
from cache_worthy.theory.steps import Tie


class CycleError(RuntimeError):
    """The policy did not come back to a state it had at the start of a cycle."""


def online_mean(
    policy: str, instance: Instance, k: int, *, tie: Tie = "lru", max_cycles: int = 1000
) -> Number:
    """Mean cost per cycle of ``policy`` when ``instance.requests`` is repeated forever.

    The run starts empty and stops when the whole state at the start of a cycle returns; from there
    on it repeats, so the mean is exact.

    Raises
    ------
    CycleError
        If no state returns within ``max_cycles`` cycles.

    Examples
    --------
    >>> cycle = Instance(parent=(None, 0, None, None), size=(1, 1, 1, 1), cost=(0, 9, 2, 2),
    ...                  requests=(1, 2, 3, 2, 3, 2, 3))
    >>> online_mean("landlord", cycle, 3), online_mean("landlord_eager", cycle, 3)
    (Fraction(20, 1), Fraction(21, 1))
    """
    algorithm = make(policy, instance, k, tie=tie)
    seen: dict[Hashable, tuple[int, Number]] = {}
    for done in range(max_cycles + 1):
        state = algorithm.state()
        if state in seen:
            since, paid = seen[state]
            return Fraction(algorithm.cost - paid) / (done - since)
        seen[state] = (done, algorithm.cost)
        for v in instance.requests:
            algorithm.step(v)
    raise CycleError(f"{policy} came back to no state within {max_cycles} cycles of {instance}")


def offline_mean(instance: Instance, h: int) -> Number:
    """Least mean cost per cycle over all infinite schedules at capacity ``h``, exact.

    States between two cycles form a graph whose arcs cost what the cheapest schedule from one to
    the other costs; the answer is its minimum cycle mean (Karp 1978, "A characterization of the
    minimum cycle mean in a digraph").

    Examples
    --------
    >>> offline_mean(Instance(parent=(None, 0, None, None), size=(1, 1, 1, 1),
    ...                       cost=(0, 9, 2, 2), requests=(1, 2, 3, 2, 3, 2, 3)), 2)
    Fraction(13, 1)
    """
    schedules = Schedules(instance.parent, instance.size, h)
    arcs: dict[int, dict[int, Number]] = {}
    todo = [0]
    while todo:
        state = todo.pop()
        if state in arcs:
            continue
        arcs[state] = {}
        layer: dict[int, Number] = {state: 0}
        for v in instance.requests:
            after: dict[int, Number] = {}
            for mask, paid in layer.items():
                cost = paid + sum(instance.cost[u] for u in instance.path(v) if not mask >> u & 1)
                for new in schedules.successors(mask, v):
                    if new not in after or cost < after[new]:
                        after[new] = cost
            layer = after
        arcs[state] = layer
        todo.extend(layer)
    return _minimum_cycle_mean(arcs)


def _minimum_cycle_mean(arcs: dict[int, dict[int, Number]]) -> Number:
    """Karp's formula, from a source with a free arc to every state."""
    n = len(arcs)
    best: list[dict[int, Number]] = [dict.fromkeys(arcs, 0)]
    for _ in range(n):
        row: dict[int, Number] = {}
        for state, cost in best[-1].items():
            for new, arc in arcs[state].items():
                if new not in row or cost + arc < row[new]:
                    row[new] = cost + arc
        best.append(row)
    means = [
        max(Fraction(best[n][v] - best[j][v]) / (n - j) for j in range(n) if v in best[j])
        for v in best[n]
    ]
    return min(means)
