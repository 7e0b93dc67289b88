"""What every section measures: one log under one set of options, each derived thing made once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from cache_worthy.advise.family import CostMember, family
from cache_worthy.advise.memory import Engine
from cache_worthy.logs.log import Log
from cache_worthy.measure.cost_curve import CostCurve
from cache_worthy.measure.floor import require_floor
from cache_worthy.measure.per_request import known_blocks
from cache_worthy.measure.replays import Replays
from cache_worthy.measure.sampling import Sample, SampledReplays, draw, require_answered
from cache_worthy.sim.columns import RequestTable
from cache_worthy.sim.cost import DEFAULT_MODEL, BlockCost, BlockSize, Model
from cache_worthy.sim.forest import Forest, forest_of
from cache_worthy.sim.radix.policies import EvictionPolicy
from cache_worthy.sim.trace import BlockId, paths_of
from cache_worthy.workers import Workers


@dataclass(frozen=True, slots=True)
class Options:
    """What a user may choose.

    Attributes
    ----------
    model : Model
    capacity : callable or None
        ``capacity(distinct_blocks, block_bytes)`` in bytes, or None.
    own_policies : mapping of str to callable
        Factories of the user's policies by display name.
    top_pins : int
    skip : frozenset of str
        Sections to leave out, by their names in ``sections.SECTIONS``.
    cost_curve : CostCurve or None
        A measured member of the sensitivity band.
    sample : float or None
        Estimate from this share of the log's subtrees.
    engine : {"generic", "sglang", "vllm"}
    gpu_gib : float or None
        Memory of the GPUs of one replica together.
    sglang_version : str or None
    show_text : bool
        Whether a few characters of prompts may stand in the result.
    """

    model: Model = DEFAULT_MODEL
    capacity: Callable[[int, int], int | None] | None = None
    own_policies: Mapping[str, Callable[[], EvictionPolicy]] = field(default_factory=dict)
    top_pins: int = 5
    skip: frozenset[str] = frozenset()
    cost_curve: CostCurve | None = None
    sample: float | None = None
    engine: Engine = "generic"
    gpu_gib: float | None = None
    sglang_version: str | None = None
    show_text: bool = True


class Context:
    """A log and what the sections share of it, made when first asked for.

    Attributes
    ----------
    log : Log
    options : Options
    step : callable
        Told what is being done.
    workers : Workers
    skippable : tuple of str
        The sections that ``--skip`` can name; a sample answers none of them.
    """

    def __init__(
        self,
        log: Log,
        options: Options,
        *,
        step: Callable[[str], None],
        workers: Workers,
        skippable: Iterable[str],
    ) -> None:
        self.log = log
        self.options = options
        self.step = step
        self.workers = workers
        self.skippable = tuple(skippable)
        self.size = BlockSize(options.model, log.block_tokens)
        self.cost = BlockCost(options.model, log.block_tokens)

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
    def lengths(self) -> Sequence[int]:
        """Tokens of every prompt."""
        requests = self.log.requests
        if isinstance(requests, RequestTable):
            return requests.lengths
        return [request.input_length for request in requests]

    @cached_property
    def known(self) -> Sequence[int]:
        """Per request the blocks of its path that an earlier one had."""
        return known_blocks(self.forest)

    @cached_property
    def chosen(self) -> int | None:
        """The user's own capacity in bytes."""
        if self.options.capacity is None:
            return None
        return self.options.capacity(self.forest.distinct, self.size.block)

    @cached_property
    def members(self) -> tuple[CostMember, ...]:
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
        chosen, mine = self.chosen, self.members[0]
        require_floor(chosen, self.forest, self.size)
        whole = Replays(
            self.forest,
            mine.size,
            mine.cost,
            own=self.options.own_policies,
            workers=self.workers,
        )
        if self.sample is None or self.sample.fraction >= 1:
            return whole
        estimated = SampledReplays(whole, self.sample)
        require_answered(chosen, estimated)
        return estimated
