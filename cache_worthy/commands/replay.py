"""Replay a log under one policy at one capacity.

Radix-tree policies, block policies (s3fifo, vllm_lru, flat_*), SGLang's strategies (sglang_*) and
your own; cache-worthy policies lists them.
"""

from __future__ import annotations

import argparse
from dataclasses import fields

from cache_worthy.commands import options as arg
from cache_worthy.console import check_output, note
from cache_worthy.measure.any_policy import Replay, replay_log
from cache_worthy.measure.policies import PARAMETERS, plan_replay
from cache_worthy.report.model import Facts, Part, table_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    arg.add_log(parser)
    arg.add_policy(parser, required=True)
    arg.add_capacity(parser, required=True, blocks=True)
    arg.add_model(parser)
    arg.add_dtypes(parser)
    parser.add_argument(
        "--per-request", action="store_true", help="hit and prompt tokens of every request"
    )
    _add_parameters(parser)
    arg.add_output(parser)


def _add_parameters(parser: argparse.ArgumentParser) -> None:
    """Options of single policies; the others refuse them."""
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
        help="tokens per page, a divisor of the log's block size; the last block of a prompt keeps "
        "its whole pages (default: every block counts as full); cost_ratio and block_hit_rate "
        "are then null, because they count whole blocks",
    )
    group.add_argument(
        "--generated",
        choices=("ignore", "length"),
        help="whether generated tokens take up cache where the log has their number (default length)",
    )
    arg.add_sglang_version(group)


def run(args: argparse.Namespace) -> int:
    """Replay and print."""
    check_output(args.output, args.force)
    given = {name: getattr(args, name) for name in PARAMETERS}
    plan = plan_replay(args.policy, {n: v for n, v in given.items() if v is not None})
    model = arg.model(args)
    result = replay_log(
        arg.read_log(args),
        plan,
        arg.capacity(args),
        model=model,
        per_request=args.per_request,
        note=lambda text: note(text, args.quiet),
    )
    arg.write_result(args, result, lambda: _words(result))
    return 0


_NOT_SHOWN = ("input", "model", "parameters", "per_request")
_OF_SOME = (
    "evictions",
    "block_misses",
    "evicted_tokens",
    "final_cache_tokens",
    "final_cache_blocks",
)


def _words(result: Replay) -> list[Part]:
    """One line per figure that this kind of policy has."""
    values = {f.name: getattr(result, f.name) for f in fields(result) if f.name not in _NOT_SHOWN}
    rows = [
        (name, _cell(name, value))
        for name, value in values.items()
        if value is not None or name not in _OF_SOME
    ]
    parts: list[Part] = [Facts("replay", (("model", result.model.name), *rows))]
    if result.per_request is not None:
        requests = table_of(
            "requests",
            enumerate(result.per_request, 1),
            columns={
                "request": lambda row: str(row[0]),
                "hit_tokens": lambda row: str(row[1].hit_tokens),
                "prompt_tokens": lambda row: str(row[1].prompt_tokens),
            },
        )
        parts.append(requests)
    return parts


def _cell(key: str, value: object) -> str:
    if value is None:
        return "--"
    if key == "pins_path":
        return "yes" if value else "no (never to be set beside a lower bound of this model)"
    if isinstance(value, bool):
        return "yes" if value else "no (your own policy, outside oracle coverage)"
    return f"{value:.4f}" if isinstance(value, float) else str(value)
