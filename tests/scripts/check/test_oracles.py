"""The oracle check finds agreement, and a wrong oracle."""

from __future__ import annotations

from commands import script

#: An exhaustive optimum that is one too small wherever it is above compulsory.
LESS = """
import cache_worthy.oracles.optimum.optimal as optimal

right = optimal.optimal_cost

def less(instance, capacity):
    cost = right(instance, capacity)
    return cost if cost == instance.compulsory else cost - 1

optimal.optimal_cost = less
"""

#: One that never answers.
NEVER = """
import time
import cache_worthy.oracles.optimum.optimal as optimal

optimal.optimal_cost = lambda instance, capacity: time.sleep(600)
"""


def test_agrees_on_a_small_sample() -> None:
    done = script("check/oracles.py", "--instances", "8", "--seed", "4", "--check")
    assert done.returncode == 0, done.stderr
    assert "instances, optimum above compulsory           8\n" in done.stdout
    assert "disagreements                                 0\n" in done.stdout


def test_a_wrong_optimum_is_a_disagreement() -> None:
    options = ("--instances", "3", "--seed", "4", "--check")
    done = script("check/oracles.py", *options, planted=LESS)
    assert done.returncode == 1
    assert "dynamic program" in done.stderr


def test_reach_names_the_largest_instance_done() -> None:
    lines = script("check/oracles.py", "--reach", "60", "--sizes", "6").stdout.splitlines()
    assert len(lines) == 6
    assert all("12 requests" in line for line in lines)


def test_a_solver_that_never_answers_is_ended() -> None:
    done = script("check/oracles.py", "--reach", "3", "--sizes", "6", planted=NEVER)
    assert done.returncode == 0, done.stderr
    for line in done.stdout.splitlines():
        assert line.endswith("none") == ("dynamic program" in line), line
