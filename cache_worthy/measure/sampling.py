"""Answers from a sample of the log: SHARDS by subtree, with the shared ancestors kept.

SHARDS (Waldspurger et al., FAST 2015) keeps the references to blocks whose hash lies under a
threshold and shrinks the cache in proportion. Blocks of a prefix cache depend on each other, so
whole subtrees are kept or left out.

* A block that more than `SHARED` of all requests pass is *shared*: it is always
  kept; the requests below it are kept only with their own subtrees. A log with one system prompt for
  all and one with a root per conversation are thus the same case.
* A *subtree* begins at the first block of a path that is not shared. It is kept if the hash of the
  path down to this block lies under ``F``. (A path of shared blocks only is its own subtree.)
* With ``S`` shared blocks of ``W`` in the log and ``s`` of ``w`` in the sample, a cache of ``C``
  blocks becomes one of ``s + (C - S) (w - s) / (W - S)``: shared blocks keep their space, the rest
  shrinks by the share of blocks kept (not by ``F``: the analogue of the SHARDS-adj correction).
* The recompute of the log is ``K + (t - k) (U - K) / (u - k)``: ``t`` is what the sample recomputes,
  ``k`` and ``K`` are the compulsory parts and ``u`` and ``U`` the costs without a cache, of sample
  and log. ``K`` and ``U`` are known exactly, so only the share of avoidable recompute is estimated.
* What a sample cannot tell is not answered: capacities that do not hold the shared blocks and the
  sample's deepest request, and whatever looks at single requests or needs exact costs.

The error is that of the delete-a-group jackknife over `GROUPS` disjoint parts of the kept subtrees
(Kott, J. Official Statistics 17, 2001), times the finite-population factor, at Student's t for 95%.
For the cost it is taken on the log odds of the share that is lost, and the wider side is printed
(the "xlogit" interval of survey statistics: R's ``survey::svyciprop``, SUDAAN): where a few subtrees
lose nearly all, a sample without them sees too little loss and too little spread at once, and the
plain interval held in 82% of the draws there. It is never put under what the rule of three leaves
open: of ``n`` subtrees with reuse, none of which loses any, up to ``3/n`` of the avoidable recompute
may still be lost in the log. It sees the luck of the draw, not a bias that all parts share.

Evidence: rank 4, samples and scales computed by hand; rank 2, F = 1 is the log, and both ends of a
curve are exact; errors and their coverage against full replays: ``scripts/figures/sampling_error.py``.
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from cache_worthy.errors import UsageError
from cache_worthy.measure.capacity import at_least
from cache_worthy.measure.replays import BASELINE, Replays
from cache_worthy.sim.forest import Forest, build_forest
from cache_worthy.sim.outcome import Outcome

SHARED = 0.01
"""A block that more than this share of the requests pass is kept with every sample."""

GROUPS = 10
"""Parts of the jackknife."""

STUDENT_T = 2.262
"""Two-sided 95% of Student's t with ``GROUPS - 1`` degrees of freedom."""

LEAST_SUBTREES = 30
LEAST_REQUESTS = 100
"""A smaller sample is refused: three subtrees per part of the jackknife and, as in SHARDS, hundreds of
references before a curve means anything."""

