"""Replay a log under one policy at one capacity.

Radix-tree policies, block policies (s3fifo, vllm_lru, flat_*), SGLang's strategies (sglang_*) and
your own; cache-worthy policies lists them.
"""

from __future__ import annotations

import argparse
from dataclasses import fields

from cache_worthy.commands import options as arg
from cache_worthy.console import check_output, write_output
from cache_worthy.documents import document, to_json
from cache_worthy.measure import any_policy as engine_replay


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
    result = (
        engine_replay.replay_engine(args)
        if args.policy in names
        else engine_replay.replay_radix(args)
    )
    text = to_json(document("replay", result)) if args.json else _text(result)
    write_output(text, args.output, args.force)
    return 0


def _text(result: engine_replay.Replay) -> str:
    """A line a figure; those that are none of this kind of policy's are left out."""
    skip = ("input", "model", "parameters", "per_request", *_never(result))
    rows = [f"{'model':<20}{result.model.name}"]
    rows += [
        f"{f.name:<20}{_cell(f.name, getattr(result, f.name))}"
        for f in fields(result)
        if f.name not in skip
    ]
    if result.per_request is not None:
        rows += ["", "request  hit_tokens  prompt_tokens"]
        rows += [
            f"{n:>7}{r.hit_tokens:>12}{r.prompt_tokens:>15}"
            for n, r in enumerate(result.per_request, 1)
        ]
    return "\n".join(rows) + "\n"


def _never(result: engine_replay.Replay) -> list[str]:
    own = (
        "evictions",
        "block_misses",
        "evicted_tokens",
        "final_cache_tokens",
        "final_cache_blocks",
    )
    return [name for name in own if getattr(result, name) is None]


def _cell(key: str, value: object) -> str:
    if value is None:
        return "--"
    if key == "pins_path":
        return "yes" if value else "no (never to be set beside a lower bound of this model)"
    if isinstance(value, bool):
        return "yes" if value else "no (your own policy, outside oracle coverage)"
    return f"{value:.4f}" if isinstance(value, float) else str(value)
