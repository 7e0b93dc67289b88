"""kvcache-simulator beside us: told apart where it is missing, and where it hits other blocks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from measuring import Results, Usage
from peer import different_hits, has_peer


def test_a_missing_peer_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def missing(command: Sequence[str]) -> Usage:
        raise RuntimeError("No module named kvcache_sim")

    results = Results("scale", "a test")
    assert not has_peer(results, tmp_path / "log.jsonl", missing)
    assert "SKIPPED: the comparison with kvcache-simulator: not installed" in (
        capsys.readouterr().err
    )
    assert results.skipped


def test_other_hits_of_the_peer_are_named() -> None:
    ours = json.dumps({"3": {"hit_tokens": 7}, "4": {"hit_tokens": 9}, "5": {"hit_tokens": 9}})
    answered = {3: 7, 4: 10}
    points = [
        {"cacheBlocks": b, "results": {"optimal": {"hitTokens": n}}} for b, n in answered.items()
    ]
    compared, wrong = different_hits(ours, json.dumps({"points": points}))
    assert compared == 2
    assert wrong == ["4 blocks: 9 hit tokens, kvcache-simulator 10"]
