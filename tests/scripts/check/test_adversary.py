"""scripts/check/adversary.py: every check holds, and a wrong closed form is seen."""

from __future__ import annotations

import json

from commands import script

#: One cheap miss per phase: right for large k, wrong at k = 2.
WRONG = """
import cache_worthy.theory.search.adversary as adversary

adversary.lru_cycle_optimum = lambda k, cost, phases: cost + k + phases - 1
"""


def test_all_checks_hold() -> None:
    done = script("check/adversary.py", "--adaptive", "4", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["ok"] is True
    assert len(document["checks"]) == 6
    assert all(c["cases"] > 100 for c in document["checks"])


def test_a_wrong_closed_form_fails() -> None:
    done = script("check/adversary.py", planted=WRONG)
    assert done.returncode == 1, done.stderr
    assert "FAILED the exhaustive optimum" in done.stdout
    assert "FAILED Belady" in done.stdout
