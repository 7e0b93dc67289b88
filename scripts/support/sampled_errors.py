"""Errors of samples over seeds and capacities, and how often the printed error held them."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field
from statistics import fmean


@dataclass
class Errors:
    """Errors of one kind over seeds and capacities, and how wide the printed ones were."""

    values: list[float] = field(default_factory=list)
    widths: list[float] = field(default_factory=list)
    draws: list[int] = field(default_factory=list)
    places: list[object] = field(default_factory=list)

    def add(self, error: float, width: float = 0.0, draw: int = 0, place: object = None) -> None:
        self.values.append(error)
        self.widths.append(width)
        self.draws.append(draw)
        self.places.append(place)

    @property
    def mean_absolute(self) -> float:
        return fmean(abs(v) for v in self.values)

    @property
    def inside(self) -> list[bool]:
        return [abs(v) <= w + 1e-9 for v, w in zip(self.values, self.widths, strict=True)]

    @property
    def covered(self) -> float:
        return fmean(self.inside)

    def covered_error(self) -> float:
        """Standard error of ``covered``: a ratio over draws (Cochran, Sampling Techniques, 2.46)."""
        mean = self.covered
        off: defaultdict[int, float] = defaultdict(float)
        for seed, inside in zip(self.draws, self.inside, strict=True):
            off[seed] += inside - mean
        n = len(off)
        if n < 2:
            return math.nan
        return math.sqrt(n / (n - 1) * math.fsum(d * d for d in off.values())) / len(self.values)

    def least_covered(self) -> float:
        """Share at the capacity (and policy) where it is least, of those with ten draws."""
        by_place: defaultdict[object, list[bool]] = defaultdict(list)
        for place, inside in zip(self.places, self.inside, strict=True):
            by_place[place].append(inside)
        return min((fmean(v) for v in by_place.values() if len(v) >= 10), default=math.nan)

    def text(self) -> str:
        return (
            f"mean |error| {self.mean_absolute:.4f}, bias {fmean(self.values):+.4f}, worst "
            f"{max(abs(v) for v in self.values):.4f}; printed +/- {fmean(self.widths):.4f} on "
            f"average, truth inside {self.covered:.1%} (se {self.covered_error():.1%}) of "
            f"{len(self.values)}, {self.least_covered():.1%} at the capacity where least"
        )
