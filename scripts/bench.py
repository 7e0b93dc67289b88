"""All performance figures, each beside a yardstick of the same run.

    python scripts/bench.py --traces data/raw

Runs every ``scripts/bench_*.py`` in turn; each prints its own figures and passes or fails nothing.
"""

from __future__ import annotations

import argparse
import platform
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main(argv: list[str] | None = None) -> int:
    """Run them; the exit code is the worst of theirs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--traces", type=Path, default=ROOT / "data" / "raw")
    args = parser.parse_args(argv)
    print(f"Python {platform.python_version()}, {platform.machine()}, {platform.system()}")
    worst = 0
    for script in sorted(Path(__file__).parent.glob("bench_*.py")):
        print(f"\n{script.name}", flush=True)
        done = subprocess.run(
            [sys.executable, str(script), "--traces", str(args.traces)], check=False
        )
        worst = max(worst, done.returncode)
    return worst


if __name__ == "__main__":
    sys.exit(main())
