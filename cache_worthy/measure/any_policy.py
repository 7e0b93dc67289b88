"""``replay`` for the policies that are no radix-tree policies: blocks and serving engines."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cache_worthy.commands import options as arg
from cache_worthy.errors import UsageError
from cache_worthy.sim.blocks.policies import POLICIES as BLOCK_POLICIES
from cache_worthy.sim.cost import BlockCost, BlockSize, Model
from cache_worthy.sim.errors import InvariantError
from cache_worthy.sim.forest import PrefixForest
from cache_worthy.sim.radix.policies import POLICIES
from cache_worthy.sim.sglang.strategies import STRATEGIES
from cache_worthy.sim.sglang.versions import CURRENT

if TYPE_CHECKING:
    from cache_worthy.logs.log import Log


@dataclass(frozen=True, slots=True)
class Listed:
    """A policy as ``cache-worthy policies`` lists it.

    Attributes
    ----------
    name, summary, source : str
    engine : str
        ``vllm``, ``sglang``, or ``generic``.
    pins_path : bool
        The blocks of the request in service stay.
    """

    name: str
    summary: str
    source: str
    engine: str
    pins_path: bool


def listed() -> list[Listed]:
    """Every policy of this module."""
    rows = [
        Listed(s.name, s.summary, s.source, s.engine, s.pins_path) for s in BLOCK_POLICIES.values()
    ]
    for strategy in STRATEGIES.values():
        offered = strategy.server_name in CURRENT.choices
        source = (
            f"SGLang evict_policy.py; {'offered' if offered else 'refused'} by its command line"
        )
        rows.append(Listed(strategy.name, strategy.summary, source, "sglang", True))
    return rows


@dataclass(frozen=True, slots=True)
class RequestHits:
    """Tokens of one prompt, and how many of them were found resident."""

    hit_tokens: int
    prompt_tokens: int


@dataclass(frozen=True, slots=True)
class Replay:
    """A log under one policy at one capacity, of any kind of policy. Costs in exact FLOPs.

    None where a quantity is none of this kind of policy's, or undefined.

    Attributes
    ----------
    engine : str
        ``radix``: the tree of this project; ``generic``, ``vllm``, ``sglang``: whose blocks.
    pins_path : bool
        The blocks of the request in service stay.
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

    input: arg.InputRead
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
    per_request: tuple[RequestHits, ...] | None = field(metadata={"optional": True})


@dataclass(frozen=True, slots=True)
class _Option:
    """An option that belongs to some policies only."""

    flag: str
    attribute: str


_OPTIONS = (
    _Option("--small-ratio", "small_ratio"),
    _Option("--max-freq", "max_freq"),
    _Option("--ghost-hit-freq", "ghost_hit_freq"),
    _Option("--partial-blocks", "partial_blocks"),
    _Option("--policy-config", "policy_config"),
    _Option("--page-size", "page_size"),
    _Option("--generated", "generated"),
    _Option("--sglang-version", "sglang_version"),
)
_SGLANG_OPTIONS = ("policy_config", "page_size", "generated", "sglang_version")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The policies' own options; each is refused where its policy has no use for it."""
    group = parser.add_argument_group("options of block policies")
    group.add_argument(
        "--small-ratio",
        type=float,
        metavar="R",
        help="s3fifo, s3fifo_paper: share of the small queue, 0 < R < 1 (default 0.1)",
    )
    group.add_argument(
        "--max-freq",
        type=int,
        metavar="N",
        help="s3fifo, s3fifo_paper: the access counters saturate here (default 3)",
    )
    group.add_argument(
        "--ghost-hit-freq",
        type=int,
        metavar="N",
        help="s3fifo: counter of a block readmitted from the ghost queue (default 0)",
    )
    group.add_argument(
        "--partial-blocks",
        choices=("keep", "drop"),
        help="vllm_lru: keep a last block that is not full, or drop it as the server does "
        "(default keep)",
    )
    group = parser.add_argument_group("options of sglang_*")
    group.add_argument(
        "--policy-config",
        metavar="JSON",
        help="the strategy's parameters, as --radix-eviction-policy-config of the server takes "
        'them: slru {"protected_threshold": 2}, tlru {"threshold": 0, "next_prompt_estimate": 0}',
    )
    group.add_argument(
        "--page-size",
        type=arg.positive_int,
        metavar="T",
        help="tokens of a page, a divisor of the log's block; the last block of a prompt keeps "
        "its whole pages (default: every block counts as full); cost_ratio and block_hit_rate, "
        "which are of whole blocks, are then null",
    )
    group.add_argument(
        "--generated",
        choices=("ignore", "length"),
        help="let generated tokens take room where the log has their number (default length)",
    )
    add_sglang_version(group)


def add_sglang_version(parser: argparse._ActionsContainer) -> None:
    """Which release of SGLang."""
    parser.add_argument(
        "--sglang-version",
        metavar="V",
        help="release whose options and bookkeeping to follow, 0.5.3 or later (default: the "
        f"current one, {'.'.join(map(str, CURRENT.since))} and later)",
    )


