"""What sections measure: one log under one set of options; everything derived is computed once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from cache_worthy.advise.family import CostMember, family
from cache_worthy.advise.memory import Engine
from cache_worthy.logs.log import Log
from cache_worthy.measure.capacity import require_floor
from cache_worthy.measure.cost_curve import CostCurve
from cache_worthy.measure.per_request import known_blocks
from cache_worthy.measure.policies import by_default
from cache_worthy.measure.replays import Replays
from cache_worthy.measure.sampling import Sample, SampledReplays, draw, require_answered
from cache_worthy.sim.columns import RequestTable
from cache_worthy.sim.cost import DEFAULT_MODEL, BlockCost, BlockSize, Model
from cache_worthy.sim.forest import Forest, forest_of
from cache_worthy.sim.radix.policies import POLICIES, EvictionPolicy
from cache_worthy.sim.trace import BlockId, paths_of
from cache_worthy.workers import SERIAL, Workers


@dataclass(frozen=True, slots=True)
class Options:
    """What a user may choose."""

    model: Model = DEFAULT_MODEL
    capacity: Callable[[int, int], int | None] | None = None
    """``capacity(distinct_blocks, block_bytes)`` in bytes, or None."""
    shipped: Sequence[str] = field(default_factory=by_default)
    """The shipped policies to compare."""
    own_policies: Mapping[str, Callable[[], EvictionPolicy]] = field(default_factory=dict)
    """Factories of the user's policies by display name."""
    pins: int = 5
    skip: frozenset[str] = frozenset()
    """Sections to leave out, by their names in ``sections.SECTIONS``."""
    cost_curve: CostCurve | None = None
    """A measured member of the sensitivity band."""
    sample: float | None = None
    """Estimate from this share of the log's subtrees."""
    engine: Engine = "generic"
    gpu_gib: float | None = None
    """Memory of the GPUs of one replica together."""
    sglang_version: str | None = None
    show_text: bool = True
    """Whether the result may quote a few characters of prompts."""


class Context:
    """A log and what the sections share, each computed when first used.

    ``step`` is called with progress messages; ``skippable`` are the sections that ``--skip`` can name,
    none of which a sample can answer.
    """

    def __init__(
        self,
        log: Log,
        options: Options | None = None,
        *,
        step: Callable[[str], None] = lambda text: None,
        workers: Workers = SERIAL,
        skippable: Iterable[str] = (),
    ) -> None:
        self.log = log
        self.options = options or Options()
        self.step = step
        self.workers = workers
        self.skippable = tuple(skippable)
        self.size = BlockSize(self.options.model, log.block_tokens)
        self.cost = BlockCost(self.options.model, log.block_tokens)

    @cached_property
    def paths(self) -> Sequence[Sequence[BlockId]]:
        """Block ids, request by request."""
        return paths_of(self.log.requests)

    @cached_property
    def forest(self) -> Forest:
        """The requests as a forest of prefixes."""
        self.step("interning blocks")
        return forest_of(self.log.requests)

    @cached_property
    def costs(self) -> Sequence[int]:
        """FLOPs of a path of 0, 1, ... blocks."""
        return self.cost.cumulative(self.forest.depth)

    @cached_property
    def lengths(self) -> Sequence[int]:
        """Tokens of every prompt."""
        requests = self.log.requests
        if isinstance(requests, RequestTable):
            return requests.lengths
        return [request.input_length for request in requests]

    @cached_property
    def known(self) -> Sequence[int]:
        """Per request the blocks of its path that an earlier request had."""
        return known_blocks(self.forest)

    @cached_property
    def chosen(self) -> int | None:
        """The user's own capacity in bytes."""
        if self.options.capacity is None:
            return None
        return self.options.capacity(self.forest.distinct, self.size.block)

    @cached_property
    def members(self) -> Sequence[CostMember]:
        """The cost functions of the sensitivity band; the first is the chosen model."""
        return family(
            self.options.model,
            self.log.block_tokens,
            depth=self.forest.depth,
            curve=self.options.cost_curve,
        )

    @cached_property
    def sample(self) -> Sample | None:
        """The subtrees that ``--sample`` keeps."""
        share = self.options.sample
        return None if share is None else draw(self.forest, share)

    @cached_property
    def replays(self) -> Replays:
        """The replays of the log, or of its sample; made once the options have been checked.

        Raises
        ------
        UsageError
            If the chosen capacity is under the floor or what the sample answers, a measured curve is
            too short, or the sample too small.
        """
        chosen, mine, shipped = self.chosen, self.members[0], self.options.shipped
        require_floor(chosen, self.forest, self.size)
        whole = Replays(
            self.forest,
            mine.size,
            mine.cost,
            policies={**{name: POLICIES[name] for name in shipped}, **self.options.own_policies},
            workers=self.workers,
        )
        if self.sample is None or self.sample.fraction >= 1:
            return whole
        estimated = SampledReplays(whole, self.sample)
        require_answered(chosen, estimated)
        return estimated
