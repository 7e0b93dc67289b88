"""Errors of ``analyze --sample`` against replays of the whole log, and how often they hold.

    python scripts/figures/sampling_error.py --traces data/raw [--seeds N] [--first N] [--fractions F [F ...]]

Every sample is drawn with the production code, once a seed of the hash. At each capacity of the
full curve that the sample answers, the estimate is held against the full replay, and the truth is
looked for inside the printed error. Beside it, on the same draws, two corrections that were left
out: the plain SHARDS scale-up (the sample's recompute over F), and capacities scaled by F instead
of by the share of blocks kept.

A share of capacities and draws is given with its standard error over draws, since the capacities of
one draw err together. The form of the printed error was chosen on seeds 1000 to 1059; the figures
that are quoted come from others, 5000 on.

Prints figures and passes or fails nothing. 20 seeds take about 20 seconds of CPU.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean

from cache_worthy.advise.capacity import CURVE_POLICY, elasticities, geometric_capacities, knee
from cache_worthy.advise.policy import FRACTIONS
from cache_worthy.errors import UsageError
from cache_worthy.logs.session import read_log
from cache_worthy.measure.replays import Replays
from cache_worthy.measure.sampling import SampledReplays, cost_ratio, draw, saving
from cache_worthy.sim.cost import BlockCost, BlockSize
from cache_worthy.sim.forest import PrefixForest, build_forest
from cache_worthy.sim.radix.policies import POLICIES
from cache_worthy.sim.radix.replay import replay
from cache_worthy.sim.trace import paths_of

LOGS = ("conversation", "synthetic")


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


def at_capacity(forest: PrefixForest, blocks: int) -> tuple[int, int] | None:
    """Recompute and compulsory cost of a forest at a capacity; None under its floor."""
    if blocks < forest.depth:
        return None
    size, cost = BlockSize(), BlockCost()
    found = replay(forest, POLICIES[CURVE_POLICY](), blocks * size.block, size, cost)
    return found.total_cost, found.compulsory_cost


def measure(name: str, replays: Replays, fraction: float, seeds: range) -> None:
    """Print the errors of one log at one fraction."""
    block = replays.size.block
    capacities = geometric_capacities(replays.least, replays.working_set)
    uncached = sum(
        map(replays.cost.cumulative(replays.forest.depth).__getitem__, replays.forest.length)
    )
    truth = {c: cost_ratio(replays, CURVE_POLICY, c) for c in capacities}
    curve, savings, plain, by_fraction = Errors(), Errors(), Errors(), Errors()
    ends: list[float] = []
    knees: list[float] = []
    kept: list[int] = []
    refused = 0
    for seed in seeds:
        try:
            sampled = SampledReplays(replays, draw(replays.forest, fraction, seed))
        except UsageError:
            refused += 1
            continue
        sample = sampled.sample
        kept.append(len(sample.rows))
        ends.append(sampled.least / replays.working_set)
        answered = [c for c in capacities if sampled.least <= c < replays.working_set]
        pairs = [(CURVE_POLICY, c) for c in answered]
        for (_, c), width in zip(pairs, sampled.errors(pairs, cost_ratio), strict=True):
            curve.add(cost_ratio(sampled, CURVE_POLICY, c) - truth[c], width, seed, c)
            compulsory = sampled.run(CURVE_POLICY, c).compulsory_cost
            found = at_capacity(sample.forest, sample.scaled(c // block))
            if found is not None:
                plain.add(found[0] / fraction / compulsory - truth[c])
            own = sample.kept_shared + int(fraction * (c // block - sample.shared))
            found = at_capacity(sample.forest, own)
            if found is not None:
                table = replays.cost.cumulative(sample.forest.depth)
                avoidable = sum(map(table.__getitem__, sample.forest.length)) - found[1]
                share = (found[0] - found[1]) / avoidable
                by_fraction.add(1 + share * (uncached - compulsory) / compulsory - truth[c])
        table_at = [c for f in FRACTIONS if (c := int(f * replays.working_set)) >= sampled.least]
        for policy in ("landlord", "gdsf"):
            chosen = [(policy, c) for c in table_at]
            for part in sampled.parts:
                part.ahead([(CURVE_POLICY, c) for c in table_at])
            for (_, c), width in zip(chosen, sampled.errors(chosen, saving), strict=True):
                off = saving(sampled, policy, c) - saving(replays, policy, c)
                savings.add(off, width, seed, (policy, c))
        own_curve = geometric_capacities(sampled.least, replays.working_set)
        costs = [sampled.run(CURVE_POLICY, c).total_cost for c in own_curve]
        knees.append(own_curve[knee(elasticities(own_curve, costs))] / replays.working_set)
    print(
        f"\n{name}, F = {fraction:g}, {len(seeds) - refused} of {len(seeds)} seeds (others refused)",
        flush=True,
    )
    if not kept:
        return
    whole = [replays.run(CURVE_POLICY, c).total_cost for c in capacities]
    best = capacities[knee(elasticities(capacities, whole))] / replays.working_set
    print(f"  requests kept: {min(kept)} to {max(kept)} of {replays.forest.requests}")
    print(f"  answers from {min(ends):.2%} to {max(ends):.2%} of the working set on")
    print(f"  cost ratio: {curve.text()}")
    if savings.values:
        print(f"  savings of landlord and gdsf: {savings.text()}")
    print(f"  plain scale-up by 1/F: mean |error| {plain.mean_absolute:.4f}")
    if by_fraction.values:
        print(
            f"  capacities by F, not by blocks kept: mean |error| {by_fraction.mean_absolute:.4f}"
        )
    knees.sort()
    print(
        f"  recommended: {knees[0]:.1%} to {knees[-1]:.1%}, median {knees[len(knees) // 2]:.1%} of "
        f"the working set; by the whole log {best:.1%}"
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Measure; exit code 0."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--traces", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=5000, metavar="N", help="first seed (5000)")
    parser.add_argument("--fractions", type=float, nargs="+", default=[0.01, 0.05, 0.1])
    args = parser.parse_args(argv)
    for name in LOGS:
        log = read_log([str(args.traces / f"{name}_trace.jsonl")])
        forest = build_forest(paths_of(log.requests))
        replays = Replays(forest, BlockSize(), BlockCost())
        for fraction in args.fractions:
            measure(name, replays, fraction, range(args.first, args.first + args.seeds))
    return 0


if __name__ == "__main__":
    sys.exit(main())
