"""Why the hit rate is no higher: every block that was not a hit, by one named cause.

What no cache can save (missing from question 1's ceiling) is divided by why its blocks were new;
the other misses at the recommended capacity were evicted before they were needed again. Each cause
of a request is a range of its path, so the causes are disjoint and complete:

* ``common_start``: the first block is new, but begins like an earlier prompt: what blocks of 16 tokens
  (of one, if they are no larger) would share of it. Its part of the block's cost is by tokens; the rest
  is of one of the other causes. A block that counts as near-identical is not divided.
* ``shorter_than_a_block``: new, in a prompt shorter than one block (engines that cache full blocks
  only never hit it; here it counts as a whole block).
* ``tool_order``: new, but a hit if every prompt listed its tools in the order in which the same
  tools came first: the log is counted again with them in that order.
* ``near_identical_start``: the first block is new and near-identical to an earlier one
  (:mod:`cache_worthy.logs.evidence` says when). All that such a request had to compute is counted,
  so this is an upper limit: how much would be shared without the difference cannot be known.
* ``new_start``: the first block is new, and nothing more is known: a first occurrence.
* ``new_below``: new below a known prefix: a first occurrence too.
* ``evicted``: known, but no longer in the cache: the capacity is too small for this reuse.

In a log without prompts, with block ids only, the second and third cannot be told from a first
occurrence and count as one; the report says so.

Evidence: rank 2, the causes sum to the compulsory cost and to the replay's total, raised here, and
the count with tools in their first order equals that of a log written in that order (tests); rank
4, logs computed by hand, text and tools included (tests).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from cache_worthy.advise.capacity import CapacityCurve
from cache_worthy.advise.context import Context
from cache_worthy.advise.quantity import MISSES, Quantities, Quantity
from cache_worthy.advise.reader import Reader
from cache_worthy.advise.section import Section
from cache_worthy.advise.workload import common_start_cost
from cache_worthy.logs.evidence import Divergence, Evidence
from cache_worthy.measure.per_request import require_sums
from cache_worthy.measure.replays import BASELINE
from cache_worthy.sim.errors import InvariantError
from cache_worthy.sim.outcome import Outcome
from cache_worthy.sim.trace import BlockId

NAMES = {
    "common_start": "common start shorter than a block",
    "shorter_than_a_block": "prompt shorter than a block",
    "tool_order": "same tools, another order",
    "near_identical_start": "near-identical first block",
    "new_start": "new from the first block on",
    "new_below": "new below a known prefix",
    "evicted": "evicted before it came again",
}
"""In words."""

EVICTED = "evicted"
NEW = tuple(name for name in NAMES if name != EVICTED)

Compared = Literal["text", "tokens", "text and tokens", "nothing"]


@dataclass(frozen=True, slots=True)
class Cause:
    """One cause."""

    name: str
    known: bool
    """Whether the log has what tells this cause from a first occurrence."""
    requests: int
    """Requests with a block of this cause."""
    blocks: int
    cost: int
    """FLOPs."""
    fraction: float
    """Of the prefill cost without a cache."""
    example_record: int | None
    """1-based, of the request with the largest part, the earliest of equals."""
    example_block: int | None
    """Blocks above its part."""
    example_token: int | None
    """Tokens above it."""


@dataclass(frozen=True, slots=True)
class Beginning:
    """An example of two near-identical beginnings."""

    record: int
    """1-based, of the first request of this cause that begins so."""
    requests: int
    """Requests of this cause that begin like one earlier prompt except for a short stretch."""
    position: int
    """Characters (tokens where the log has tokens) before the first difference, in the prompt as
    rendered."""
    unit: Literal["characters", "tokens"]
    before: str | None
    """Text before the difference; None where it may not be shown."""
    earlier: str | None
    """Text from the difference on in the earlier prompt."""
    later: str | None
    """The same in the later prompt."""


@dataclass(frozen=True, slots=True)
class Causes:
    """Misses by cause: of an unlimited cache, and at the recommended capacity."""

    uncached_cost: int
    """Prefill FLOPs without a cache; fractions are shares of it."""
    compared: Compared
    """What of the prompts could be compared."""
    given_up: bool
    """Whether comparing first blocks ended early because nothing matched."""
    prompts_with_tools: int
    tools_not_compared: bool
    """Whether there were more lists of tools than are compared."""
    new: tuple[Cause, ...]
    """What no cache saves; the costs sum to ``missing_cost``."""
    missing_cost: int
    missing_fraction: float
    """Here a repeated partial block counts as a hit. One minus the ceiling, unless
    ``worth.hidden_fraction`` is given."""
    policy: str
    capacity_bytes: int | None
    """The recommended capacity; None if question 1 ended the run."""
    evicted: Cause | None
    missing_there_cost: int | None
    """The cost there: ``missing_cost`` plus the cost of ``evicted``."""
    missing_there_fraction: float | None
    beginning: Beginning | None
    """The most frequent near-identical beginning."""


def _compare(document: Reader) -> Quantities:
    causes = document.maybe("causes")
    if causes is None:
        return
    evicted = causes.maybe("evicted")
    for cause in [*causes.rows("new"), *([] if evicted is None else [evicted])]:
        known, name = cause.get("known").value is True, cause.text("name")
        share = cause.number("fraction") if known else None
        yield MISSES, Quantity(NAMES.get(name, name), "share", share)


@Section(
    "causes",
    wants=("capacity",),
    title="Why",
    place=30,
    skip="why the hit rate is no higher",
    gated=False,
    compare=_compare,
)
def causes(context: Context, curve: CapacityCurve | None) -> Causes | None:
    """Why the hit rate is no higher; at the recommended capacity if there is one."""
    result = None
    if curve is not None:
        result = context.replays.run(BASELINE, curve.recommended_bytes)
    return measure_causes(context, result)


class _Parts:
    """Ranges of blocks of one cause."""

    def __init__(self, context: Context) -> None:
        self._costs, self._block_tokens = context.costs, context.log.block_tokens
        self.requests = self.blocks = self.cost = self.largest = 0
        self.example: tuple[int, int] | None = None

    def add(self, request: int, begin: int, end: int, *, less: int = 0) -> None:
        """Add a range of blocks, but for a part of its cost."""
        cost = self._costs[end] - self._costs[begin] - less
        self.requests += 1
        self.blocks += end - begin
        self.cost += cost
        if cost > self.largest:
            self.largest = cost
            self.example = (request, begin)

    def cause(self, name: str, *, known: bool, uncached: int) -> Cause:
        record, block = self.example or (None, None)
        return Cause(
            name=name,
            known=known,
            requests=self.requests,
            blocks=self.blocks,
            cost=self.cost,
            fraction=self.cost / uncached,
            example_record=None if record is None else record + 1,
            example_block=block,
            example_token=None if block is None else block * self._block_tokens,
        )


def measure_causes(context: Context, result: Outcome | None) -> Causes | None:
    """Divide the computed blocks by cause; None if nothing had to be computed.

    ``result`` is the replay at the recommended capacity, if there is one.

    Raises
    ------
    InvariantError
        If the causes do not sum to the compulsory cost, or with the evicted part to the replay's
        total.

    Notes
    -----
    Time: requests; all block references if tools were reordered.
    """
    evidence, costs = context.log.evidence, context.costs
    uncached = context.forest.recomputed(costs)
    if not uncached:
        return None
    compulsory = context.forest.recomputed(costs, context.known)
    parts, alike = _new(context)
    if sum(part.cost for part in parts.values()) != compulsory:
        raise InvariantError(f"causes of new blocks do not sum to the compulsory {compulsory}")
    evicted = total = None
    if result is not None:
        part, total = _evicted(context, result), result.total_cost
        if compulsory + part.cost != total:
            raise InvariantError(f"causes do not sum to the recompute {total}")
        evicted = part.cause(EVICTED, known=True, uncached=uncached)
    compared = _compared(evidence)
    told = {
        "tool_order": evidence.tools.prompts > 0,
        "near_identical_start": compared != "nothing",
    }
    return Causes(
        uncached_cost=uncached,
        compared=compared,
        given_up=evidence.preambles.given_up,
        prompts_with_tools=evidence.tools.prompts,
        tools_not_compared=evidence.tools.full,
        new=tuple(
            part.cause(name, known=told.get(name, True), uncached=uncached)
            for name, part in parts.items()
            if name != "common_start" or compared != "nothing"
        ),
        missing_cost=compulsory,
        missing_fraction=compulsory / uncached,
        policy=BASELINE,
        capacity_bytes=None if result is None else result.capacity,
        evicted=evicted,
        missing_there_cost=total,
        missing_there_fraction=None if total is None else total / uncached,
        beginning=_beginning(alike, evidence.preambles.examples, context.options.show_text),
    )


def _new(context: Context) -> tuple[dict[str, _Parts], list[tuple[int, int]]]:
    """The new parts by cause; the requests with a near-identical start, each with its example."""
    parts = {name: _Parts(context) for name in NEW}
    known, paths, evidence = context.known, context.paths, context.log.evidence
    alike = evidence.preambles.alike
    found: list[tuple[int, int]] = []
    other = known_in_first_order(paths, evidence) if evidence.reordered else known
    for request, (end, begin) in enumerate(zip(context.forest.length, known, strict=True)):
        if begin == end:
            continue
        ordered, near = min(max(other[request], begin), end), paths[request][0] in alike
        begins = 0 if ordered or near else common_start_cost(context, request)
        if begins:
            parts["common_start"].add(request, 0, 0, less=-begins)
        if end == 1 and context.lengths[request] < context.log.block_tokens:
            parts["shorter_than_a_block"].add(request, begin, end, less=begins)
            continue
        if ordered > begin:
            parts["tool_order"].add(request, begin, ordered)
        if ordered == end:
            continue
        name = "new_below" if ordered else "new_start"
        if not ordered and near:
            name = "near_identical_start"
            found.append((request, alike[paths[request][0]]))
        parts[name].add(request, ordered, end, less=begins)
    return parts, found


def _evicted(context: Context, result: Outcome) -> _Parts:
    """Blocks that were evicted before they were requested again."""
    require_sums(context.forest, context.costs, known=context.known, result=result)
    part = _Parts(context)
    for request, (begin, end) in enumerate(zip(result.matched, context.known, strict=True)):
        if begin < end:
            part.add(request, begin, end)
    return part


def _compared(evidence: Evidence) -> Compared:
    """What of the prompts could be compared."""
    if evidence.texts and evidence.tokens:
        return "text and tokens"
    return "text" if evidence.texts else "tokens" if evidence.tokens else "nothing"


def known_in_first_order(paths: Sequence[Sequence[BlockId]], evidence: Evidence) -> list[int]:
    """Per request the known blocks if all tools were in the order in which they came first.

    Ids of prompts cut from text are chained hashes: an id stands for the whole prefix.
    """
    reordered = evidence.reordered
    seen: set[BlockId] = set()
    out = []
    for path in paths:
        ids = reordered.get(path[-1], path) if path else path
        new = next((n for n, block in enumerate(ids) if block not in seen), len(ids))
        seen.update(ids[new:])
        out.append(new)
    return out


def _beginning(
    requests: Sequence[tuple[int, int]], examples: Sequence[Divergence], show_text: bool
) -> Beginning | None:
    """The example of the most requests; the earliest if several have as many.

    ``requests`` are their positions with the number of their example, or -1.
    """
    counts = Counter(number for _, number in requests if number >= 0)
    if not counts:
        return None
    number = min(counts, key=lambda n: (-counts[n], n))
    best = examples[number]
    record = 1 + min(request for request, n in requests if n == number)
    shown = show_text and best.readable
    return Beginning(
        record=record,
        requests=counts[number],
        position=best.position,
        unit="characters" if best.readable else "tokens",
        before=best.before if shown else None,
        earlier=best.earlier if shown else None,
        later=best.later if shown else None,
    )
