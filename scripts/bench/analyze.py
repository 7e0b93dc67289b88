"""The whole of ``analyze`` and each of its sections, compared with json.loads over the same file.

    python scripts/bench/analyze.py --traces data/raw

Every run is a process of its own on the conversation trace. A section's figure is what it adds to
a run without any of them, in CPU seconds, which the load of the machine moves less than the clock,
the least of several runs in turn (a figure under the noise may come out below zero). The sections
are those that ``analyze --skip`` names. Sizes that were aimed at: 10 s for the sensitivity band,
15 s for everything. Nothing here passes or fails.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from measuring import Results, Usage, arguments, conversation, measured, positive

from cache_worthy.advise.sections import skippable

AIMED = {"band": 10.0, "everything": 15.0}
"""Seconds."""


def analyze(file: Path, skip: Sequence[str]) -> Usage:
    """One run of the command without some sections."""
    command = [sys.executable, "-m", "cache_worthy.cli", "analyze", str(file), "--json", "-q"]
    return measured([*command, *(["--skip", ",".join(skip)] if skip else [])])


def runs(file: Path, names: Sequence[str], rounds: int) -> dict[str, tuple[Usage, Any]]:
    """Without any section, with each alone, and with all; of each the run with the least CPU time.

    Raises
    ------
    RuntimeError
        If a run fails, or a section that was asked for is not in its result.
    """
    skips = {"none": list(skippable())}
    skips |= {name: [other for other in skippable() if other != name] for name in names}
    skips["everything"] = []
    found: dict[str, tuple[Usage, Any]] = {}
    for _ in range(rounds):
        for name, skip in skips.items():
            used = analyze(file, skip)
            document = json.loads(used.stdout)
            if name in names and document.get(name) is None:
                raise RuntimeError(f"section {name} was measured and is not in the result")
            if name not in found or used.cpu < found[name][0].cpu:
                found[name] = used, document
    return found


def main(argv: list[str] | None = None) -> int:
    """Print the figures."""
    parser = arguments(__doc__)
    parser.add_argument("--rounds", type=positive, help="default: 2, with --full 5")
    parser.add_argument(
        "--sections",
        nargs="+",
        choices=list(skippable()),
        default=list(skippable()),
        metavar="NAME",
        help="these alone",
    )
    args = parser.parse_args(argv)
    file = conversation(args.traces)
    lines = file.read_text(encoding="utf-8").splitlines()
    begun = time.process_time()
    for line in lines:
        json.loads(line)
    loads = time.process_time() - begun
    results = Results(
        "analyze",
        "the advisor on the conversation trace, section by section, compared with json.loads",
    )
    names = list(args.sections)
    found = runs(file, names, args.rounds or (5 if args.full else 2))
    none = found["none"][0].cpu

    def figure(name: str, seconds: float, unit: str) -> None:
        results.figure(name, seconds, unit, yardstick="json.loads", yardstick_value=loads)

    figure("no section (questions 1, 2, 3, 5, 6)", none, "s CPU")
    for name in names:
        aim = f" (aimed at {AIMED[name]:g} s)" if name in AIMED else ""
        figure(f"{name} adds{aim}", found[name][0].cpu - none, "s CPU")
    whole, document = found["everything"]
    figure(f"everything (aimed at {AIMED['everything']:g} s)", whole.cpu, "s CPU")
    figure("everything, by the clock", whole.seconds, "s")
    results.figure("everything, peak memory", whole.megabytes, "MB")
    results.facts = {
        "requests": document["input"]["requests"],
        "band_members": len(document["band"]["members"]),
        "band_replays": document["band"]["replays"],
        "aimed_at_seconds": AIMED,
        "sections": {
            name: [s for s in skippable() if document.get(s) is not None]
            for name, (_, document) in found.items()
        },
    }
    print(
        f"  the band's {results.facts['band_members']} members took "
        f"{results.facts['band_replays']} replays"
    )
    results.write(args.results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
