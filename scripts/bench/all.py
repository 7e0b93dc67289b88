"""All performance figures, each with a yardstick from the same run, printed and kept.

    python scripts/bench/all.py --traces data/raw [--full] [--results bench/results]

Runs every other script of this folder in turn; each prints its own figures, writes them as
``NAME.json`` (``scripts/support/measuring.py`` says what is in it) and passes or fails nothing. Peers
are optional extras (pip install -e '.[bench]', which ``make bench`` tries): a comparison with one
that is not installed is skipped, and said so.
"""

from __future__ import annotations

import platform
import sys
from pathlib import Path
from tempfile import TemporaryFile

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from measuring import RESULTS, arguments
from running import run_all


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
    here = Path(__file__)
    scripts = sorted(path for path in here.parent.glob("*.py") if path.name != here.name)
    return run_all([[sys.executable, str(script), *passed] for script in scripts])


if __name__ == "__main__":
    sys.exit(main())
