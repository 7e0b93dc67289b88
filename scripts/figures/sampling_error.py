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
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from sampled_errors import Errors

from cache_worthy.advise.capacity import CURVE_POLICY, elasticities, geometric_capacities, knee
from cache_worthy.advise.policy_table import FRACTIONS
from cache_worthy.errors import UsageError
from cache_worthy.logs.session import read_log
from cache_worthy.measure.replays import Replays
from cache_worthy.measure.sampling import SampledReplays, cost_ratio, draw, saving
from cache_worthy.sim.cost import BlockCost, BlockSize
from cache_worthy.sim.forest import Forest, build_forest
from cache_worthy.sim.radix.policies import POLICIES
from cache_worthy.sim.radix.replay import replay
from cache_worthy.sim.trace import paths_of

LOGS = ("conversation", "synthetic")


def at_capacity(forest: Forest, blocks: int) -> tuple[int, int] | None:
    """Recompute and compulsory cost of a forest at a capacity; None under its floor."""
    if blocks < forest.depth:
        return None
    size, cost = BlockSize(), BlockCost()
    found = replay(forest, POLICIES[CURVE_POLICY](), blocks * size.block, size, cost)
    return found.total_cost, found.compulsory_cost


class Comparison:
    """Samples of one log at one fraction against replays of all of it."""

    def __init__(self, replays: Replays, fraction: float) -> None:
        self.replays, self.fraction = replays, fraction
        self.capacities = geometric_capacities(replays.least, replays.working_set)
        self.truth = {c: cost_ratio(replays, CURVE_POLICY, c) for c in self.capacities}
        table = replays.cost.cumulative(replays.forest.depth)
        self.uncached = sum(map(table.__getitem__, replays.forest.length))
        self.curve, self.savings, self.plain, self.by_fraction = (Errors() for _ in range(4))
        self.ends: list[float] = []
        self.knees: list[float] = []
        self.kept: list[int] = []

    def add(self, seed: int) -> None:
        """Draw one sample; `UsageError` if there is none to draw."""
        sampled = SampledReplays(self.replays, draw(self.replays.forest, self.fraction, seed))
        self.kept.append(len(sampled.sample.rows))
        self.ends.append(sampled.least / self.replays.working_set)
        self._add_curve(sampled, seed)
        self._add_savings(sampled, seed)
        capacities = geometric_capacities(sampled.least, self.replays.working_set)
        self.knees.append(self._knee(sampled, capacities))

    def _knee(self, replays: Replays | SampledReplays, capacities: Sequence[int]) -> float:
        costs = [replays.run(CURVE_POLICY, c).total_cost for c in capacities]
        return capacities[knee(elasticities(capacities, costs))] / self.replays.working_set

    def _add_curve(self, sampled: SampledReplays, seed: int) -> None:
        sample, block = sampled.sample, self.replays.size.block
        answered = [c for c in self.capacities if sampled.least <= c < self.replays.working_set]
        widths = sampled.errors([(CURVE_POLICY, c) for c in answered], cost_ratio)
        for c, width in zip(answered, widths, strict=True):
            self.curve.add(cost_ratio(sampled, CURVE_POLICY, c) - self.truth[c], width, seed, c)
            compulsory = sampled.run(CURVE_POLICY, c).compulsory_cost
            found = at_capacity(sample.forest, sample.scaled(c // block))
            if found is not None:
                self.plain.add(found[0] / self.fraction / compulsory - self.truth[c])
            own = sample.kept_shared + int(self.fraction * (c // block - sample.shared))
            found = at_capacity(sample.forest, own)
            if found is not None:
                table = self.replays.cost.cumulative(sample.forest.depth)
                avoidable = sum(map(table.__getitem__, sample.forest.length)) - found[1]
                share = (found[0] - found[1]) / avoidable
                estimate = 1 + share * (self.uncached - compulsory) / compulsory
                self.by_fraction.add(estimate - self.truth[c])

    def _add_savings(self, sampled: SampledReplays, seed: int) -> None:
        working_set = self.replays.working_set
        capacities = [c for f in FRACTIONS if (c := int(f * working_set)) >= sampled.least]
        for policy in ("landlord", "gdsf"):
            chosen = [(policy, c) for c in capacities]
            for part in sampled.parts:
                part.ahead([(CURVE_POLICY, c) for c in capacities])
            for (_, c), width in zip(chosen, sampled.errors(chosen, saving), strict=True):
                off = saving(sampled, policy, c) - saving(self.replays, policy, c)
                self.savings.add(off, width, seed, (policy, c))

    def show(self) -> None:
        """Print the errors."""
        kept, ends, knees = self.kept, self.ends, sorted(self.knees)
        best = self._knee(self.replays, self.capacities)
        print(f"  requests kept: {min(kept)} to {max(kept)} of {self.replays.forest.requests}")
        print(f"  answers from {min(ends):.2%} to {max(ends):.2%} of the working set on")
        print(f"  cost ratio: {self.curve.text()}")
        if self.savings.values:
            print(f"  savings of landlord and gdsf: {self.savings.text()}")
        print(f"  plain scale-up by 1/F: mean |error| {self.plain.mean_absolute:.4f}")
        if self.by_fraction.values:
            mean = self.by_fraction.mean_absolute
            print(f"  capacities by F, not by blocks kept: mean |error| {mean:.4f}")
        print(
            f"  recommended: {knees[0]:.1%} to {knees[-1]:.1%}, median "
            f"{knees[len(knees) // 2]:.1%} of the working set; by the whole log {best:.1%}"
        )


def measure(name: str, replays: Replays, fraction: float, seeds: range) -> None:
    """Print the errors of one log at one fraction."""
    comparison = Comparison(replays, fraction)
    refused = 0
    for seed in seeds:
        try:
            comparison.add(seed)
        except UsageError:
            refused += 1
    drawn = f"{len(seeds) - refused} of {len(seeds)} seeds (others refused)"
    print(f"\n{name}, F = {fraction:g}, {drawn}", flush=True)
    if comparison.kept:
        comparison.show()


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
