"""One replay of a log under one policy of any kind: radix tree, blocks, SGLang's strategies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from cache_worthy.errors import UsageError
from cache_worthy.logs.log import Log
from cache_worthy.measure.capacity import Capacity, require_floor
from cache_worthy.measure.policies import Factory, Plan, strategy_config
from cache_worthy.measure.replays import run_policy
from cache_worthy.measure.result import InputRead, Result, input_read
from cache_worthy.sim.columns import RequestTable
from cache_worthy.sim.cost import BlockCost, BlockSize, Model
from cache_worthy.sim.errors import InvariantError
from cache_worthy.sim.forest import Forest, forest_of
from cache_worthy.sim.outcome import Outcome, tokens_of
from cache_worthy.sim.sglang.versions import CURRENT


@dataclass(frozen=True, slots=True)
class RequestHits:
    """Tokens of one prompt, and how many of them were found resident."""

    hit_tokens: int
    prompt_tokens: int


@dataclass(frozen=True, slots=True)
class Replay(Result):
    """A log under one policy of any kind at one capacity. Costs in exact FLOPs.

    None where this kind of policy does not have a quantity, or it is undefined.

    Attributes
    ----------
    engine : str
        ``radix``: the tree of this project; ``generic``, ``vllm``, ``sglang``: whose blocks.
    pins_path : bool
        Whether the blocks of the request in service cannot be evicted.
    parameters : dict of str to (str, int or float)
        Options of the policy that were given.
    covered : bool
        Inside oracle coverage: false for a policy of the user's own.
    total_cost, compulsory_cost : int
        Recomputed, and what an unlimited cache computes.
    cost_ratio : float or None
        Total over compulsory; None with --page-size, whose units differ.
    evictions : int or None
        Of tree nodes.
    block_misses : int or None
        Blocks that were loaded.
    block_hit_rate : float or None
        Matched over referenced blocks, cold, whole log; None with --page-size.
    token_hit_rate : float or None
        Prompt tokens found resident, cold, whole log.
    request_hit_rate : float or None
        Mean over the requests of each one's share of prompt tokens found resident.
    per_request : tuple of RequestHits or None
        In the order of service; only with --per-request.
    """

    document_name: ClassVar[str] = "replay"

    input: InputRead
    model: Model
    policy: str
    engine: str
    pins_path: bool
    parameters: dict[str, str | int | float]
    covered: bool
    capacity_bytes: int
    capacity_blocks: int
    requests: int
    block_references: int
    distinct_blocks: int
    total_cost: int
    compulsory_cost: int
    cost_ratio: float | None
    evictions: int | None
    block_misses: int | None
    evicted_tokens: int | None
    final_cache_tokens: int | None
    final_cache_blocks: int | None
    block_hit_rate: float | None
    token_hit_rate: float | None
    request_hit_rate: float | None
    total_hit_tokens: int
    total_prompt_tokens: int
    per_request: tuple[RequestHits, ...] | None = field(metadata={"optional": True}, repr=False)

    def rows(self) -> Sequence[dict[str, object]]:
        """Hit and prompt tokens of every request, in the order of service."""
        if self.per_request is None:
            raise UsageError("to_frame: give per_request=True to replay, for rows of requests")
        return [
            {"hit_tokens": r.hit_tokens, "prompt_tokens": r.prompt_tokens} for r in self.per_request
        ]


def replay_log(
    log: Log,
    plan: Plan,
    capacity: Capacity,
    *,
    model: Model,
    per_request: bool = True,
    note: Callable[[str], None] = lambda text: None,
) -> Replay:
    """Replay a log.

    Parameters
    ----------
    log : Log
    plan : Plan
    capacity : Capacity
    model : Model
    per_request : bool
        Whether the result has the hits of every request.
    note : callable
        Told what the reader should know of this log under this policy.

    Raises
    ------
    InputError
        For a capacity that cannot serve the log, or a parameter out of its range.
    """
    policy = plan.policy
    requests = RequestTable.of(log.requests)
    forest = forest_of(requests)
    # A policy that pins the path replays a server, whose block hashes include the prefix; the
    # others take an id for what it is.
    if forest.reinterned and not policy.pins_path:
        note(f"block ids do not fix their prefix; {policy.name} takes each id as a block")
    size, cost = BlockSize(model, log.block_tokens), BlockCost(model, log.block_tokens)
    room = capacity.in_bytes(forest.distinct, size.block) or 0
    if policy.pins_path:
        require_floor(room, forest, size)
    if plan.factory is not None:
        outcome = _radix(plan.factory, policy.name, forest, capacity=room, size=size, cost=cost)
    else:
        run = _sglang if policy.engine == "sglang" else _blocks
        outcome = run(plan, forest, requests, blocks=room // size.block, cost=cost)
    lengths = requests.lengths
    hits = outcome.hit_tokens or tokens_of(outcome.matched, lengths, log.block_tokens)
    outcome = replace(outcome, hit_tokens=hits, prompt_tokens=lengths)
    found = _document(log, plan, outcome, size=size, capacity=room)
    if not per_request:
        return found
    return replace(found, per_request=tuple(map(RequestHits, hits, lengths)))


def _radix(
    factory: Factory,
    name: str,
    forest: Forest,
    *,
    capacity: int,
    size: BlockSize,
    cost: BlockCost,
) -> Outcome:
    outcome = run_policy(name, factory, forest, capacity=capacity, size=size, cost=cost)
    if outcome.total_cost != forest.recomputed(cost.cumulative(forest.depth), outcome.matched):
        raise InvariantError(f"{name}: the matched blocks do not cost what it says")
    return outcome


def _blocks(
    plan: Plan, forest: Forest, requests: RequestTable, *, blocks: int, cost: BlockCost
) -> Outcome:
    from cache_worthy.sim.blocks import BlockLog, replay_blocks

    log = BlockLog(
        forest,
        requests.lengths,
        block_size=cost.block_tokens,
        by_path=plan.policy.pins_path,
        costs=cost,
    )
    return replay_blocks(log, plan.policy.name, blocks, **plan.parameters)


def _sglang(
    plan: Plan, forest: Forest, requests: RequestTable, *, blocks: int, cost: BlockCost
) -> Outcome:
    from cache_worthy.sim.sglang.log import PagedLog
    from cache_worthy.sim.sglang.replay import replay_sglang
    from cache_worthy.sim.sglang.versions import server_for

    given: dict[str, Any] = dict(plan.parameters)
    log = PagedLog.of(
        forest,
        requests.lengths,
        outputs=None if given.get("generated") == "ignore" else requests.outputs,
        priorities=requests.priorities,
        block_tokens=cost.block_tokens,
        page_size=given.get("page_size"),
        costs=cost,
    )
    room = blocks * cost.block_tokens
    if log.floor > room:  # prompts alone fit, by the floor that was checked before
        raise UsageError(
            f"capacity {room} tokens is below the largest request, {log.floor} tokens with what "
            "it generates; give at least that, or --generated ignore for prompts alone"
        )
    release = given.get("sglang_version")
    return replay_sglang(
        log,
        plan.policy.name,
        room,
        server=CURRENT if release is None else server_for(release),
        **strategy_config(given.get("policy_config")),
    )


def _document(log: Log, plan: Plan, outcome: Outcome, *, size: BlockSize, capacity: int) -> Replay:
    """The outcome as a document, which tells only what this kind of cache counts."""
    engine = plan.policy.engine
    tree, sglang = engine in ("radix", "sglang"), engine == "sglang"
    block = size.block if engine == "radix" else log.block_tokens if sglang else 1
    whole = "page_size" not in plan.parameters  # else the two ratios would compare unlike units
    return Replay(
        input=input_read(log),
        model=size.model,
        policy=plan.policy.name,
        engine=engine,
        pins_path=plan.policy.pins_path,
        parameters=plan.parameters,
        covered=plan.covered,
        capacity_bytes=capacity,
        capacity_blocks=capacity // size.block,
        requests=len(log.requests),
        block_references=outcome.block_references,
        distinct_blocks=outcome.distinct_blocks,
        total_cost=outcome.total_cost,
        compulsory_cost=outcome.compulsory_cost,
        cost_ratio=outcome.cost_ratio if whole else None,
        evictions=outcome.evictions if tree else None,
        block_misses=None if sglang else outcome.block_misses,
        evicted_tokens=outcome.evicted_size if sglang else None,
        final_cache_tokens=outcome.resident_size if sglang else None,
        final_cache_blocks=outcome.resident_size // block,
        block_hit_rate=outcome.block_hit_rate if whole else None,
        token_hit_rate=outcome.token_hit_rate,
        request_hit_rate=outcome.request_hit_rate,
        total_hit_tokens=outcome.total_hit_tokens,
        total_prompt_tokens=outcome.total_prompt_tokens,
        per_request=None,
    )
