"""Every shared option of the command line, defined once, and what its value means.

What an option's help names (models, policies, servers) is imported where the option is added, so that a
command loads what it needs and nothing else.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import fields
from importlib.util import find_spec
from typing import TYPE_CHECKING, TypeVar

from cache_worthy.console import note, write_output
from cache_worthy.errors import UsageError
from cache_worthy.logs.options import ORDERS, TEMPLATES, ReadOptions
from cache_worthy.measure.capacity import LARGEST_BLOCKS, LARGEST_GIB, Capacity
from cache_worthy.numbers import counted

if TYPE_CHECKING:
    from cache_worthy.logs.log import Log
    from cache_worthy.report.model import Part
    from cache_worthy.sim.cost import Model
    from cache_worthy.workers import Workers


N = TypeVar("N", int, float)


def _ranged(
    parse: Callable[[str], N], allowed: str, fits: Callable[[N], bool]
) -> Callable[[str], N]:
    """What reads a number of an option, and refuses one that does not fit."""

    def read(text: str) -> N:
        with contextlib.suppress(ValueError):
            if fits(value := parse(text)):
                return value
        raise argparse.ArgumentTypeError(f"{text!r}: expected {allowed}")

    return read


positive_int = _ranged(int, "an integer >= 1", lambda n: n >= 1)
share = _ranged(float, "a number > 0 and <= 1", lambda x: 0 < x <= 1)
gibibytes = _ranged(float, f"a number > 0 and <= {LARGEST_GIB:g}", lambda x: 0 < x <= LARGEST_GIB)


def _at_most(most: int) -> Callable[[str], int]:
    return _ranged(int, f"an integer >= 1 and <= {most}", lambda n: 1 <= n <= most)


def add_log(parser: argparse.ArgumentParser, name: str = "log") -> None:
    """The log to read, and how; as an option where ``name`` begins with dashes."""
    parser.add_argument(
        name,
        metavar="LOG",
        nargs="+",
        help="request log, or several in order; plain, .gz or .zst; - for standard input",
    )
    group = parser.add_argument_group("reading the log")
    group.add_argument(
        "--format",
        default="auto",
        metavar="NAME",
        help="auto (default), or a name that cache-worthy formats lists",
    )
    _add_cutting(group)
    group.add_argument(
        "--order",
        choices=ORDERS,
        default="auto",
        help="by arrival time or as in the file; auto: by time where every request has one",
    )
    group.add_argument(
        "--concurrency",
        type=positive_int,
        metavar="N",
        help="replay N sessions of the log at once, the next starting when one ends, with their pauses; "
        "for logs whose sessions each have their own clock, or none",
    )
    group.add_argument(
        "--model-field",
        metavar="F[=VALUE]",
        help="field that names the model; with a value only its requests, with * all, kept apart",
    )
    group.add_argument(
        "--salt-field",
        metavar="F",
        help="field whose values share no block (tenant, cache_salt, adapter)",
    )
    group.add_argument(
        "--allow-partial",
        action="store_true",
        help="go on when more than 5%% of the records are unusable",
    )


def add_cutting(parser: argparse.ArgumentParser) -> None:
    """How prompts become blocks, where no log is read."""
    _add_cutting(parser.add_argument_group("cutting prompts into blocks"))


def _add_cutting(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--tokenizer",
        default="chars",
        metavar="T",
        help="chars (default: no tokenizer), tiktoken:NAME, qwen:NAME, or hf:PATH of a tokenizer.json; token ids "
        "in the log are used as they are",
    )
    group.add_argument(
        "--chars-per-token",
        type=_ranged(float, "a number >= 0.1 and <= 1e+06", lambda x: 0.1 <= x <= 1e6),
        metavar="R",
        help="characters that stand for one token in a text log (default: tokens are estimated from the "
        "kinds of the characters)",
    )
    group.add_argument(
        "--block-size",
        type=_at_most(1 << 20),
        metavar="N",
        help="tokens in a block (default: what the log says, else 16 as vLLM has it, 512 for block ids); "
        "hybrid models have 528 to 8320, which vLLM prints at its start",
    )
    group.add_argument(
        "--template",
        default="simple",
        metavar="T",
        help=f"how messages and tools become one text: {', '.join(TEMPLATES)} (default simple), or the "
        "model's own chat template: FILE.jinja, or its tokenizer_config.json",
    )


def read_options(args: argparse.Namespace) -> ReadOptions:
    """The options of reading and cutting among ``args``."""
    names = {field.name for field in fields(ReadOptions)} & set(vars(args)) - {
        "model",
        "model_field",
    }
    field, _, model = (getattr(args, "model_field", None) or "").partition("=")
    given = {name: getattr(args, name) for name in names}
    return ReadOptions(**given, model_field=field or None, model=model or None)


def read_log(args: argparse.Namespace) -> Log:
    """The log that ``args`` name; what was cut, skipped or unusable is noted on stderr.

    Raises
    ------
    UsageError
        If the result would replace the log itself, or a file is named twice.
    """
    from cache_worthy.logs.log import Records
    from cache_worthy.logs.session import read_log as read
    from cache_worthy.sim.radix.choose import MANY_FROM

    named: set[object] = set()
    for source in args.log:
        if (key := _identity(source)) in named:
            raise UsageError(
                f"{source}: named twice, so its requests would count twice; name it once"
            )
        named.add(key)
    for name in ("output", "certificate", "html", "plot"):
        target = getattr(args, name, None)
        if not isinstance(target, str) or target == "-":  # study's --plot is no file name
            continue
        if any(same_file(target, source) for source in args.log):
            raise UsageError(f"{target}: is the log itself; give another name for the result")
    log = read(args.log, read_options(args))
    if log.skipped_truncated:
        skipped = counted(log.skipped_truncated, "record")
        note(f"{log.source}: the last line is cut; skipped {skipped}", args.quiet)
    text = log.records.text()
    if text != Records().text():
        note(f"{log.source}: {text}", args.quiet)
    absent = [name for name in ("numba", "orjson") if find_spec(name) is None]
    if absent and len(log.requests) > MANY_FROM:
        note(
            f"slower without {' and '.join(absent)}, the results are the same: pip install "
            f"{' '.join(absent)}",
            args.quiet,
        )
    return log


def _identity(source: str) -> object:
    """What two names of one file have in common."""
    try:
        status = os.fstat(sys.stdin.fileno()) if source == "-" else os.stat(source)
    except (OSError, ValueError, AttributeError):  # or standard input is closed, or no file
        return source
    return status.st_dev, status.st_ino


def same_file(a: str, b: str) -> bool:
    """Whether two names are one file; not where one is absent."""
    try:
        return os.path.samefile(a, b)
    except OSError:
        return False


def add_model(parser: argparse.ArgumentParser) -> None:
    """The model whose costs are counted."""
    from cache_worthy.sim.cost import DEFAULT_MODEL, MODELS

    parser.add_argument(
        "--model",
        default=DEFAULT_MODEL.name,
        metavar="M",
        help=f"{', '.join(MODELS)}, another name of cache-worthy models (as a log records it), a "
        "config.json, or a JSON file with layers d_model heads kv_heads head_dim d_ff "
        f"[dtype_bytes] (default {DEFAULT_MODEL.name})",
    )


_DTYPES = {
    "kv_dtype": "the KV cache (default bf16)",
    "weight_dtype": "the weights (default: what the model's configuration says, else bf16)",
    "indexer_dtype": "the keys of a sparse indexer (default: as the KV cache, or what the model fixes)",
}


def add_dtypes(parser: argparse.ArgumentParser) -> None:
    """The precisions of the model: bytes follow from them."""
    for name, what in _DTYPES.items():
        flag = f"--{name.replace('_', '-')}"
        parser.add_argument(flag, metavar="D", help=f"precision of {what}")


def model(args: argparse.Namespace) -> Model:
    """The model that ``args`` name, at their precisions; only one that replays are right for."""
    from cache_worthy.sim.cost import load_model
    from cache_worthy.sim.models.memory import require_full_cache

    found = load_model(args.model, **{name: getattr(args, name) for name in _DTYPES})
    require_full_cache(found)
    return found


def add_capacity(parser: argparse.ArgumentParser, *, required: bool, blocks: bool) -> None:
    """A cache size in one of its units."""
    group = parser.add_mutually_exclusive_group(required=required)
    group.add_argument(
        "--capacity-fraction",
        type=share,
        metavar="F",
        help="fraction of the working set, 0 < F <= 1",
    )
    group.add_argument(
        "--capacity-gib",
        type=gibibytes,
        metavar="G",
        help="KV cache in GiB, G > 0",
    )
    if blocks:
        group.add_argument(
            "--capacity-blocks",
            type=_at_most(LARGEST_BLOCKS),
            metavar="N",
            help="KV cache in blocks, N >= 1",
        )


def capacity(args: argparse.Namespace) -> Capacity:
    """The chosen capacity."""
    return Capacity(
        fraction=args.capacity_fraction,
        gib=args.capacity_gib,
        blocks=getattr(args, "capacity_blocks", None),
    )


def add_sglang_version(parser: argparse._ActionsContainer) -> None:
    """Which release of SGLang."""
    from cache_worthy.sim.sglang.versions import CURRENT

    parser.add_argument(
        "--sglang-version",
        metavar="V",
        help="release whose options and bookkeeping to follow, 0.5.3 or later (default: the "
        f"current one, {'.'.join(map(str, CURRENT.since))} and later)",
    )


def add_policy(parser: argparse.ArgumentParser, *, required: bool) -> None:
    """A policy to replay, or (repeated) policies to score beside the shipped ones."""
    if required:
        from cache_worthy.sim.blocks.policies import POLICIES as BLOCK_POLICIES
        from cache_worthy.sim.radix.policies import POLICIES
        from cache_worthy.sim.sglang.strategies import STRATEGIES

        names = ", ".join((*POLICIES, *BLOCK_POLICIES, *STRATEGIES))
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


def add_workers(parser: argparse.ArgumentParser) -> None:
    """Where independent pieces of the work run."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--jobs",
        type=positive_int,
        default=1,
        metavar="N",
        help="processes, at most one per CPU (default 1); the result is the same, byte for byte. Long "
        "searches gain, an analysis without its bound does not",
    )
    group.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="run on the workers of a Dask scheduler (tcp://host:8786) where this version of "
        "cache-worthy is installed; a worker that is lost costs time, not the result",
    )


