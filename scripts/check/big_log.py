"""A large text log under bounded memory: construct it, analyse it, compare with the least it costs.

    python scripts/check/big_log.py [--mib 1024] [--folder /tmp] [--skip bound] [--check]

Constructs a log of chat requests (invented words, sessions that grow, shared preambles), runs
``cache-worthy analyze --json --skip bound`` on it in a process of its own, and reports that
process's greatest resident memory, its time, and its time as a multiple of ``wc -l`` plus one
``json.loads`` a line over the same file; CPU seconds beside each, which hold on a machine that does
other work too. The file is deleted afterwards. --check exits 1 when memory reaches 1 GiB.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LIMIT = 2**30
SEED = 20260707


def write_log(file: Path, size: int) -> int:
    """A log of at least ``size`` bytes; its number of requests."""
    rng = random.Random(SEED)
    words = [
        "".join(rng.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(7)) for _ in range(997)
    ]

    def text(length: int) -> str:
        return " ".join(rng.choices(words, k=length // 8))

    preambles = [text(6000) for _ in range(40)]
    live: list[list[dict[str, str]]] = []
    written = number = 0
    with file.open("w", encoding="utf-8") as out:
        while written < size:
            if len(live) < 200 or rng.random() < 0.12:
                live.append([{"role": "system", "content": rng.choice(preambles)}])
                if len(live) > 200:
                    live.pop(rng.randrange(200))
            session = live[-1] if len(live[-1]) == 1 else rng.choice(live)
            session.append({"role": "user", "content": text(rng.randrange(200, 3000))})
            line = json.dumps({"timestamp": number * 37, "messages": session}) + "\n"
            out.write(line)
            written += len(line)
            number += 1
            session.append({"role": "assistant", "content": text(rng.randrange(200, 1500))})
            if len(session) > 13:
                live.remove(session)
    return number


def loads_seconds(file: Path) -> tuple[float, float]:
    """One ``json.loads`` a line: seconds, and seconds of CPU."""
    begun, used = time.perf_counter(), time.process_time()
    with file.open("rb") as lines:
        for line in lines:
            json.loads(line)
    return time.perf_counter() - begun, time.process_time() - used


def timed(command: list[str]) -> tuple[float, float, str]:
    """A command: its seconds, its seconds of CPU, and what it wrote."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = time.perf_counter()
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    took = time.perf_counter() - begun
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, out


def main() -> int:
    """Construct, measure, delete."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--mib", type=int, default=1024)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--skip", default="bound", help="sections of the analysis to leave out")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    handle, name = tempfile.mkstemp(prefix="big_log.", suffix=".jsonl", dir=args.folder)
    os.close(handle)
    file = Path(name)
    try:
        requests = write_log(file, args.mib * 2**20)
        print(f"constructed: {file.stat().st_size} bytes, {requests} requests", flush=True)
        counted = timed(["wc", "-l", name])
        parsed = loads_seconds(file)
        least = tuple(a + b for a, b in zip(counted[:2], parsed, strict=True))
        print(f"wc -l {counted[0]:.2f} s + json.loads {parsed[0]:.2f} s = {least[0]:.2f} s "
              f"({least[1]:.2f} s CPU)", flush=True)  # fmt: skip

        def report(what: str, took: float, cpu: float) -> None:
            print(f"{what} {took:.2f} s = {took / least[0]:.2f} times that "
                  f"({cpu:.2f} s CPU, {cpu / least[1]:.2f} times)", flush=True)  # fmt: skip

        read = "import sys; from cache_worthy.logs.session import read_log; read_log(sys.argv[1])"
        report("reading alone", *timed([sys.executable, "-c", read, name])[:2])
        cli = [sys.executable, "-m", "cache_worthy.cli"]
        took, cpu, out = timed([*cli, "analyze", name, "--json", "--skip", args.skip])
        report(f"analyze --skip {args.skip}", took, cpu)
        document = json.loads(out)
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        peak *= 1 if sys.platform == "darwin" else 1024
        found = document["input"]["requests"]
        blocks = document["workload"]["block_references"], document["workload"]["distinct_blocks"]
        print(f"requests {found}, block references {blocks[0]}, distinct blocks {blocks[1]}")
        print(f"peak memory of analyze: {peak / 2**20:.0f} MiB (limit {LIMIT / 2**20:.0f})")
        return int(args.check and (peak >= LIMIT or found != requests))
    finally:
        file.unlink()


if __name__ == "__main__":
    raise SystemExit(main())
