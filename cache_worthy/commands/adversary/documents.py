"""What ``cache-worthy adversary ACTION --json`` writes. Exact numbers: integers, or "p/q"."""

from __future__ import annotations

from dataclasses import dataclass

from cache_worthy.theory.instance import Number
from cache_worthy.theory.search.task import Coverage


@dataclass(frozen=True, slots=True)
class SearchRange:
    """What was searched; ``k`` and ``h`` None for all."""

    max_nodes: int
    max_requests: int
    max_size: int
    k: int | None
    h: int | None
    tie: str
    cycle: bool
    ratio: Number | None
    falling: bool


@dataclass(frozen=True, slots=True)
class FoundInstance:
    """An instance that beats the bound, judged by the independent optimum.

    Attributes
    ----------
    ratio : int, Fraction or None
        None where the optimum pays nothing.
    """

    parent: tuple[int | None, ...]
    size: tuple[int, ...]
    cost: tuple[Number, ...]
    requests: tuple[int, ...]
    k: int
    h: int
    online_cost: Number
    optimal_cost: Number
    ratio: Number | None
    bound: Number


@dataclass(frozen=True, slots=True)
class Find:
    """The result of a search.

    Attributes
    ----------
    status : str
        "sat", "unsat" or "timeout".
    qualification : str or None
        What a search for cycles can see.
    complete_nodes : int
        Every forest of up to so many nodes was searched to the end.
    """

    status: str
    qualification: str | None
    policy: str
    range: SearchRange
    complete_nodes: int
    coverage: Coverage
    witness: FoundInstance | None


@dataclass(frozen=True, slots=True)
class PlayedPhase:
    """One phase; ``ended`` is false where it was broken off at the limit."""

    cost: Number
    requests: int
    ended: bool


@dataclass(frozen=True, slots=True)
class PlayReport:
    """A played construction.

    Attributes
    ----------
    offline_cost : int or Fraction
        Of an offline schedule, at least the optimum.
    ratio : int or Fraction
        ``cost / offline_cost``.
    landlord_phase_floor, landlord_ratio : int or Fraction
        What Landlord pays at least in a phase, and the limit of its ratio.
    bound : int or Fraction
        ``k/(k-h+1)``.
    """

    policy: str
    k: int
    h: int
    path: int
    dear_cost: Number
    dear_nodes: int
    tie: str
    phases: tuple[PlayedPhase, ...]
    cost: Number
    offline_cost: Number
    ratio: Number
    landlord_phase_floor: Number
    landlord_ratio: Number
    bound: Number
    exceeds: bool


@dataclass(frozen=True, slots=True)
class Paid:
    """What one policy pays; the ratio is None where the optimum pays nothing."""

    cost: Number
    ratio: Number | None
    exceeds: bool


@dataclass(frozen=True, slots=True)
class Check:
    """Every policy on one instance, beside the exhaustive optimum."""

    optimal_cost: Number
    bound: Number
    policies: dict[str, Paid]
