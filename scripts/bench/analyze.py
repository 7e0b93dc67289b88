"""The whole of ``analyze`` and each of its sections, beside json.loads over the same file.

    python scripts/bench/analyze.py --traces data/raw

Every run is a process of its own on the conversation trace. A section's figure is what it adds to
a run without any of them, in CPU seconds, which the load of the machine moves less than the clock,
the least of several runs in turn (a figure under the noise may come out below zero). The sections
are those that ``analyze --skip`` names. Sizes that were aimed at: 10 s for the sensitivity band,
15 s for everything. Nothing here passes or fails.
"""

from __future__ import annotations

import dataclasses
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from measuring import Results, Usage, arguments, measured

from cache_worthy.advise.analysis import Analysis
from cache_worthy.advise.sections import SECTIONS

AIMED = {"band": 10.0, "everything": 15.0}
"""Seconds."""


def analyze(file: Path, skip: Sequence[str]) -> Usage:
    """One run of the command without some sections."""
    command = [sys.executable, "-m", "cache_worthy.cli", "analyze", str(file), "--json", "-q"]
    return measured([*command, *(["--skip", ",".join(skip)] if skip else [])])


def runs(file: Path, names: Sequence[str], repeats: int = 1) -> dict[str, Usage]:
    """Without any section, with each alone, and with all; of each the run with the least CPU time.

    Raises
    ------
    RuntimeError
        If a run fails, or a section that was asked for is not in its result.
    """
    skips = {"none": list(SECTIONS)}
    skips |= {name: [other for other in SECTIONS if other != name] for name in names}
    skips["everything"] = []
    found: dict[str, Usage] = {}
    for _ in range(repeats):
        for name, skip in skips.items():
            used = analyze(file, skip)
            if name in names and json.loads(used.stdout).get(name) is None:
                raise RuntimeError(f"section {name} was measured and is not in the result")
            if name not in found or used.cpu < found[name].cpu:
                found[name] = used
    return found


def main(argv: list[str] | None = None) -> int:
    """Print the figures."""
    args = arguments(__doc__).parse_args(argv)
    file = args.traces / "conversation_trace.jsonl"
    if not file.exists():
        print(f"{file} is missing; run scripts/make/fetch_traces.py or give --traces", file=sys.stderr)
        return 2
    lines = file.read_text(encoding="utf-8").splitlines()
    begun = time.process_time()
    for line in lines:
        json.loads(line)
    loads = time.process_time() - begun
    results = Results(
        "analyze", "the advisor on the conversation trace, section by section, beside json.loads"
    )
    there = {f.name for f in dataclasses.fields(Analysis)}
    names = [name for name in SECTIONS if name in there]
    for name in SECTIONS:
        if name not in there:
            results.skip(f"section {name}: not a part of the analysis")
    found = runs(file, names, 5 if args.full else 2)
    none = found["none"].cpu

    def figure(name: str, seconds: float, unit: str) -> None:
        results.figure(name, seconds, unit, yardstick="json.loads", yardstick_value=loads)

    figure("no section (questions 1, 2, 3, 5, 6)", none, "s CPU")
    for name in names:
        aim = f" (aimed at {AIMED[name]:g} s)" if name in AIMED else ""
        figure(f"{name} adds{aim}", found[name].cpu - none, "s CPU")
    whole = found["everything"]
    figure(f"everything (aimed at {AIMED['everything']:g} s)", whole.cpu, "s CPU")
    figure("everything, by the clock", whole.seconds, "s")
    results.figure("everything, peak memory", whole.megabytes, "MB")
    document = json.loads(whole.stdout)
    results.facts = {
        "requests": document["input"]["requests"],
        "band_members": len(document["band"]["members"]),
        "band_replays": document["band"]["replays"],
        "aimed_at_seconds": AIMED,
    }
    print(
        f"  the band's {results.facts['band_members']} members took "
        f"{results.facts['band_replays']} replays"
    )
    results.write(args.results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
