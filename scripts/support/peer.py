"""kvcache-simulator (PyPI), the peer of ``bench/scale.py``: how it is run, and what it answers."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from measuring import Results, Usage, measured

PEER = "kvcache-simulator"

MODEL = "llama-3.1-8b"
"""The architecture that is our default, 64 MiB per block of 512 tokens."""

BLOCK_BYTES = 64 * 2**20


def peer_command(file: Path, blocks: Sequence[int], policies: str) -> list[str]:
    """Its own command line at capacities given in blocks."""
    # Half a block more, so that rounding in the division by the size of a block cannot lose one.
    budgets = ",".join(repr((b + 0.5) * BLOCK_BYTES / 2**30) for b in blocks)
    return [
        sys.executable, "-m", "kvcache_sim", "run", "--trace", str(file), "--model", MODEL,
        "--block-size", "512", "--policies", policies, "--budgets-gib", budgets,
        "--format", "json", "--no-progress",
    ]  # fmt: skip


def has_peer(
    results: Results, file: Path, run: Callable[[Sequence[str]], Usage] = measured
) -> bool:
    """Whether the peer runs here; its first use compiles it, which must not be on its account."""
    try:
        run(peer_command(file, [400], "lru"))
    except RuntimeError as error:
        missing = "No module named" in str(error)
        why = "not installed (pip install -e '.[bench]')" if missing else str(error)[-300:]
        results.skip(f"the comparison with {PEER}: {why}")
        return False
    return True


def different_hits(ours: str, theirs: str) -> tuple[int, list[str]]:
    """Capacities compared, and where the peer's optimal policy hits other than ours."""
    mine = json.loads(ours)
    pairs = [
        (point["cacheBlocks"], mine[str(point["cacheBlocks"])]["hit_tokens"], found["hitTokens"])
        for point in json.loads(theirs)["points"]
        for found in [point["results"]["optimal"]]
    ]
    wrong = [
        f"{b} blocks: {our} hit tokens, {PEER} {their}" for b, our, their in pairs if our != their
    ]
    return len(pairs), wrong
