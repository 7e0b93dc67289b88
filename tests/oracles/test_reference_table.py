"""The reference table of the bound on the Mooncake traces, every certificate checked stand-alone.

Evidence: figures measured by an earlier, separate implementation, to six decimals.
"""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from block_replay import keep_until, replay_blocks

from cache_worthy.oracles.bound.certificate import to_json
from cache_worthy.oracles.bound.clairvoyant import round_relaxation, tree_belady
from cache_worthy.oracles.bound.groups import (
    BlockTrace,
    Grouped,
    group_references,
    trace_of_requests,
)
from cache_worthy.oracles.bound.lp import Rows, relax
from cache_worthy.oracles.bound.offline import offline_bound

CHECKER = Path(__file__).resolve().parents[2] / "proofs" / "check_certificate.py"

pytestmark = pytest.mark.traces

# (trace, fraction, chain, A3, LPround, Belady), times compulsory; 8B.
TABLE = [
    ("conversation", 0.005, 1.293055, 1.293093, 1.295650, 1.309481),
    ("conversation", 0.02, 1.080794, 1.080794, 1.081559, 1.089992),
    ("conversation", 0.03, 1.026244, 1.026244, 1.026462, 1.035173),
    ("conversation", 0.05, 1.0, 1.0, 1.0, 1.0),
    ("conversation", 0.10, 1.0, 1.0, 1.0, 1.0),
    ("conversation", 0.25, 1.0, 1.0, 1.0, 1.0),
    ("synthetic", 0.02, 2.128951, 2.128958, 2.138080, 2.216823),
    ("synthetic", 0.10, 1.363545, 1.363555, 1.367732, 1.392772),
]

COMPULSORY = {"conversation": 2170010167351967744, "synthetic": 501241100262965248}


@cache
def load(file: Path) -> tuple[BlockTrace, Grouped]:
    with open(file, encoding="utf-8") as lines:
        requests = [json.loads(line)["hash_ids"] for line in lines]
    # 8B: (e - s)(104 + s + e) in units of b * 512^2 FLOPs.
    unit = 2 * 32 * 4096 * 512**2
    trace = trace_of_requests(requests, lambda d: unit * d * (104 + d))
    return trace, group_references(trace)


@pytest.mark.parametrize(("name", "groups", "blocks"), [("conversation", 4678, 93680),
                                                          ("synthetic", 1906, 77549)])  # fmt: skip
def test_structure(name: str, groups: int, blocks: int, traces: Path) -> None:
    trace, grouped = load(traces / f"{name}_trace.jsonl")
    assert len(grouped.groups) == groups
    assert sum(g.size for g in grouped.groups) == blocks
    assert grouped.compulsory * trace.unit == COMPULSORY[name]


@pytest.mark.parametrize(("name", "fraction", "chain", "a3", "rounded", "belady"), TABLE)
def test_table(
    name: str,
    fraction: float,
    chain: float,
    a3: float,
    rounded: float,
    belady: float,
    traces: Path,
    tmp_path: Path,
) -> None:
    file = traces / f"{name}_trace.jsonl"
    trace, grouped = load(file)
    capacity = int(fraction * len(trace.parent))
    rows: tuple[tuple[Rows, float], ...] = (("chain", chain), ("A3", a3))
    for row, expected in rows:
        answer = relax(trace, grouped, capacity, rows=row)
        value = (grouped.ceiling - answer.saved) / grouped.compulsory
        assert value == pytest.approx(expected, abs=1e-6)
    above = round_relaxation(trace, grouped, capacity, answer.kept) / grouped.compulsory
    assert value - 1e-9 <= above <= rounded + 0.001
    top = tree_belady(trace, grouped, capacity) / grouped.compulsory
    assert top == pytest.approx(belady, abs=1e-6)

    bound = offline_bound(trace, capacity, grouped=grouped)
    ratio = bound.lower / bound.compulsory
    assert chain - 1e-5 <= ratio <= a3 + 1e-6
    assert bound.lower <= bound.feasible <= bound.belady
    certificate = tmp_path / "certificate.json"
    certificate.write_text(to_json(trace, capacity, bound.certified), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-I", str(CHECKER), str(file), str(certificate)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"certified lower bound {bound.lower}\n")

    # One price changed by hand: some valid bound, never above A3's; the old claim is refused.
    document = json.loads(certificate.read_text(encoding="utf-8"))
    document["prices"][len(document["prices"]) // 2] += 7
    certificate.write_text(json.dumps(document), encoding="utf-8")
    claimed = subprocess.run(
        [sys.executable, "-I", str(CHECKER), str(file), str(certificate)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert claimed.returncode == 1
    assert "claims" in claimed.stderr
    document["lower_bound"] = None
    certificate.write_text(json.dumps(document), encoding="utf-8")
    weaker = subprocess.run(
        [sys.executable, "-I", str(CHECKER), str(file), str(certificate)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert weaker.returncode == 0
    assert int(weaker.stdout.split()[3]) / bound.compulsory <= a3 + 1e-6


@pytest.mark.parametrize(("name", "fraction"), [("conversation", 0.02), ("synthetic", 0.02)])
def test_replay_over_groups_equals_replay_over_blocks(
    name: str, fraction: float, traces: Path
) -> None:
    trace, grouped = load(traces / f"{name}_trace.jsonl")
    capacity = int(fraction * len(trace.parent))
    assert tree_belady(trace, grouped, capacity) == replay_blocks(trace, capacity, None)
    kept = relax(trace, grouped, capacity, rows="A3").kept
    assert round_relaxation(trace, grouped, capacity, kept) == replay_blocks(
        trace, capacity, keep_until(trace, grouped, kept)
    )


def test_window_ascent_comes_close_and_never_passes(traces: Path) -> None:
    trace, grouped = load(traces / "conversation_trace.jsonl")
    capacity = int(0.02 * len(trace.parent))
    whole = offline_bound(trace, capacity, grouped=grouped, rows="chain").certified.bound
    windows = offline_bound(trace, capacity, grouped=grouped, window=4000).certified.bound
    assert whole * 0.999 <= windows <= whole
