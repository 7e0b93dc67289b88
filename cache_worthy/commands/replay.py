"""Replay a log under one policy at one capacity."""

from __future__ import annotations

import argparse

from cache_worthy import arguments as arg
from cache_worthy.output import check_output, note, to_json, write_output

SUMMARY = "replay a log under one policy at one capacity"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    arg.add_log(parser)
    arg.add_policy(parser, required=True)
    arg.add_capacity(parser, required=True, blocks=True)
    arg.add_model(parser)
    arg.add_output(parser)


def run(args: argparse.Namespace) -> int:
    """Replay and print."""
    from cache_worthy import __version__
    from cache_worthy.advisor import require_floor
    from cache_worthy.ingest import read_log
    from cache_worthy.policy_table import resolve_policy, run_policy
    from cache_worthy.sim.cost import BlockCost, BlockSize, load_model
    from cache_worthy.sim.forest import build_forest
    from cache_worthy.sim.policies import POLICIES
    from cache_worthy.sim.trace import paths_of

    check_output(args.output, args.force)
    model = load_model(args.model)
    factory = resolve_policy(args.policy)
    log = read_log(args.log, arg.ingest_options(args))
    if log.skipped_truncated:
        note(f"{log.source}: the last line is cut; skipped 1 record", args.quiet)
    forest = build_forest(paths_of(log.requests))
    size, cost = BlockSize(model, log.block_tokens), BlockCost(model, log.block_tokens)
    capacity = arg.capacity_bytes(args, forest.distinct, size.block) or 0
    require_floor(capacity, forest, size)
    result = run_policy(args.policy, factory, forest, capacity, size, cost)
    lengths = [r.input_length for r in log.requests]
    document = {
        "tool": "cache-worthy",
        "version": __version__,
        "command": "replay",
        "input": {"source": log.source, "sha256": log.sha256, "format": log.format},
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
    }
    if args.json:
        text = to_json(document)
    else:
        skip = ("tool", "version", "command", "input", "model")
        rows = [f"{'model':<18}{model.name}"]
        rows += [f"{k:<18}{_cell(v)}" for k, v in document.items() if k not in skip]
        text = "\n".join(rows) + "\n"
    write_output(text, args.output, args.force)
    return 0


def _cell(value: object) -> str:
    if value is None:
        return "--"
    if isinstance(value, bool):
        return "yes" if value else "no (your own policy, outside oracle coverage)"
    return f"{value:.4f}" if isinstance(value, float) else str(value)