Row = tuple[int, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Sample:
    """Some subtrees of a log.

    Attributes
    ----------
    forest : Forest
        Of the kept requests.
    fraction : float
    seed : int
    subtrees, kept_subtrees : int
    reusing : int
        Kept subtrees with more than one request.
    shared, kept_shared : int
        Shared blocks of the log and of the sample.
    log_blocks, log_depth : int
        Distinct blocks and longest path of the log.
    rows : tuple of (int, tuple of int)
        Part of the jackknife and path of each kept request.
    """

    forest: Forest = field(repr=False)
    fraction: float
    seed: int
    subtrees: int
    kept_subtrees: int
    reusing: int
    shared: int
    kept_shared: int
    log_blocks: int
    log_depth: int
    rows: tuple[Row, ...] = field(repr=False)
    shared_set: frozenset[int] = field(repr=False)

    @property
    def own(self) -> int:
        """Blocks of the sample that are not shared."""
        return self.forest.distinct - self.kept_shared

    def scaled(self, blocks: int) -> int:
        """The sample's capacity in blocks for one of the log."""
        return self.kept_shared + (blocks - self.shared) * self.own // (
            self.log_blocks - self.shared
        )

    def least(self) -> int:
        """The least capacity of the log, in blocks, that the sample answers."""
        room = max(self.forest.depth - self.kept_shared, 0)
        beyond = -(-room * (self.log_blocks - self.shared) // self.own)
        return max(self.log_depth, self.shared + beyond)

    def without(self, part: int) -> Sample:
        """The sample without one part of the jackknife."""
        rows = tuple(row for row in self.rows if row[0] != part)
        forest, kept_shared = _grow(rows, self.shared_set)
        return dataclasses.replace(self, rows=rows, forest=forest, kept_shared=kept_shared)


def _grow(rows: Sequence[Row], shared: frozenset[int]) -> tuple[Forest, int]:
    """The forest of the kept requests, and the shared blocks in it."""
    forest = build_forest(path for _, path in rows)
    return forest, sum(block in shared for block in forest.block_ids)


def draw(forest: Forest, fraction: float, seed: int = 0) -> Sample:
    """Keep the subtrees whose hash lies under ``fraction``.

    Raises
    ------
    UsageError
        If the sample is too small, or everything in the log is shared.

    Notes
    -----
    The ids are hashed, so the sample does not depend on the order of the requests. Time: linear in
    the nodes of the forest and the references of the kept requests.
    """
    nodes = range(forest.nodes)
    shared = [forest.refs[node] > SHARED * forest.requests for node in nodes]
    number, values = _subtrees(forest, shared, seed)
    used = {number[node] for node in forest.terminal if node >= 0}
    threshold = int(fraction * 2**64)
    part = {n: values[n] * GROUPS // threshold for n in used if values[n] < threshold}
    rows = tuple(
        (part[number[node]], forest.path(request))
        for request, node in enumerate(forest.terminal)
        if node >= 0 and number[node] in part
    )
    shared_set = frozenset(
        block for node in nodes if shared[node] for block in _blocks(forest, node)
    )
    if len(shared_set) == forest.distinct:
        raise UsageError(
            f"--sample {fraction:g}: more than {SHARED:.0%} of the requests pass every block, so "
            "there is no subtree to leave out; run without it"
        )
    if len(part) < LEAST_SUBTREES or len(rows) < LEAST_REQUESTS:
        raise UsageError(
            f"--sample {fraction:g}: keeps {len(rows)} of {forest.requests} requests in "
            f"{len(part)} of {len(used)} subtrees, expected at least {LEAST_REQUESTS} in "
            f"{LEAST_SUBTREES}; give a larger fraction, or none on a small log"
        )
    sizes = Counter(number[node] for node in forest.terminal if node >= 0 and number[node] in part)
    kept, kept_shared = _grow(rows, shared_set)
    return Sample(
        forest=kept,
        fraction=fraction,
        seed=seed,
        subtrees=len(used),
        kept_subtrees=len(part),
        reusing=sum(n > 1 for n in sizes.values()),
        shared=len(shared_set),
        kept_shared=kept_shared,
        log_blocks=forest.distinct,
        log_depth=forest.depth,
        rows=rows,
        shared_set=shared_set,
    )


def _subtrees(
    forest: Forest, shared: Sequence[bool], seed: int
) -> tuple[list[int], dict[int, int]]:
    """Subtree of every node (a shared node is its own), and the 64-bit hash of every subtree."""
    number: list[int] = []
    digest: list[bytes] = []  # of the path of ids to the end of a shared node
    values: dict[int, int] = {}
    for node in range(forest.nodes):
        up = forest.parent[node]
        above = digest[up] if up >= 0 else str(seed).encode()
        if up >= 0 and not shared[up]:
            number.append(number[up])
            digest.append(b"")
            continue
        blocks = _blocks(forest, node)
        path = _digest(above, forest, blocks if shared[node] else blocks[:1])
        number.append(node)
        digest.append(path)
        values[node] = int.from_bytes(path[:8], "big")
    return number, values


def _blocks(forest: Forest, node: int) -> list[int]:
    """The blocks of a node, root first."""
    out = []
    block = forest.last_block[node]
    for _ in range(forest.end[node] - forest.start[node]):
        out.append(block)
        block = forest.block_parent[block]
    return out[::-1]


def _digest(above: bytes, forest: Forest, blocks: Sequence[int]) -> bytes:
    for block in blocks:
        above = hashlib.blake2b(
            above + str(forest.block_ids[block]).encode("utf-8", "surrogatepass"), digest_size=16
        ).digest()
    return above


class SampledReplays(Replays):
    """Replays of a log, estimated from those of a sample; capacities and totals are the log's.

    ``matched`` is empty: single requests are not estimated.
    """

    def __init__(self, replays: Replays, sample: Sample, *, parts: bool = True) -> None:
        forest, size, cost, same = replays.forest, replays.size, replays.cost, replays.same
        super().__init__(forest, size, cost, **same)
        self.sample = sample
        self._of_sample = Replays(sample.forest, size, cost, **same)
        kept = self._of_sample
        if not sample.own:
            raise UsageError(
                f"--sample {sample.fraction:g}: nothing but blocks that more than {SHARED:.0%} of the "
                "requests pass; give a larger fraction"
            )
        self._avoidable = kept.uncached_cost - kept.compulsory_cost
        if not self._avoidable:
            raise UsageError(
                f"--sample {sample.fraction:g}: no block comes twice in the sample; give a larger "
                "fraction"
            )
        self.parts: tuple[SampledReplays, ...] = ()
        if parts:
            self.parts = tuple(
                SampledReplays(replays, sample.without(part), parts=False) for part in range(GROUPS)
            )

    @property
    def least(self) -> int:
        """The least capacity that the sample and all parts of the jackknife answer, in bytes."""
        return max(r.sample.least() for r in (self, *self.parts)) * self.size.block

    def _scaled(self, capacity: int) -> int:
        return self.sample.scaled(capacity // self.size.block) * self.size.block

    def ahead(
        self,
        pairs: Iterable[tuple[str, int]],
        step: Callable[[str], None] = lambda text: None,
        what: str = "replay",
    ) -> None:
        """As in the base class, on the sample."""
        self._of_sample.ahead(((p, self._scaled(c)) for p, c in pairs), step, what)

    def run(self, policy: str, capacity: int) -> Outcome:
        """The estimate for the log."""
        found = self._of_sample.run(policy, self._scaled(capacity))
        sample, forest = self.sample, self.forest
        outside, own = sample.log_blocks - sample.shared, sample.own
        excess = found.total_cost - self._of_sample.compulsory_cost
        reused = found.block_references - found.distinct_blocks
        hits = found.hit_blocks * (forest.references - forest.distinct) // reused
        return Outcome(
            capacity=capacity,
            block_references=forest.references,
            distinct_blocks=forest.distinct,
            hit_blocks=hits,
            block_misses=forest.references - hits,
            total_cost=self.compulsory_cost
            + excess * (self.uncached_cost - self.compulsory_cost) // self._avoidable,
            compulsory_cost=self.compulsory_cost,
            evictions=found.evictions * outside // own,
            evicted_once=(found.evicted_once or 0) * outside // own,
            evicted_size=found.evicted_size * outside // own,
            resident_size=min(capacity, found.resident_size * outside // own),
            matched=(),
        )

    def unseen(self, capacity: int) -> float:
        """Cost ratio that the kept subtrees may have missed, by the rule of three; 0 for the working set."""
        if capacity >= self.working_set:
            return 0.0
        share = min(3 / max(self.sample.reusing, 1), 1.0)
        left = math.sqrt(1 - self.sample.fraction)
        return share * left * (self.uncached_cost - self.compulsory_cost) / self.compulsory_cost

    def errors(
        self,
        pairs: Sequence[tuple[str, int]],
        value: Callable[[Replays, str, int], float],
        step: Callable[[str], None] = lambda text: None,
    ) -> list[float]:
        """The jackknife's error of ``value(replays, policy, capacity)`` for each of the pairs."""
        for number, part in enumerate(self.parts, 1):
            part.ahead(pairs, step, f"error, part {number}/{GROUPS},")
        errors = []
        for policy, capacity in pairs:
            estimate = value(self, policy, capacity)
            half = half_width(
                [value(part, policy, capacity) for part in self.parts],
                estimate,
                self.sample.fraction,
            )
            if value is cost_ratio:
                half = wider_side(estimate, half, self.uncached_cost / self.compulsory_cost)
            errors.append(max(half, self.unseen(capacity)))
        return errors


def half_width(values: Sequence[float], estimate: float, fraction: float) -> float:
    """The jackknife's error of an estimate from those with one part left out.

    Examples
    --------
    >>> half_width([1.0] * GROUPS, 1.0, 0.1)
    0.0
    """
    variance = (len(values) - 1) / len(values) * math.fsum((v - estimate) ** 2 for v in values)
    return STUDENT_T * math.sqrt(variance * (1 - fraction))


def wider_side(ratio: float, half: float, uncached: float) -> float:
    """The wider side of an interval on the log odds of the share of avoidable recompute lost.

    Parameters
    ----------
    ratio, half : float
        Cost ratio, from 1 to ``uncached``, and its error on the plain scale.

    Examples
    --------
    >>> wider_side(1.5, 0.0, 2.0), round(wider_side(1.02, 0.02, 2.0), 4), wider_side(1.0, 0.1, 2.0)
    (0.0, 0.0336, 0.1)
    """
    share = (ratio - 1) / (uncached - 1)
    if not 0 < share < 1:
        return half
    middle = math.log(share / (1 - share))
    spread = half / (uncached - 1) / (share * (1 - share))
    low, high = ((1 + math.tanh((middle + side) / 2)) / 2 for side in (-spread, spread))
    return max(share - low, high - share) * (uncached - 1)


def cost_ratio(replays: Replays, policy: str, capacity: int) -> float:
    """Recompute over compulsory."""
    return replays.run(policy, capacity).cost_ratio or 0.0


def saving(replays: Replays, policy: str, capacity: int) -> float:
    """What a policy saves against the baseline, as a share."""
    base = replays.run(BASELINE, capacity).total_cost
    return (base - replays.run(policy, capacity).total_cost) / base if base else 0.0


def require_answered(capacity: int | None, replays: SampledReplays) -> None:
    """Refuse a capacity that the sample cannot answer."""
    if capacity is not None and capacity < replays.least:
        raise UsageError(
            f"capacity {capacity / 2**30:.4f} GiB is under what --sample "
            f"{replays.sample.fraction:g} can answer: {replays.least / 2**30:.4f} GiB (fraction "
            f"{at_least(replays.least, replays.working_set)} of the working set)\n  give at least that, "
            "a larger sample, or none"
        )
