"""Write a log as its canonical trace: Mooncake JSON lines, what the certificate checker reads.

Blocks are numbered by first appearance; the same id under two different parents is two blocks.
Requests, their order, lengths and times are the log's own; block_size stands in the records where
it is not 512. Under --order file, times that step back are left out, as a reader would sort by them.
A name that ends in .gz or .zst is written compressed.

--anonymise is for sharing a trace without its content: block ids are replaced by keyed hashes under
a fresh secret key that is thrown away, and times count from the first request in milliseconds rounded
down to whole minutes. For that a log's times are taken as seconds, milliseconds, micro- or nanoseconds
since 1970 where their size says so, and as milliseconds otherwise: times in seconds from the log's own
start, of a format that does not say so, become coarser still (60,000 of them are one step). The order
of the requests stays the log's.
What a reader still learns: the length of every prompt and answer, how many requests there were in
each minute and in which order, their priorities as ranks, and which requests share how long a prefix (so, how many different
preambles there are and how long conversations run). No text, token, model, tenant or request id is
written, with or without the option.
"""

from __future__ import annotations

import argparse
import gzip
import json
import secrets
from fractions import Fraction
from itertools import pairwise

from cache_worthy.commands import options as arg
from cache_worthy.console import check_output, note, write_output

STEP = 60_000
"""Milliseconds to which --anonymise rounds times down."""

LEAKS = (
    "anonymised: ids re-keyed, times in whole minutes; still readable: prompt and answer lengths, "
    "requests a minute and their order, ranks of priorities, which requests share how long a prefix"
)


NO_TIMES = (
    "times left out: in file order they step back, and whoever reads the trace would sort by them"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    arg.add_log(parser)
    parser.add_argument(
        "--anonymise",
        "--anonymize",
        action="store_true",
        help="re-key block ids with a fresh secret and coarsen times, for sharing without content",
    )
    arg.add_output(parser, json=False)


def run(args: argparse.Namespace) -> int:
    """Convert and write."""
    from cache_worthy.logs.blocks import rekeyed
    from cache_worthy.logs.source import compress_zstd
    from cache_worthy.sim.trace import BLOCK_SIZE_TOKENS

    check_output(args.output, args.force)
    log = arg.read_log(args)
    number: dict[tuple[int, object], int] = {}
    key = secrets.token_bytes(32) if args.anonymise else b""
    times = [r.timestamp for r in log.requests if r.timestamp is not None]
    timed = all(a <= b for a, b in pairwise(times))
    start = times[0] if times else 0
    step = STEP * _per_millisecond(start, max(times, default=0))
    lines: list[str] = []
    # 0 is what a record without a priority has, so ranks count from it to both sides.
    levels = sorted({r.priority for r in log.requests} | {0})
    rank = {level: n - levels.index(0) for n, level in enumerate(levels)}
    for request in log.requests:
        ids: list[int] = []
        parent = -1
        for block in request.hash_ids:
            parent = number.setdefault((parent, block), len(number))
            ids.append(parent)
        record: dict[str, object] = {}
        if timed and request.timestamp is not None:
            time = request.timestamp
            record["timestamp"] = int((time - start) // step * STEP) if key else time
        record["input_length"] = request.input_length
        if request.output_length is not None:
            record["output_length"] = request.output_length
        if request.priority:
            record["priority"] = rank[request.priority] if key else request.priority
        if log.block_tokens != BLOCK_SIZE_TOKENS:
            record["block_size"] = log.block_tokens
        record["hash_ids"] = [rekeyed(i, key) for i in ids] if key else ids
        lines.append(json.dumps(record) + "\n")
    text = "".join(lines)
    data: str | bytes = text
    if args.output.endswith(".zst"):
        data = compress_zstd(text.encode())
    elif args.output.endswith(".gz"):
        data = gzip.compress(text.encode(), mtime=0)
    write_output(data, args.output, args.force)
    if not timed:
        note(NO_TIMES, args.quiet)
    if key:
        note(LEAKS, args.quiet)
    return 0


def _per_millisecond(first: float, last: float) -> Fraction:
    """Units of a log's times in a millisecond; it may count seconds to nanoseconds since 1970.

    As milliseconds, micro- and nanoseconds of today would be later than the year 5138, and seconds
    of today in January 1970: no log begins there that counts milliseconds, neither since 1970 nor
    since its own start.

    Examples
    --------
    >>> [str(_per_millisecond(t, t)) for t in (1_770_000_000, 1_770_000_000_000, 1.77e15)]
    ['1/1000', '1', '1000']
    >>> str(_per_millisecond(0, 3_000_000_000))
    '1'
    """
    if first >= 10**9 and last < 10**11:
        return Fraction(1, 1000)
    return Fraction(10**6 if last >= 10**17 else 10**3 if last >= 10**14 else 1)
