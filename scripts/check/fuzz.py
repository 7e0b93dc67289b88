"""Coverage-guided fuzzing of the log readers: any bytes give requests or one clear error.

    pip install atheris                       # not a dependency; CPython up to 3.13, Linux or macOS
    python scripts/check/fuzz.py [--seconds 600] [--corpus DIR]

A finding is any exception other than the two that the command line turns into a message (or a
message of more than three lines). Seeds: every format's example record and the start of every
sample. tests/cache_worthy/logs/test_fuzz_formats.py runs the same ``attempt`` under Hypothesis.

Exit codes: 0 nothing found, 1 a finding (the input is written beside the corpus), 2 no atheris.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from attempts import attempt, seeds


def main() -> int:
    """Run the fuzzer."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--corpus", type=Path, help="kept between runs (default: a temporary one)")
    args = parser.parse_args()
    try:
        import atheris
    except ImportError:
        print("fuzz: needs atheris (pip install atheris)", file=sys.stderr)
        return 2
    with atheris.instrument_imports(include=["cache_worthy.logs.session"]):
        import cache_worthy.logs.session  # noqa: F401
    folder = args.corpus or Path(tempfile.mkdtemp(prefix="fuzz."))
    folder.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(seeds()):
        (folder / f"seed_{number}").write_bytes(seed)
    counts = {"inputs": 0, "read": 0, "refused": 0}
    begun = time.monotonic()

    def one(data: bytes) -> None:
        counts["inputs"] += 1
        counts["refused" if attempt(data) < 0 else "read"] += 1
        if time.monotonic() - begun > args.seconds:
            print(f"fuzz: {args.seconds} s, no finding: {counts}", flush=True)
            os._exit(0)

    atheris.Setup(
        [sys.argv[0], str(folder), "-max_len=6000", f"-artifact_prefix={folder}/", "-timeout=20",
         "-rss_limit_mb=3000", "-print_final_stats=1"],
        one,
    )  # fmt: skip
    atheris.Fuzz()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
