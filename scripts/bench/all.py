"""All performance figures, each beside a yardstick of the same run, printed and kept.

    python scripts/bench/all.py --traces data/raw [--full] [--results bench/results]

Runs every ``scripts/bench_*.py`` in turn; each prints its own figures, writes them as
``NAME.json`` (``scripts/support/measuring.py`` says what stands in it) and passes or fails nothing. Peers
are optional extras (pip install -e '.[bench]', which ``make bench`` tries): a comparison with one
that is not installed is skipped, and said so.
"""

from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryFile

from measuring import RESULTS, arguments


def main(argv: list[str] | None = None) -> int:
    """Run them; the exit code is the worst of theirs, 1 for one that a signal ended."""
    parser = arguments(__doc__)
    parser.set_defaults(results=RESULTS)
    args = parser.parse_args(argv)
    try:  # now, not after the measurements
        args.results.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=args.results):
            pass
    except OSError as error:
        print(f"{args.results}: cannot be written to: {error.strerror}", file=sys.stderr)
        return 2
    print(f"Python {platform.python_version()}, {platform.machine()}, {platform.system()}")
    passed = ["--traces", str(args.traces), "--results", str(args.results)]
    passed += ["--full"] if args.full else []
    worst = 0
    for script in sorted(Path(__file__).parent.glob("bench_*.py")):
        print(f"\n{script.name}", flush=True)
        done = subprocess.run([sys.executable, str(script), *passed], check=False)
        if done.returncode < 0:
            print(f"{script.name}: ended by signal {-done.returncode}", file=sys.stderr)
        worst = max(worst, 1 if done.returncode < 0 else done.returncode)
    return worst


if __name__ == "__main__":
    sys.exit(main())
