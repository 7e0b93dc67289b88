"""Write a larger trace made of copies of a log: constructed, for benchmarks and scaling only.

    python scripts/make/scaled_trace.py LOG --copies N [--interleave] [-o FILE] [--force]

Copy c repeats every record of a native log (``hash_ids``) with ids of its own, so the copies share
nothing: the result has N times the requests, references and distinct blocks of LOG and the same
reuse. The copies follow one another, or with --interleave record by record (request 1 of
every copy, then request 2, ...), which multiplies every reuse distance by N.

Integer ids are shifted by c * (max - min + 1) over the whole log; string ids get the suffix "#c"
(copy 0 keeps its ids). A log that mixes the two is shifted each by its own rule.

The output is CONSTRUCTED: every record carries ``"constructed": true`` and its ``copy``. It has the
shape of its source and no more evidence than it; nothing measured on it is a finding about traffic.

Exit codes: 0 written, 2 could not (with one line that says why).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from copies import read_native, scaled


def main(argv: Sequence[str] | None = None) -> int:
    """Write the scaled trace; see the module's text."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("log", metavar="LOG", help="a native log, or - for stdin")
    parser.add_argument("--copies", type=int, required=True, metavar="N", help="1 or more")
    parser.add_argument("--interleave", action="store_true", help="record by record")
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help="default: stdout")
    parser.add_argument("--force", action="store_true", help="overwrite an existing FILE")
    args = parser.parse_args(argv)
    if args.copies < 1:
        parser.error(f"--copies {args.copies}: expected 1 or more")
    if args.output != "-" and Path(args.output).exists() and not args.force:
        parser.error(f"{args.output} exists; pass --force to overwrite it")
    try:
        with contextlib.ExitStack() as stack:
            source = (
                sys.stdin.buffer
                if args.log == "-"
                else stack.enter_context(Path(args.log).open("rb"))
            )
            records = read_native(source, args.log)
        stream = scaled(records, args.copies, interleave=args.interleave)
        first = next(stream)
        with contextlib.ExitStack() as stack:
            sink = (
                sys.stdout.buffer
                if args.output == "-"
                else stack.enter_context(Path(args.output).open("wb"))
            )
            sink.write((json.dumps(first) + "\n").encode())
            for record in stream:
                sink.write((json.dumps(record) + "\n").encode())
    except (OSError, ValueError) as error:
        print(f"scaled_trace: {error}", file=sys.stderr)
        return 2
    print(f"{args.copies} x {len(records)} records, constructed", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
