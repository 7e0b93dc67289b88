"""Write the constructed samples of examples/formats: one traffic in every log format.

    python scripts/make/format_samples.py [--output DIR]

The traffic is invented. Each sample has its native twin in native/: the same requests as
block ids (``scripts/support/sample_twins.py``). ``scripts/support/samples.py`` says which twin and
which options belong to which file.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from samples import SAMPLES, TWINS

ROOT = Path(__file__).resolve().parents[2]


OUTPUT = ROOT / "examples" / "formats"


def main() -> int:
    """Write the files."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--output", type=Path, default=OUTPUT, metavar="DIR")
    folder: Path = parser.parse_args().output
    (folder / "native").mkdir(parents=True, exist_ok=True)
    for sample in SAMPLES:
        (folder / sample.file).write_bytes(sample.make().encode())
    for name, make in TWINS.items():
        (folder / "native" / f"{name}.jsonl").write_bytes(make().encode())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
