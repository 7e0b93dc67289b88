"""What the existential search is given and gives back: tasks, outcomes, witnesses."""

from __future__ import annotations

import time
from dataclasses import dataclass, fields
from fractions import Fraction

from cache_worthy.theory.forests import Parent, Tick
from cache_worthy.theory.instance import Instance, Number
from cache_worthy.theory.steps import Tie, bound, divide

COUNTING = frozenset({"gdsf", "freq_landlord"})
"""Policies for which repeating a request matters."""


class SearchError(RuntimeError):
    """The search contradicts itself: a witness that does not replay."""


class TimeOut(Exception):
    """The deadline has passed."""


def ticker(deadline: float | None) -> Tick:
    """A function that raises `TimeOut` once the deadline has passed."""

    def tick() -> None:
        if deadline is not None and time.monotonic() > deadline:
            raise TimeOut

    return tick


@dataclass(frozen=True, slots=True)
class Witness:
    """An instance on which a policy costs more than a bound times a feasible schedule."""

    instance: Instance
    """Integer costs."""
    k: int
    h: int
    policy: str
    tie: str
    """Tie-break of the transcription."""
    online: Number
    """The policy's cost, from exact replay; for a cycle, its mean cost per cycle."""
    offline: Number
    """Cost of the witness's schedule at ``h``, of which the optimum is no larger; for a cycle, the
    optimum's exact minimum mean cost per cycle."""
    cycle: bool = False
    """The requests are one cycle, to be repeated forever."""

    @property
    def ratio(self) -> Number | None:
        """``online / offline``; None if the offline side pays nothing."""
        return divide(self.online, self.offline) if self.offline else None


@dataclass(slots=True)
class Coverage:
    """What a search has gone through, in numbers."""

    forests: int = 0
    """Sized forests searched to the end, one per pair ``(k, h)``."""
    sequences: int = 0
    """Request sequences that touch every leaf, up to symmetry."""
    runs: int = 0
    """(sequence, cost cone) pairs; ``vacuous`` of them never evict."""
    vacuous: int = 0
    checks: int = 0
    """Calls of z3."""

    def add(self, other: Coverage) -> None:
        """Add the numbers of another search."""
        for f in fields(self):
            setattr(self, f.name, getattr(self, f.name) + getattr(other, f.name))


@dataclass(frozen=True, slots=True)
class Task:
    """One sized forest under one pair of capacities."""

    policy: str
    parent: Parent
    size: tuple[int, ...]
    k: int
    h: int
    max_requests: int
    tie: Tie = "lru"
    """Tie-break of the transcription."""
    cycle: bool = False
    """Look for request cycles, repeated forever, of at most so many requests. The search sees only
    what `find.cycle_scope` says; "unsat" is to be read with these limits. The means of a witness
    are exact."""
    ratio: Number | None = None
    """Exceed this, at least 1, instead of ``k/(k-h+1)``."""
    falling: bool = False
    """Only costs per size that never rise from root to leaf: the safe sub-case of Landlord."""

    @property
    def limit(self) -> Fraction:
        """The ratio to exceed: ``k/(k-h+1)`` unless another was asked for."""
        return Fraction(bound(self.k, self.h) if self.ratio is None else self.ratio)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one task: a witness of fewest requests or none, and whether it finished."""

    witness: Witness | None
    complete: bool
    coverage: Coverage
