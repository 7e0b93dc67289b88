"""scripts/check/dallot.py holds, and fails where recursive LRU is another policy than LRU."""

from __future__ import annotations

from commands import Done, script

#: Recursive LRU with a clock that ticks every second request, so that two requests share a time.
SLOW = """
import cache_worthy.theory.algorithms.keyed as keyed

class Slow(keyed.RecursiveLru):
    def _key(self, u):
        clock, *rest = super()._key(u)
        return (clock // 2, *rest)

keyed.RecursiveLru = Slow
"""


def check(length: int, planted: str = "") -> Done:
    options = ("--nodes", "3", "--length", length, "--drawn", "150")
    return script("check/dallot.py", *options, planted=planted)


def test_it_holds() -> None:
    done = check(4)
    assert done.returncode == 0, done.stderr
    assert "FAILED" not in done.stdout


def test_a_difference_is_seen() -> None:
    done = check(3, SLOW)
    assert done.returncode == 1, done.stderr
    assert "FAILED 150 drawn forests" in done.stdout