def policy_parameters(
    args: argparse.Namespace, allowed: Sequence[str]
) -> dict[str, str | int | float]:
    """The policy options that were given.

    Raises
    ------
    UsageError
        If one was given that the policy does not have.
    """
    chosen: dict[str, str | int | float] = {}
    for option in _OPTIONS:
        value = getattr(args, option.attribute, None)
        if value is None:
            continue
        if option.attribute not in allowed:
            flags = ", ".join(o.flag for o in _OPTIONS if o.attribute in allowed)
            raise UsageError(
                f"{option.flag}: policy {args.policy} does not have it; it takes "
                f"{flags or 'no option of its own'}"
            )
        chosen[option.attribute] = value
    return chosen


def replay_engine(args: argparse.Namespace) -> Replay:
    """Replay a policy of this module.

    Raises
    ------
    UsageError, InputError
        For a bad option, or a capacity that cannot serve the log.
    """
    from cache_worthy.console import note
    from cache_worthy.measure.floor import require_floor
    from cache_worthy.sim.cost import load_model
    from cache_worthy.sim.forest import build_forest
    from cache_worthy.sim.trace import paths_of

    (policy,) = [p for p in listed() if p.name == args.policy]
    allowed = (
        _SGLANG_OPTIONS if policy.engine == "sglang" else BLOCK_POLICIES[policy.name].parameters
    )
    parameters = policy_parameters(args, allowed)
    model = load_model(args.model)
    log = arg.read_log(args)
    forest = build_forest(paths_of(log.requests))
    # A policy that pins the path replays a server, whose block hashes include the prefix; the
    # others take an id for what it is.
    if forest.reinterned and not policy.pins_path:
        note(
            f"block ids do not fix their prefix; {policy.name} takes each id as a block", args.quiet
        )
    size, cost = BlockSize(model, log.block_tokens), BlockCost(model, log.block_tokens)
    capacity = arg.capacity_bytes(args, forest.distinct, size.block) or 0
    if policy.pins_path:
        require_floor(capacity, forest, size)
    blocks = capacity // size.block
    outcome = (
        _run_sglang(policy.name, log, blocks, parameters)
        if policy.engine == "sglang"
        else _run_blocks(policy, log, blocks, parameters)
    )
    return _replayed(args, log, forest, cost, capacity, policy, parameters, outcome)


def replay_radix(args: argparse.Namespace) -> Replay:
    """Replay a radix-tree policy, shipped or the user's own.

    Raises
    ------
    UsageError, InputError
        For a bad option, or a capacity that cannot serve the log.
    """
    from cache_worthy.measure.floor import require_floor
    from cache_worthy.measure.replays import run_policy
    from cache_worthy.measure.user_policy import resolve_policy
    from cache_worthy.sim.cost import load_model
    from cache_worthy.sim.forest import build_forest
    from cache_worthy.sim.trace import paths_of

    policy_parameters(args, ())  # refuses every one of them
    model = load_model(args.model)
    factory = resolve_policy(args.policy)
    log = arg.read_log(args)
    forest = build_forest(paths_of(log.requests))
    size, cost = BlockSize(model, log.block_tokens), BlockCost(model, log.block_tokens)
    capacity = arg.capacity_bytes(args, forest.distinct, size.block) or 0
    require_floor(capacity, forest, size)
    result = run_policy(args.policy, factory, forest, capacity, size, cost)
    lengths = tuple(r.input_length for r in log.requests)
    outcome = _Outcome(
        distinct=result.distinct_blocks,
        matched=tuple(result.matched),
        hit_tokens=tuple(
            min(k * log.block_tokens, n) for k, n in zip(result.matched, lengths, strict=True)
        ),
        prompt_tokens=lengths,
        evictions=result.evictions,
        block_misses=result.block_references - result.hit_blocks,
        final_cache_blocks=result.resident_size // size.block,
    )
    policy = Listed(args.policy, "", "", "radix", True)
    replayed = _replayed(args, log, forest, cost, capacity, policy, {}, outcome)
    if (replayed.total_cost, replayed.compulsory_cost) != (
        result.total_cost,
        result.compulsory_cost,
    ):
        raise InvariantError(f"{args.policy}: the costs of the matched blocks are not the replay's")
    return replayed


