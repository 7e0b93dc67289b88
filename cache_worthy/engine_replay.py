"""``replay`` for the policies that are no radix-tree policies: blocks and serving engines."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass

from cache_worthy import arguments as arg
from cache_worthy.errors import UsageError
from cache_worthy.sim.blocks.policies import POLICIES as BLOCK_POLICIES


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
    return [
        Listed(s.name, s.summary, s.source, s.engine, s.pins_path) for s in BLOCK_POLICIES.values()
    ]


#: Options that belong to a policy: attribute of the parsed arguments, flag.
_POLICY_OPTIONS = {
    "small_ratio": "--small-ratio",
    "max_freq": "--max-freq",
    "ghost_hit_freq": "--ghost-hit-freq",
    "partial_blocks": "--partial-blocks",
}


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


def policy_parameters(args: argparse.Namespace, allowed: tuple[str, ...]) -> dict[str, object]:
    """The policy options that were given.

    Raises
    ------
    UsageError
        If one was given that the policy does not have.
    """
    given = {name: getattr(args, name, None) for name in _POLICY_OPTIONS}
    chosen = {name: value for name, value in given.items() if value is not None}
    for name in chosen:
        if name not in allowed:
            flags = ", ".join(_POLICY_OPTIONS[n] for n in allowed) or "no option of its own"
            raise UsageError(
                f"{_POLICY_OPTIONS[name]}: policy {args.policy} does not have it; it takes {flags}"
            )
    return chosen


def document(args: argparse.Namespace) -> Mapping[str, object]:
    """Replay and return the whole result.

    Raises
    ------
    UsageError, InputError
        For a bad option, or a capacity that cannot serve the log.
    """
    from cache_worthy import __version__
    from cache_worthy.advisor import require_floor
    from cache_worthy.ingest import read_log
    from cache_worthy.output import note
    from cache_worthy.sim.blocks import BlockTrace, replay_blocks
    from cache_worthy.sim.cost import BlockCost, BlockSize, load_model
    from cache_worthy.sim.forest import build_forest
    from cache_worthy.sim.trace import paths_of

    spec = BLOCK_POLICIES[args.policy]
    parameters = policy_parameters(args, spec.parameters)
    model = load_model(args.model)
    log = read_log(args.log, arg.ingest_options(args))
    if log.skipped_truncated:
        note(f"{log.source}: the last line is cut; skipped 1 record", args.quiet)
    forest = build_forest(paths_of(log.requests))
    # A policy that pins the path replays a server, whose block hashes include the prefix; the
    # others take an id for what it is.
    if forest.reinterned and not spec.pins_path:
        note(f"block ids do not fix their prefix; {spec.name} takes each id as a block", args.quiet)
    trace = BlockTrace.from_requests(
        log.requests, block_size=log.block_tokens, by_path=spec.pins_path
    )
    size, cost = BlockSize(model, log.block_tokens), BlockCost(model, log.block_tokens)
    capacity = arg.capacity_bytes(args, forest.distinct, size.block) or 0
    if spec.pins_path:
        require_floor(capacity, forest, size)
    result = replay_blocks(trace, spec.name, capacity // size.block, **parameters)
    table = cost.cumulative(forest.depth)
    total = sum(
        table[len(path)] - table[k] for path, k in zip(trace.blocks, result.matched, strict=True)
    )
    compulsory = sum(table[e] - table[s] for s, e in zip(forest.start, forest.end, strict=True))
    return {
        "tool": "cache-worthy",
        "version": __version__,
        "command": "replay",
        "input": {"source": log.source, "sha256": log.sha256, "format": log.format},
        "model": model,
        "policy": spec.name,
        "engine": spec.engine,
        "pins_path": spec.pins_path,
        "parameters": parameters,
        "covered": True,
        "capacity_bytes": capacity,
        "capacity_blocks": capacity // size.block,
        "requests": len(trace.blocks),
        "block_references": result.block_references,
        "distinct_blocks": trace.distinct,
        "total_cost": total,
        "compulsory_cost": compulsory,
        "cost_ratio": total / compulsory if compulsory else None,
        "block_misses": result.block_misses,
        "block_hit_rate": result.block_hit_rate,
        "token_hit_rate": result.token_hit_rate,
        "request_hit_rate": result.request_hit_rate,
        "total_hit_tokens": result.total_hit_tokens,
        "total_prompt_tokens": result.total_prompt_tokens,
        "final_cache_blocks": result.final_cache_blocks,
        "per_request": [
            {"hit_tokens": r.hit_tokens, "prompt_tokens": r.prompt_tokens}
            for r in result.per_request
        ]
        if args.per_request
        else None,
    }