def workers(args: argparse.Namespace) -> Workers:
    """The workers that ``args`` name, to be used as a context manager."""
    from cache_worthy.workers import open_workers

    return open_workers(args.jobs, args.scheduler)


def add_output(parser: argparse.ArgumentParser, *, json: bool = True) -> None:
    """Where the result goes."""
    if json:
        parser.add_argument("--json", action="store_true", help="the whole result as strict JSON")
    parser.add_argument("-o", "--output", metavar="FILE", default="-", help="default - (stdout)")
    parser.add_argument("--force", action="store_true", help="let -o overwrite an existing file")
    add_verbosity(parser)


def write_result(
    args: argparse.Namespace, result: object, words: Callable[[], Sequence[Part]]
) -> None:
    """Write a result where ``args`` say: as the JSON document of the command, or as these parts."""
    from cache_worthy.documents import document, to_json
    from cache_worthy.report.terminal import render_parts

    if args.json:
        action = getattr(args, "action", "")
        text = to_json(document(f"{args.command}-{action}".strip("-"), result))
    else:
        text = render_parts(words())
    write_output(text, args.output, args.force)


def add_verbosity(parser: argparse.ArgumentParser) -> None:
    """How much goes to stderr."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument("-q", "--quiet", action="store_true", help="no notes, no progress")
    group.add_argument("-v", "--verbose", action="store_true", help="more notes on stderr")


def require(condition: bool, message: str) -> None:
    """Raise a :class:`UsageError` unless ``condition`` holds."""
    if not condition:
        raise UsageError(message)