def _replayed(
    args: argparse.Namespace,
    log: Log,
    forest: PrefixForest,
    cost: BlockCost,
    capacity: int,
    policy: Listed,
    parameters: dict[str, str | int | float],
    outcome: _Outcome,
) -> Replay:
    """The document of a replay of any kind, its costs counted from the matched blocks."""
    table = cost.cumulative(forest.depth)
    paths = (len(r.hash_ids) for r in log.requests)
    total = sum(table[n] - table[k] for n, k in zip(paths, outcome.matched, strict=True))
    compulsory = sum(table[e] - table[s] for s, e in zip(forest.start, forest.end, strict=True))
    hit, prompt = sum(outcome.hit_tokens), sum(outcome.prompt_tokens)
    whole = "page_size" not in parameters  # else the two ratios would compare unlike units
    rate = sum(outcome.matched) / forest.references if whole and forest.references else None
    return Replay(
        input=arg.input_document(log),
        model=cost.model,
        policy=policy.name,
        engine=policy.engine,
        pins_path=policy.pins_path,
        parameters=parameters,
        covered=policy.engine != "radix" or policy.name in POLICIES,
        capacity_bytes=capacity,
        capacity_blocks=capacity // BlockSize(cost.model, log.block_tokens).block,
        requests=len(log.requests),
        block_references=forest.references,
        distinct_blocks=outcome.distinct,
        total_cost=total,
        compulsory_cost=compulsory,
        cost_ratio=total / compulsory if whole and compulsory else None,
        evictions=outcome.evictions,
        block_misses=outcome.block_misses,
        evicted_tokens=outcome.evicted_tokens,
        final_cache_tokens=outcome.final_cache_tokens,
        final_cache_blocks=outcome.final_cache_blocks,
        block_hit_rate=rate,
        token_hit_rate=hit / prompt if prompt else None,
        request_hit_rate=_mean_share(outcome.hit_tokens, outcome.prompt_tokens),
        total_hit_tokens=hit,
        total_prompt_tokens=prompt,
        per_request=tuple(map(RequestHits, outcome.hit_tokens, outcome.prompt_tokens))
        if args.per_request
        else None,
    )


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What the kinds of replay have in common, and the figures of their own."""

    distinct: int
    matched: tuple[int, ...]
    hit_tokens: tuple[int, ...]
    prompt_tokens: tuple[int, ...]
    evictions: int | None = None
    block_misses: int | None = None
    evicted_tokens: int | None = None
    final_cache_tokens: int | None = None
    final_cache_blocks: int | None = None


def _run_blocks(
    policy: Listed, log: Log, capacity: int, parameters: Mapping[str, object]
) -> _Outcome:
    from cache_worthy.sim.blocks import BlockTrace, replay_blocks

    trace = BlockTrace.from_requests(
        log.requests, block_size=log.block_tokens, by_path=policy.pins_path
    )
    result = replay_blocks(trace, policy.name, capacity, **parameters)
    return _Outcome(
        distinct=trace.distinct,
        matched=result.matched,
        hit_tokens=result.hit_tokens,
        prompt_tokens=result.prompt_tokens,
        block_misses=result.block_misses,
        final_cache_blocks=result.final_cache_blocks,
    )


def _run_sglang(policy: str, log: Log, capacity: int, parameters: Mapping[str, object]) -> _Outcome:
    from cache_worthy.sim.sglang import PagedLog, replay_sglang, server_for

    page, release = parameters.get("page_size"), parameters.get("sglang_version")
    paged = PagedLog.from_requests(
        log.requests,
        block_tokens=log.block_tokens,
        page_size=page if isinstance(page, int) else None,
        generated="ignore" if parameters.get("generated") == "ignore" else "length",
    )
    room = capacity * log.block_tokens
    if paged.floor > room:  # prompts alone fit, by the floor that was checked before
        raise UsageError(
            f"capacity {room} tokens is below the largest request, {paged.floor} tokens with what "
            "it generates; give at least that, or --generated ignore for prompts alone"
        )
    result = replay_sglang(
        paged,
        policy,
        room,
        server=CURRENT if release is None else server_for(str(release)),
        **strategy_config(parameters.get("policy_config")),
    )
    return _Outcome(
        distinct=len(paged.weights) - sum(map(len, paged.generated)),
        matched=result.matched,
        hit_tokens=result.hit_tokens,
        prompt_tokens=result.prompt_tokens,
        evictions=result.evictions,
        evicted_tokens=result.evicted_tokens,
        final_cache_tokens=result.final_tokens,
        # Whole blocks that these tokens fill.
        final_cache_blocks=result.final_tokens // log.block_tokens,
    )


def strategy_config(text: object) -> dict[str, Any]:
    """The strategy's parameters from a JSON object.

    Raises
    ------
    UsageError
        Unless it is an object of integers.
    """
    if text is None:
        return {}
    try:
        value = json.loads(str(text))
    except ValueError:
        value = None
    if not isinstance(value, dict) or not all(type(v) is int for v in value.values()):
        raise UsageError(
            f"--policy-config {text}: expected a JSON object of integers, for instance "
            '{"protected_threshold": 3}'
        )
    return value


def _mean_share(hits: Sequence[int], prompts: Sequence[int]) -> float | None:
    shares = [h / n for h, n in zip(hits, prompts, strict=True) if n]
    return sum(shares) / len(shares) if shares else None
