"""``adversary find``: exit codes, the witness in JSON, bad input."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from cache_worthy.oracles.optimal import optimal_cost
from cache_worthy.theory.algorithms import exact_cost
from cache_worthy.theory.instance import instance_from_mapping

Run = Callable[..., tuple[int, str, str]]
SMALLEST = ("--max-nodes", 4, "--max-requests", 6, "--k", 3, "--h", 2)


def test_witness_in_json_replays(run: Run) -> None:
    code, out, _ = run("adversary", "find", "--policy", "landlord", *SMALLEST, "--json")
    assert code == 1
    document = json.loads(out)
    witness = document["witness"]
    instance = instance_from_mapping(witness)
    assert document["status"] == "sat"
    assert (instance.n, len(instance.requests)) == (4, 6)
    assert exact_cost("landlord", instance, 3) == witness["online_cost"]
    assert optimal_cost(instance, 2) == witness["optimal_cost"]
    assert 2 * witness["online_cost"] > 3 * witness["optimal_cost"]


def test_whole_range_without_a_witness_exits_0(run: Run) -> None:
    code, out, _ = run("adversary", "find", "--policy", "landlord", "--max-nodes", 4,
                       "--max-requests", 4)  # fmt: skip
    assert code == 0
    assert "the whole range was searched" in out


def test_time_out_exits_3_with_what_was_covered(run: Run) -> None:
    code, out, _ = run("adversary", "find", "--policy", "cosigned", "--max-nodes", 6,
                       "--max-requests", 7, "--timeout", 0.2, "--json")  # fmt: skip
    assert code == 3
    document = json.loads(out)
    assert document["status"] == "timeout"
    assert document["witness"] is None
    assert document["complete_nodes"] < 6


def test_processes_stop_in_time_and_are_no_more_than_the_cpus(run: Run) -> None:
    code, out, _ = run("adversary", "find", "--policy", "cosigned", "--max-nodes", 5,
                       "--max-requests", 9, "--max-size", 9, "--timeout", 0.5,
                       "--jobs", 100_000)  # fmt: skip
    assert code == 3
    assert "time ran out" in out


def test_a_search_for_cycles_says_what_it_can_see(run: Run) -> None:
    options = ("--max-nodes", 3, "--max-requests", 3, "--cycle")
    code, out, _ = run("adversary", "find", "--policy", "gdsf", *options)
    assert code == 0
    assert "repeat after one or two cycles" in out
    assert "evict every node" in out
    assert "the whole range was searched" not in out
    document = json.loads(
        run("adversary", "find", "--policy", "landlord_keys", *options, "--json")[1]
    )
    assert document["qualification"].startswith("only courses that repeat")


def test_processes_find_the_same(run: Run) -> None:
    found = [
        json.loads(run("adversary", "find", "--policy", "landlord", *SMALLEST, "--json",
                       "--jobs", jobs)[1])["witness"]
        for jobs in (1, 2)
    ]  # fmt: skip
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "bad",
    [
        ("--policy", "belady"),
        ("--policy", "lru", "--k", 2, "--h", 3),
        ("--policy", "lru", "--max-nodes", 0),
        ("--policy", "lru", "--ratio", "1.5"),
        ("--policy", "lru", "--ratio", "1/2"),
        ("--policy", "lru", "--ratio", "9" * 5000),
        ("--policy", "lru", "--timeout", -1),
    ],
)
def test_bad_input_is_told_in_one_line(run: Run, bad: tuple[object, ...]) -> None:
    code, out, err = run("adversary", "find", "--max-nodes", 3, "--max-requests", 3, *bad)
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
