"""Replay a log under one policy at one capacity.

Radix-tree policies, block policies (s3fifo, vllm_lru, flat_*), SGLang's strategies (sglang_*) and
your own; cache-worthy policies lists them.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from cache_worthy import arguments as arg
from cache_worthy import engine_replay
from cache_worthy.output import check_output, to_json, write_output

SUMMARY = "replay a log under one policy at one capacity"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    arg.add_log(parser)
    arg.add_policy(parser, required=True)
    arg.add_capacity(parser, required=True, blocks=True)
    arg.add_model(parser)
    parser.add_argument(
        "--per-request", action="store_true", help="hit and prompt tokens of every request"
    )
    engine_replay.add_arguments(parser)
    arg.add_output(parser)


def run(args: argparse.Namespace) -> int:
    """Replay and print."""
    check_output(args.output, args.force)
    names = {policy.name for policy in engine_replay.listed()}
    document = engine_replay.document(args) if args.policy in names else _radix_document(args)
    per_request = document.get("per_request")
    if args.json:
        shown = {k: v for k, v in document.items() if k != "per_request" or args.per_request}
        text = to_json(shown)
    else:
        skip = ("tool", "version", "command", "input", "model", "parameters", "per_request")
        rows = [f"{'model':<20}{getattr(document['model'], 'name', '')}"]
        rows += [f"{k:<20}{_cell(k, v)}" for k, v in document.items() if k not in skip]
        if isinstance(per_request, list):
            rows += ["", "request  hit_tokens  prompt_tokens"]
            rows += [
                f"{n:>7}{r['hit_tokens']:>12}{r['prompt_tokens']:>15}"
                for n, r in enumerate(per_request, 1)
            ]
        text = "\n".join(rows) + "\n"
    write_output(text, args.output, args.force)
    return 0


def _radix_document(args: argparse.Namespace) -> Mapping[str, object]:
    """Replay a radix-tree policy, shipped or the user's own."""
    from cache_worthy import __version__
    from cache_worthy.advisor import require_floor
    from cache_worthy.policy_table import resolve_policy
    from cache_worthy.replays import run_policy
    from cache_worthy.sim.cost import BlockCost, BlockSize, load_model
    from cache_worthy.sim.forest import build_forest
    from cache_worthy.sim.policies import POLICIES
    from cache_worthy.sim.trace import paths_of

    engine_replay.policy_parameters(args, ())  # refuses every one of them
    model = load_model(args.model)
    factory = resolve_policy(args.policy)
    log = arg.read_log(args)
    forest = build_forest(paths_of(log.requests))
    size, cost = BlockSize(model, log.block_tokens), BlockCost(model, log.block_tokens)
    capacity = arg.capacity_bytes(args, forest.distinct, size.block) or 0
    require_floor(capacity, forest, size)
    result = run_policy(args.policy, factory, forest, capacity, size, cost)
    lengths = [r.input_length for r in log.requests]
    return {
        "tool": "cache-worthy",
        "version": __version__,
        "command": "replay",
        "input": arg.input_document(log),
        "model": model,
        "policy": args.policy,
        "covered": args.policy in POLICIES,
        "capacity_bytes": capacity,
        "capacity_blocks": capacity // size.block,
        "requests": result.requests,
        "block_references": result.block_references,
        "distinct_blocks": result.distinct_blocks,
        "total_cost": result.total_cost,
        "compulsory_cost": result.compulsory_cost,
        "cost_ratio": result.cost_ratio,
        "evictions": result.evictions,
        "block_hit_rate": result.block_hit_rate,
        "token_hit_rate": result.token_hit_rate(lengths, log.block_tokens),
        "per_request": [
            {"hit_tokens": min(k * log.block_tokens, n), "prompt_tokens": n}
            for k, n in zip(result.matched, lengths, strict=True)
        ]
        if args.per_request
        else None,
    }


def _cell(key: str, value: object) -> str:
    if value is None:
        return "--"
    if key == "pins_path":
        return "yes" if value else "no (never to be set beside a lower bound of this model)"
    if isinstance(value, bool):
        return "yes" if value else "no (your own policy, outside oracle coverage)"
    return f"{value:.4f}" if isinstance(value, float) else str(value)
