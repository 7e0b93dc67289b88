"""No byte differs behind cache-worthy capture: random traffic through the proxy, compared at both ends.

    python scripts/check/capture.py [--requests N] [--connections N] [--seed N] [--check]

``scripts/support/traffic.py`` says what is sent and what is compared. Rank 2: what left one end
arrives at the other.

Exit codes: 0 nothing differs, 1 something does (the first differences are printed).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from traffic import recorded_requests, run_check


def main(argv: Sequence[str] | None = None) -> int:
    """Run and report."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--requests", type=int, default=10_000, metavar="N")
    parser.add_argument("--connections", type=int, default=16, metavar="N")
    parser.add_argument("--seed", type=int, default=0, metavar="N")
    parser.add_argument("--check", action="store_true", help="accepted for make verify")
    parser.add_argument("--traces", help="accepted for make verify; nothing is read")
    args = parser.parse_args(argv)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        check, capture, err = run_check(args.requests, args.connections, args.seed, Path(folder))
        rows = len(capture.rows())
    want = recorded_requests(args.requests, args.seed)
    if rows != want:
        check.wrong.append(f"{rows} records, expected {want}")
    print(
        f"{check.compared} answers compared, {check.arrived} requests arrived, {rows} records, "
        f"{len(check.wrong)} differences, {time.monotonic() - began:.1f} s"
    )
    for line in check.wrong[:20]:
        print(f"  {line}")
    if check.wrong:
        print(err, end="")
    return 1 if check.wrong or check.compared != args.requests else 0


if __name__ == "__main__":
    sys.exit(main())
