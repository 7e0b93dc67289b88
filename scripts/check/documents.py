"""Keep what the command line prints for every example log and both traces, and compare it later.

The net under a change of the code that must not change a result: keep the documents before it, compare
after it. Every command is run in this process; its exit code, stdout and stderr are kept, one file each.

    python scripts/check/documents.py keep FOLDER --traces DIR
    python scripts/check/documents.py compare FOLDER --traces DIR

Exit code 0 when every document is the same byte for byte, 1 when one differs (each is named, with its
first line that differs), 2 when it cannot run. Without ``--traces`` the example logs alone are run.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

#: By name: the options beside the log. Every kind of policy and every section is among them.
EXAMPLES = {
    "analyze": ["analyze", "--json"],
    "analyze-vllm": ["analyze", "--json", "--engine", "vllm", "--gpu-gib", "80"],
    "analyze-sglang": ["analyze", "--json", "--engine", "sglang", "--capacity-fraction", "0.5"],
    "analyze-sample": ["analyze", "--json", "--sample", "0.5"],
    "replay-lru": ["replay", "--json", "--policy", "lru", "--capacity-fraction", "0.5"],
    "replay-gdsf": ["replay", "--json", "--policy", "gdsf", "--capacity-gib", "1", "--per-request"],
    "replay-cosigned": ["replay", "--json", "--policy", "cosigned", "--capacity-fraction", "0.4"],
    "replay-vllm": ["replay", "--json", "--policy", "vllm_lru", "--capacity-blocks", "64"],
    "replay-s3fifo": ["replay", "--json", "--policy", "s3fifo", "--capacity-blocks", "9"],
    "replay-sglang": ["replay", "--json", "--policy", "sglang_lfu", "--capacity-fraction", "0.6"],
    "bound": ["bound", "--json", "--capacity-fraction", "0.5"],
    "convert": ["convert"],
}

TRACES = {
    "analyze": ["analyze", "--json"],
    "analyze-sglang": ["analyze", "--json", "--engine", "sglang", "--gpu-gib", "80", "--no-bound"],
    "analyze-vllm": ["analyze", "--json", "--engine", "vllm", "--capacity-fraction", "0.05"],
    "replay-lru": ["replay", "--json", "--policy", "lru", "--capacity-fraction", "0.02"],
    "replay-gdsf": ["replay", "--json", "--policy", "gdsf", "--capacity-fraction", "0.05"],
    "replay-vllm": ["replay", "--json", "--policy", "vllm_lru", "--capacity-fraction", "0.02"],
    "replay-s3fifo": ["replay", "--json", "--policy", "s3fifo", "--capacity-blocks", "4096"],
    "replay-sglang": ["replay", "--json", "--policy", "sglang_slru", "--capacity-fraction", "0.1"],
    "bound": ["bound", "--json", "--capacity-fraction", "0.02"],
    "convert": ["convert"],
}


def cases(traces: Path | None) -> Iterator[tuple[str, list[str]]]:
    """Name and arguments of every run."""
    logs = [ROOT / "examples" / "sample_log.jsonl"]
    for folder in ("formats", "formats/native", "scenarios"):
        logs += sorted(
            p for p in (ROOT / "examples" / folder).iterdir() if p.is_file() and p.suffix != ".md"
        )
    for log in logs:
        name = log.relative_to(ROOT / "examples").as_posix().replace("/", "-")
        for kind, options in EXAMPLES.items():
            yield f"{name}.{kind}", [*options, str(log.relative_to(ROOT))]
    if traces is not None:
        for trace in ("conversation_trace.jsonl", "synthetic_trace.jsonl"):
            for kind, options in TRACES.items():
                yield f"{trace}.{kind}", [*options, os.path.relpath(traces / trace, ROOT)]


def printed(argv: Sequence[str]) -> str:
    """What one command says: exit code, stderr, stdout."""
    from cache_worthy.cli import main

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(list(argv))
    return f"exit {code}\n--- stderr\n{err.getvalue()}--- stdout\n{out.getvalue()}"


def first_difference(old: str, new: str) -> str:
    """The first line in which two texts differ."""
    for number, (a, b) in enumerate(zip(old.splitlines(), new.splitlines(), strict=False), 1):
        if a != b:
            return f"line {number}: {a!r} -> {b!r}"
    return f"{old.count(chr(10))} lines -> {new.count(chr(10))}"


def main() -> int:
    """Keep or compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("action", choices=("keep", "compare"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--traces", type=Path)
    parser.add_argument("--only", default="", help="names that contain this")
    args = parser.parse_args()
    if args.traces is not None and not (args.traces / "conversation_trace.jsonl").is_file():
        print(f"--traces {args.traces}: no conversation_trace.jsonl there", file=sys.stderr)
        return 2
    traces = None if args.traces is None else Path(os.path.abspath(args.traces))
    folder = args.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    os.chdir(ROOT)
    differ, digest, count = 0, hashlib.sha256(), 0
    for name, argv in cases(traces):
        if args.only not in name:
            continue
        text, file = printed(argv), folder / f"{name}.txt"
        count += 1
        digest.update(text.encode())
        if args.action == "keep":
            file.write_text(text, encoding="utf-8")
            continue
        old = file.read_text(encoding="utf-8") if file.is_file() else ""
        if old != text:
            differ += 1
            print(f"{name}: {first_difference(old, text)}")
    print(f"{count} documents, sha256 {digest.hexdigest()}; {differ} differ")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
