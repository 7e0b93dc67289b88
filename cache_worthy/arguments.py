"""Every shared option of the command line, defined once, and what its value means."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable

from cache_worthy.errors import UsageError
from cache_worthy.ingest import IngestOptions
from cache_worthy.sim.blocks.policies import POLICIES as BLOCK_POLICIES
from cache_worthy.sim.cost import DEFAULT_MODEL, MODELS
from cache_worthy.sim.policies import POLICIES
from cache_worthy.sim.sglang.strategies import STRATEGIES as SGLANG_STRATEGIES


def add_log(parser: argparse.ArgumentParser) -> None:
    """The log to read."""
    parser.add_argument("log", metavar="LOG", help="request log, JSON lines; - for standard input")
    parser.add_argument(
        "--chars-per-token",
        type=_number(above=0),
        default=4.0,
        metavar="R",
        help="characters that stand for one token in a text log (default 4.0)",
    )


def ingest_options(args: argparse.Namespace) -> IngestOptions:
    """The ingestion options among ``args``."""
    return IngestOptions(chars_per_token=args.chars_per_token)


def add_model(parser: argparse.ArgumentParser) -> None:
    """The model whose costs are counted."""
    parser.add_argument(
        "--model",
        default=DEFAULT_MODEL.name,
        metavar="M",
        help=f"{', '.join(MODELS)}, or a JSON file with layers d_model heads kv_heads head_dim "
        f"d_ff [dtype_bytes] (default {DEFAULT_MODEL.name})",
    )


def add_capacity(parser: argparse.ArgumentParser, *, required: bool, blocks: bool) -> None:
    """A cache size in one of its units."""
    group = parser.add_mutually_exclusive_group(required=required)
    group.add_argument(
        "--capacity-fraction",
        type=_number(above=0, most=1),
        metavar="F",
        help="fraction of the working set, 0 < F <= 1",
    )
    group.add_argument(
        "--capacity-gib", type=_number(above=0), metavar="G", help="KV cache in GiB, G > 0"
    )
    if blocks:
        group.add_argument(
            "--capacity-blocks", type=_count(1), metavar="N", help="KV cache in blocks, N >= 1"
        )


def capacity_bytes(args: argparse.Namespace, distinct: int, block_bytes: int) -> int | None:
    """The chosen capacity in bytes, rounded down; None if none was chosen."""
    if args.capacity_fraction is not None:
        return int(args.capacity_fraction * distinct * block_bytes)
    if args.capacity_gib is not None:
        return int(args.capacity_gib * 2**30)
    blocks = getattr(args, "capacity_blocks", None)
    return None if blocks is None else blocks * block_bytes


def add_policy(parser: argparse.ArgumentParser, *, required: bool) -> None:
    """A policy to replay, or (repeated) policies to score beside the shipped ones."""
    names = ", ".join((*POLICIES, *BLOCK_POLICIES, *SGLANG_STRATEGIES))
    if required:
        text = f"{names}, or your own as package.module:Class"
        parser.add_argument("--policy", required=True, metavar="P", help=text)
    else:
        parser.add_argument(
            "--policy",
            action="append",
            default=[],
            metavar="MODULE:CLASS",
            help="your own policy, scored beside the shipped ones; may be repeated",
        )


def add_output(parser: argparse.ArgumentParser, *, json: bool = True) -> None:
    """Where the result goes."""
    if json:
        parser.add_argument("--json", action="store_true", help="the whole result as strict JSON")
    parser.add_argument("-o", "--output", metavar="FILE", default="-", help="default - (stdout)")
    parser.add_argument("--force", action="store_true", help="let -o overwrite an existing file")
    add_verbosity(parser)


def add_verbosity(parser: argparse.ArgumentParser) -> None:
    """How much goes to stderr."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument("-q", "--quiet", action="store_true", help="no notes, no progress")
    group.add_argument("-v", "--verbose", action="store_true", help="more notes on stderr")


def _number(*, above: float, most: float = math.inf) -> Callable[[str], float]:
    allowed = f"a number > {above:g}" + ("" if math.isinf(most) else f" and <= {most:g}")

    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not (above < value <= most) or math.isinf(value):
            raise argparse.ArgumentTypeError(f"{text!r}: expected {allowed}")
        return value

    return parse


def _count(least: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if value < least:
            raise argparse.ArgumentTypeError(f"{text!r}: expected an integer >= {least}")
        return value

    return parse


def positive_number(text: str) -> float:
    """A finite number > 0."""
    return _number(above=0)(text)


def positive_int(text: str) -> int:
    """An integer >= 1."""
    return _count(1)(text)


def require(condition: bool, message: str) -> None:
    """Raise a :class:`UsageError` unless ``condition`` holds."""
    if not condition:
        raise UsageError(message)
