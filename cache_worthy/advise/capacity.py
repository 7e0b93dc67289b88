"""Questions 2 and 3: the least memory that can serve the traffic, and how much to allocate."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cache_worthy.advise.context import Context
from cache_worthy.advise.quantity import CAPACITY, Quantities, Quantity, halves, members, spread
from cache_worthy.advise.reader import Reader
from cache_worthy.advise.section import Section
from cache_worthy.measure.replays import Replays

POINTS = 20
"""Capacities on the curve, geometric from the floor to the working set."""

ELASTICITY_THRESHOLD = 0.10
"""Ten percent more memory for less than one percent less recompute is past the knee."""

RULE = (
    "the smallest capacity past which no further step of the curve reaches an elasticity of "
    f"{ELASTICITY_THRESHOLD:.2f}"
)

CURVE_POLICY = "lru"
"""The default of most servers."""


@dataclass(frozen=True, slots=True)
class CapacityPoint:
    """One capacity: its bytes and whole blocks, and the cost with it."""

    fraction: float
    bytes: int
    blocks: int
    total_cost: int
    cost_ratio: float | None
    block_hit_rate: float | None
    elasticity: float | None


@dataclass(frozen=True, slots=True)
class CapacityCurve:
    """The curve and the recommendation on it.

    ``recommended_*`` repeat the fields of the recommended point, so that scripts need no index.
    """

    policy: str
    threshold: float
    rule: str
    recommended_index: int
    recommended_fraction: float
    recommended_bytes: int
    recommended_blocks: int
    recommended_cost_ratio: float | None
    points: tuple[CapacityPoint, ...]

    @property
    def recommended(self) -> CapacityPoint:
        """The recommended point."""
        return self.points[self.recommended_index]


def _compare(document: Reader) -> Quantities:
    curve, band = document.maybe("capacity"), document.maybe("band", "capacity")
    name, answer = "recommended", "The memory to give"
    if curve is None:
        yield CAPACITY, Quantity(name, "words", "not worth caching", answer=answer)
        return
    size, cost = curve.integer("recommended_bytes"), curve.number("recommended_cost_ratio")
    ends = [] if band is None else [band.number("low_bytes"), band.number("high_bytes")]
    of_halves = halves(document, "recommended_bytes")
    yield (
        CAPACITY,
        Quantity(name, "bytes", size, spread=spread(size, of_halves, ends), answer=answer),
    )
    share = curve.number("recommended_fraction")
    yield CAPACITY, Quantity("of the working set", "share", share)
    costs = [of(document, "recommended_cost_ratio") for of in (halves, members)]
    there = spread(cost, *costs, _estimates(document, curve, cost))
    yield CAPACITY, Quantity("cost there", "ratio", cost, spread=there, answer="The cost there")


def _estimates(document: Reader, curve: Reader, cost: float | None) -> tuple[float, ...]:
    """The ends of the error interval of the recommended point, if it is estimated from a sample."""
    points = document.some("sample", "curve")
    index = curve.integer("recommended_index")
    if cost is None or not 0 <= index < len(points):
        return ()
    error = points[index].number("error") or 0.0
    return (cost - error, cost + error)


@Section("capacity", title="Capacity", place=50, compare=_compare)
def capacity(context: Context) -> CapacityCurve:
    """Questions 2 and 3."""
    return measure_curve(context.replays, context.step)


def geometric_capacities(floor: int, working_set: int, points: int = POINTS) -> list[int]:
    """Capacities from ``floor`` to ``working_set``, both exact, in equal ratios.

    Equal neighbours (a log whose floor is its working set) are listed once.

    Examples
    --------
    >>> geometric_capacities(100, 1600, 5)
    [100, 200, 400, 800, 1600]
    >>> geometric_capacities(100, 100, 5)
    [100]
    """
    ratio = working_set / floor
    inner = [int(floor * ratio ** (i / (points - 1))) for i in range(1, points - 1)]
    return sorted({floor, working_set, *(min(max(c, floor), working_set) for c in inner)})


def elasticities(capacities: Sequence[int], costs: Sequence[int]) -> list[float | None]:
    """Percent of cost removed per percent of memory added, step by step; None for the first.

    Examples
    --------
    >>> elasticities([1, 2, 4], [16, 8, 8])
    [None, 1.0, 0.0]
    """
    out: list[float | None] = [None]
    for i in range(1, len(capacities)):
        if costs[i] and costs[i - 1]:
            run = math.log(capacities[i] / capacities[i - 1])
            out.append(math.log(costs[i - 1] / costs[i]) / run + 0.0)
        else:
            out.append(None if costs[i - 1] else 0.0)
    return out


def knee(steps: Sequence[float | None], threshold: float = ELASTICITY_THRESHOLD) -> int:
    """Index of the smallest capacity past which no step reaches ``threshold``.

    Examples
    --------
    >>> knee([None, 0.5, 0.02, 0.3, 0.09])
    3
    >>> knee([None, 0.05])
    0
    """
    return max((i for i, e in enumerate(steps) if e is not None and e >= threshold), default=0)


def measure_curve(
    replays: Replays,
    step: Callable[[str], None] = lambda text: None,
    capacities: Sequence[int] | None = None,
) -> CapacityCurve:
    """Replay the log at every capacity of the curve under the default policy.

    The capacities, ascending in bytes, are the geometric ones unless given.
    """
    size, working_set = replays.size, replays.working_set
    if capacities is None:
        capacities = geometric_capacities(replays.least, working_set)
    replays.ahead([(CURVE_POLICY, capacity) for capacity in capacities], step, "capacity curve")
    results = [replays.run(CURVE_POLICY, capacity) for capacity in capacities]
    steps = elasticities(capacities, [r.total_cost for r in results])
    points = tuple(
        CapacityPoint(
            fraction=r.capacity / working_set,
            bytes=r.capacity,
            blocks=r.capacity // size.block,
            total_cost=r.total_cost,
            cost_ratio=r.cost_ratio,
            block_hit_rate=r.block_hit_rate,
            elasticity=e,
        )
        for r, e in zip(results, steps, strict=True)
    )
    best = knee(steps)
    return CapacityCurve(
        policy=CURVE_POLICY,
        threshold=ELASTICITY_THRESHOLD,
        rule=RULE,
        recommended_index=best,
        recommended_fraction=points[best].fraction,
        recommended_bytes=points[best].bytes,
        recommended_blocks=points[best].blocks,
        recommended_cost_ratio=points[best].cost_ratio,
        points=points,
    )
