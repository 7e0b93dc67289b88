"""The band of a log of three requests, worked out by hand under every member (rank 4).

One block per token, 4 bytes a block; a = 14, b = 2 of ``prefill(n) = a n +
b n^2``, so the blocks of a path cost 16, 20, 24. Requests: (1, 2, 3), (1, 4), (1, 2, 3).

Uncached 60 + 36 + 60 = 156. Each block once: 16 + 20 + 24, and block 4 at the second place 20,
compulsory 80. Ceiling 76 / 156. In 3 blocks (12 bytes, the floor) the second request takes 2 and 3
out and the third brings them back: 60 + 20 + 44 = 124, whatever the policy, for there is one leaf
to evict each time. In 4 blocks nothing leaves. Block 1 is in three requests and protects 2 * 16 =
32; blocks 2 and 3 are in two and protect 20 + 24 = 44, and 32 + 44 = 76.

The same with b = 1: blocks 15, 17, 19. b = 4: 18, 26, 34. b = 0: 14 each, where block 1 protects
28 and blocks 2 and 3 protect 28: a tie, which goes to the node that came first. The models' blocks
cost a + b, a + 3 b, a + 5 b.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from analyses import REST, document

from cache_worthy.sim.cost import MODELS, load_model
from cache_worthy.sim.radix.policies import POLICIES

Run = Callable[..., tuple[int, str, str]]
Write = Callable[..., Path]

TOY = [{"hash_ids": ids} for ids in ([1, 2, 3], [1, 4], [1, 2, 3])]
TINY = {"layers": 1, "d_model": 1, "heads": 1, "kv_heads": 1, "head_dim": 1, "d_ff": 1}


def by_hand() -> dict[str, tuple[int, int, int, int, int]]:
    """Uncached, compulsory, cost at the floor, first rank: its depth, what it protects."""
    hand = {
        "tiny": (156, 80, 124, 1, 44),
        "attention x0.5": (51 + 32 + 51, 51 + 17, 51 + 17 + 36, 1, 36),
        "attention x2": (78 + 44 + 78, 78 + 26, 78 + 26 + 60, 1, 60),
        "linear only": (8 * 14, 4 * 14, 6 * 14, 0, 28),
    }
    for name, other in MODELS.items():
        a, b = other.linear, other.quadratic
        hand[name] = (8 * a + 22 * b, 4 * a + 12 * b, 6 * a + 20 * b, 1, 2 * a + 8 * b)
    return hand


@pytest.mark.usefixtures("eight_policies")
def test_a_three_request_log_by_hand(run: Run, write: Write, tmp_path: Path) -> None:
    model = tmp_path / "tiny.json"
    model.write_text(json.dumps(TINY), encoding="utf-8")
    assert (load_model(str(model)).linear, load_model(str(model)).quadratic) == (14, 2)
    log = write(*TOY)
    found = document(
        run, log, "--model", model, "--block-size", "1", "--policies", "all", "--skip", REST
    )["band"]
    members = {m["name"]: m for m in found["members"]}
    assert list(members) == [
        "tiny",
        "attention x0.5",
        "attention x2",
        "linear only",
        *MODELS,
    ]
    hand = by_hand()
    for name, (uncached, compulsory, floor, depth, protected) in hand.items():
        m = members[name]
        assert m["ceiling"] == (uncached - compulsory) / uncached
        assert m["worth_caching"] is True
        assert m["recommended_fraction"] == 1.0
        assert m["recommended_bytes"] == 4 * m["block_bytes"]
        assert m["recommended_cost_ratio"] == 1.0
        at_floor, at_all = m["rows"]
        assert (at_floor["fraction"], at_all["fraction"]) == (0.75, 1.0)
        assert at_floor["cost_ratios"] == dict.fromkeys(POLICIES, floor / compulsory)
        assert at_all["cost_ratios"] == dict.fromkeys(POLICIES, 1.0)
        assert (at_floor["best"], at_floor["saving_fraction"]) == ("lru", 0.0)
        assert (m["top_pin"], m["top_pin_depth"]) == (1, depth)
        assert m["top_pin_protected_fraction"] == protected / (uncached - compulsory)
    assert (members["tiny"]["linear"], members["tiny"]["quadratic"]) == (14, 2)
    assert [members[n]["quadratic"] for n in list(members)[1:4]] == [1, 4, 0]
    ceilings = [(u - c) / u for u, c, *_ in hand.values()]
    assert found["ceiling"] == {
        "low": min(ceilings),
        "high": max(ceilings),
        "worth_caching": "all",
        "flips": [],
    }
    assert found["capacity"] == {
        "low_fraction": 1.0,
        "high_fraction": 1.0,
        "low_bytes": 16,
        "high_bytes": 16,
        "flips": [],
    }
    assert found["pin"] == {"low": 0.5, "high": 60 / 96, "flips": ["linear only"]}
    assert [(r["best"], r["tied"], r["worth_changing"]) for r in found["policy"]] == [
        ("lru", [], "none")
    ] * 2
    # Under the members that keep the bytes per block lru, recursive_lru and size_only are priced
    # anew (2 capacities, all but 3 policies left); the models have other bytes (all but 2 left).
    assert found["replays"] == 3 * 2 * (len(POLICIES) - 3) + 2 * 2 * (len(POLICIES) - 2)


def test_top_pin_that_flips_is_marked_where_it_is_printed(
    run: Run, write: Write, tmp_path: Path
) -> None:
    model = tmp_path / "tiny.json"
    model.write_text(json.dumps(TINY), encoding="utf-8")
    argv = (write(*TOY), "--model", model, "--block-size", "1", "--skip", REST)
    text = " ".join(run("analyze", *argv)[1].split())
    assert "Rank #0 flips under linear only (50.0% to 62.5%)." in text
    assert "top pin flips under linear only: protects 50.0% to 62.5%" in text
    assert "can save (the first flips under linear only)." in text
