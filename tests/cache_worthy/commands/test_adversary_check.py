"""``adversary check`` and ``adversary play``: the published figures, exactness, bad input.

Rank of evidence: the figures were computed by hand and by independent code before.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from cache_worthy.theory.algorithms import ALGORITHMS

Run = Callable[..., tuple[int, str, str]]
SMALLEST: dict[str, Any] = {
    "parent": [None, 0, None, None],
    "size": [1, 1, 1, 1],
    "cost": [0, 5, 2, 0],
    "requests": [1, 2, 3, 2, 3, 2],
    "k": 3,
    "h": 2,
}
FIVE: dict[str, Any] = {
    "parent": [-1, -1, -1, -1, 0, 1],
    "size": [1] * 6,
    "cost": [0, 0, 0, 3, 4, 4],
    "requests": [4, 5, 3, 2, 3],
    "k": 5,
    "h": 2,
}
WIDE: dict[str, Any] = {
    "parent": [-1, 0, -1, -1, -1, -1, -1],
    "size": [4, 1, 1, 1, 1, 1, 1],
    "cost": [0, 100, 1, 1, 1, 1, 1],
    "requests": [1, *(2 + i % 5 for i in range(400))],
    "k": 9,
    "h": 5,
}


@pytest.fixture
def check(run: Run, tmp_path: Path) -> Callable[..., tuple[int, str, str]]:
    def call(data: object, *options: str) -> tuple[int, str, str]:
        file = tmp_path / "instance.json"
        file.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
        return run("adversary", "check", str(file), *options)

    return call


def _document(check: Run, data: object, *options: str) -> dict[str, Any]:
    code, out, _ = check(data, "--json", *options)
    assert code == 0
    document: dict[str, Any] = json.loads(out)
    head = {"tool", "version", "command", "schema"}
    assert set(document) == head | {"optimal_cost", "bound", "policies"}
    assert set(document["policies"]) == set(ALGORITHMS)
    for row in document["policies"].values():
        assert set(row) == {"cost", "ratio", "exceeds"}
    return document


def test_smallest_witness(check: Run) -> None:
    document = _document(check, SMALLEST)
    assert (document["optimal_cost"], document["bound"]) == (7, "3/2")
    landlord = {"cost": 11, "ratio": "11/7", "exceeds": True}
    assert document["policies"]["landlord"] == landlord
    for form in ("cosigned", "cosigned_eager", "cosigned_touch"):
        assert document["policies"][form] == {"cost": 9, "ratio": "9/7", "exceeds": False}


def test_five_requests(check: Run) -> None:
    document = _document(check, FIVE)
    assert (document["optimal_cost"], document["bound"]) == (11, "5/4")
    assert document["policies"]["landlord"] == {"cost": 14, "ratio": "14/11", "exceeds": True}
    assert not document["policies"]["cosigned"]["exceeds"]


def test_wide_root(check: Run) -> None:
    document = _document(check, WIDE)
    assert (document["optimal_cost"], document["bound"]) == (105, "9/5")
    assert document["policies"]["landlord"]["cost"] == 500
    for form in ("cosigned", "cosigned_eager", "cosigned_touch"):
        assert 105 <= document["policies"][form]["cost"] <= Fraction(9, 5) * 105
    assert _document(check, WIDE, "--tie", "mru")["policies"]["landlord"]["cost"] != 500


def test_costs_stay_exact(check: Run) -> None:
    data = SMALLEST | {"cost": [0, "5/3", "2/3", 0]}
    document = _document(check, data)
    assert document["optimal_cost"] == "7/3"
    assert document["policies"]["landlord"] == {"cost": "11/3", "ratio": "11/7", "exceeds": True}


def test_an_optimum_of_nothing_has_no_ratio(check: Run) -> None:
    document = _document(check, SMALLEST | {"cost": [0, 0, 0, 0]})
    assert document["policies"]["landlord"] == {"cost": 0, "ratio": None, "exceeds": False}
    assert "-" in check(SMALLEST | {"cost": [0, 0, 0, 0]})[1]


def test_progress_of_the_optimum_goes_to_stderr(check: Run) -> None:
    code, out, err = check(SMALLEST, "-v", "--json")
    assert code == 0
    assert json.loads(out)["optimal_cost"] == 7
    assert "policy cosigned" in err
    for t in range(1, 7):
        assert f"exhaustive optimum: request {t} of 6" in err


def test_words_say_the_same(check: Run) -> None:
    code, out, _ = check(SMALLEST)
    assert code == 0
    assert "  optimum at h     7\n  k/(k-h+1)        3/2\n" in out
    rows = {line.split()[0]: line for line in out.splitlines()[4:]}
    assert rows["landlord"].split()[1:3] == ["11", "1.5714"]
    assert rows["landlord"].endswith("exceeds the bound")
    assert not rows["cosigned"].endswith("exceeds the bound")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("{", "not JSON"),
        ("[]", "expected a JSON object"),
        ({**SMALLEST, "cost": [0, 0.5, 2, 0]}, "cost[1] = 0.5"),
        ({**SMALLEST, "cost": None}, "cost: expected a list"),
        ({**SMALLEST, "cost": [0, " 1/3 ", 2, 0]}, "cost[1] = ' 1/3 '"),
        ({**SMALLEST, "cost": [0, "1_0/3", 2, 0]}, "cost[1] = '1_0/3'"),
        ({**SMALLEST, "cost": [0, "1/0", 2, 0]}, "cost[1] = '1/0'"),
        ({**SMALLEST, "cost": [0, "-2/6", 2, 0]}, "cost[1] = '-2/6'"),
        (
            {**SMALLEST, "cost": [0, "1/" + "9" * 3000, "1/" + "7" * 2999, 0]},
            "at most 1,000 digits",
        ),
        ({**SMALLEST, "size": [1, 1, 1, 10**1000]}, "size[3]: expected a number of at most 1,000"),
        (json.dumps(SMALLEST).replace("5", "5" * 5000), "too many digits"),
        (
            {
                "parent": [None] * 6,
                "size": [1] * 6,
                "cost": [f"1/{10**999 + 2 * i + 1}" for i in range(6)],
                "requests": [0, 1, 2, 3, 4, 5],
                "k": 2,
                "h": 1,
            },
            "an exact result has more than 4,000 digits",
        ),
        ({**SMALLEST, "parent": [None, 1, None, None]}, "its own ancestor"),
        ({**SMALLEST, "size": [1, 0, 1, 1]}, "size[1] = 0"),
        ({**SMALLEST, "requests": [9]}, "requests[0] = 9"),
        ({**SMALLEST, "k": "3"}, "k = '3': expected an integer"),
        ({**SMALLEST, "h": None}, "h = None: expected an integer"),
        ({**SMALLEST, "h": 4}, "h = 4, k = 3: expected 2 <= h <= k"),
        ({**SMALLEST, "h": 1}, "h = 1, k = 3: expected 2 <= h <= k"),
    ],
)
def test_bad_input_is_told_in_a_line(check: Run, data: object, message: str) -> None:
    code, out, err = check(data)
    assert (code, out) == (2, "")
    assert message in err
    assert "Traceback" not in err
    assert len(err.splitlines()) <= 2


def test_absent_file(run: Run) -> None:
    code, _, err = run("adversary", "check", "no/such/file.json")
    assert code == 2
    assert "cannot read" in err


def test_play_landlord_reaches_its_limit(run: Run) -> None:
    code, out, _ = run("adversary", "play", "--policy", "landlord", "--k", 9, "--h", 5,
                       "--path", 5, "--phases", 5, "--json")  # fmt: skip
    assert code == 0
    document = json.loads(out)
    assert document["bound"] == "9/5"
    assert document["landlord_ratio"] == 5
    assert document["exceeds"] is True
    assert all(p["ended"] and p["cost"] >= 496 for p in document["phases"])
    assert document["landlord_phase_floor"] == 496
    assert document["offline_cost"] == 5 * 105


def test_play_cosigned_stays_within_the_bound(run: Run) -> None:
    code, out, _ = run("adversary", "play", "--policy", "cosigned", "--k", 9, "--h", 5,
                       "--path", 5, "--phases", 5)  # fmt: skip
    assert code == 0
    words = " ".join(out.split())
    assert "k/(k-h+1) 1.8000, the limit of cosigned Landlord 1 + (h-1)/m" in words
    assert "exceeded" not in out
    assert "5.0000, the limit of Landlord on such forests, not of cosigned" in words


def test_play_of_other_policies_names_no_limit_as_theirs(run: Run) -> None:
    code, out, _ = run("adversary", "play", "--policy", "lru", "--k", 9, "--h", 5,
                       "--path", 5, "--phases", 2)  # fmt: skip
    assert code == 0
    words = " ".join(out.split())
    assert "k/(k-h+1) 1.8000, the limit of cosigned Landlord, not of lru" in words
    assert "1 + (h-1)/m 5.0000, the limit of Landlord on such forests, not of lru" in words
    assert "496" not in out


def test_play_of_broken_off_phases_charges_what_was_requested(run: Run) -> None:
    """Phases of four requests at k = 9: one dear node of cost 100, three units."""
    options = ("--policy", "landlord", "--k", 9, "--h", 5, "--path", 5, "--phases", 2, "--limit", 4)
    document = json.loads(run("adversary", "play", *options, "--json")[1])
    assert [p["ended"] for p in document["phases"]] == [False, False]
    assert document["offline_cost"] == 2 * (100 + 3)
    out = run("adversary", "play", *options)[1]
    assert "2 of 2 phases were broken off at the limit of 4 requests" in " ".join(out.split())
    assert "496" not in out


@pytest.mark.parametrize(
    ("k", "h", "path", "message"),
    [(3, 4, 2, "expected 2..k"), (3, 2, 3, "expected 1..h"), (3, 1, 1, "expected 2..k")],
)
def test_play_out_of_range(run: Run, k: int, h: int, path: int, message: str) -> None:
    code, _, err = run("adversary", "play", "--policy", "lru", "--k", k, "--h", h,
                       "--path", path, "--phases", 1)  # fmt: skip
    assert code == 2
    assert message in err
