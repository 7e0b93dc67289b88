"""Run the claims of proofs/manifest.toml and print one line per claim; fail on any that differs.

Exit code 0: every claim came out as stated, 1: some did not, 2: the manifest itself is unsound (a
universal claim without a mutated twin of opposite result, a duplicate name, an unknown key).
A claim whose program (`needs`) is not installed is not run; that is said, and it is no failure.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
import tomllib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from manifest import Claim, ManifestError, Result, execute, judge, load
from published import ROOT


def choose(claims: Sequence[Claim], *, full: bool, only: str) -> list[Claim]:
    """The claims asked for, a universal one never without its twin."""
    wanted = {c.id for c in claims if (full or not c.full) and only in c.id}
    wanted |= {c.twin for c in claims if c.id in wanted and c.universal}
    return [c for c in claims if c.id in wanted]


def run(chosen: Sequence[Claim], jobs: int) -> list[Result]:
    """Run what the claims name, each command once, and print a line per claim."""
    budgets: dict[str, float] = {}  # several claims may read one output
    for c in chosen:
        budgets[c.command] = max(c.budget, budgets.get(c.command, 0))
    results = []
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        outputs = {command: pool.submit(execute, command, b) for command, b in budgets.items()}
        for c in chosen:
            result = judge(c, outputs[c.command].result())
            state = "ok  " if result.good else "FAIL"
            got = result.got if result.good else f"{result.got} (expected {c.expect})"
            line = f"{state} {result.seconds:6.1f} s  {c.id:<40} {got:<12} {c.claim}; {c.covers}"
            print(line, flush=True)
            results.append(result)
    return results


def main(argv: list[str] | None = None) -> int:
    """Run the chosen claims."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--full", action="store_true", help="the whole manifest, not the quick set")
    parser.add_argument(
        "--only", default="", metavar="TEXT", help="only claims whose name contains TEXT"
    )
    parser.add_argument("--manifest", type=Path, default=ROOT / "proofs" / "manifest.toml")
    parser.add_argument(
        "--jobs", type=int, choices=range(1, 65), default=2, metavar="N", help="at a time (2)"
    )
    parser.add_argument("--list", action="store_true", help="print the claims, run nothing")
    args = parser.parse_args(argv)
    try:
        claims = load(args.manifest)
    except (ManifestError, OSError, tomllib.TOMLDecodeError) as error:
        print(f"{args.manifest}: {error}", file=sys.stderr)
        return 2
    chosen = choose(claims, full=args.full, only=args.only)
    if not chosen:
        print("no claim was chosen", file=sys.stderr)
        return 2
    if args.list:
        for c in chosen:
            print(f"{c.id}: {c.claim}\n    {c.command}\n    expects {c.expect}; {c.covers}")
        return 0
    absent = [c for c in chosen if c.needs and shutil.which(c.needs) is None]
    begun = time.monotonic()
    results = run([c for c in chosen if c not in absent], args.jobs)
    for c in absent:
        print(f"NOT RUN             {c.id:<40} {c.needs} is not installed: {c.claim}")
    more = sum(c.full for c in claims) if not args.full and not args.only else 0
    held = {r.claim.id for r in results if r.good}
    twins = sum(c.universal and c.id in held and c.twin in held for c in chosen)
    print(
        f"{len(held)} of {len(results)} claims as stated, {twins} of them universal with a "
        f"mutated twin of opposite result, in {time.monotonic() - begun:.0f} s"
        + (f"; {more} more claims only with --full (make proofs-full)" if more else "")
        + (f"; {len(absent)} NOT RUN" if absent else "")
    )
    return 0 if held and len(held) == len(results) else 1


if __name__ == "__main__":
    sys.exit(main())
