"""Mistakes planted in the text of cosigned, each noticed on small forests (rank 5)."""

from __future__ import annotations

import types
from pathlib import Path

import pytest
from radix_cases import random_forest

from cache_worthy.sim.cost import TableCost
from cache_worthy.sim.errors import InvariantError
from cache_worthy.sim.radix.policies import cosigned
from cache_worthy.sim.radix.policies.base import EvictionPolicy
from cache_worthy.sim.radix.replay import replay

TEXT = Path(cosigned.__file__).read_text(encoding="utf-8")

MUTANTS = {
    "blocks without a cost divide by it": ("if whole:", "if True:"),
    "a split forgets whom it pays for": ("below.carry = above.rate", "below.carry = above.carry"),
    "children are kept in no order": ("siblings[node.id] = u", "siblings.setdefault(0, u)"),
    "a hit node keeps its entry": ("        u.entry = 0\n        u.touched", "        u.touched"),
    "a cosigner is not let off": ("self._add(w, -u.rate)", "pass"),
    "the credit of a split is lost": (
        "below.credit = above.credit * lower.cost / whole",
        "pass",
    ),
    "the oldest account at a level goes last": (
        "(run_out, u.touched, -u.node.depth, u.entry, u)",
        "(run_out, -u.touched, -u.node.depth, u.entry, u)",
    ),
    "a bankrupt parent keeps its debt": (
        "p.credit = self._number(0)",
        "p.credit = self._number(1)",
    ),
    "the level does not rise": ("self.level = run_out", "pass"),
    "an entry that was replaced counts": ("if entry[4].entry == entry[3]:", "if entry[4].entry:"),
    "a split does not unpin what was keyed whole": (
        "size, cost = split[1].size, cost + split[1].cost",
        "pass",
    ),
}


def planted(old: str = "", new: str = "") -> type[EvictionPolicy]:
    """The policy with one piece of its text changed."""
    changed = TEXT.replace(old, new) if old else TEXT
    assert (changed != TEXT) == bool(old)
    module = types.ModuleType(cosigned.__name__)  # dataclasses look it up
    exec(compile(changed, "cosigned", "exec"), module.__dict__)  # noqa: S102
    policy: type[EvictionPolicy] = module.__dict__["Cosigned"]
    return policy


def differs(policy: type[EvictionPolicy]) -> bool:
    """Whether the heap under ``policy`` differs from the linear scan under the shipped one."""
    for seed in range(6):
        forest = random_forest(seed, 150)
        sizes = list(range(forest.depth + 1))
        # The first table makes ties, the last two blocks without a cost.
        for table in (
            sizes,
            [n * n * 7 + n for n in sizes],
            [n // 2 for n in sizes],
            [0] * len(sizes),
        ):
            for room in (0, 9):
                where = forest.depth + room, TableCost(tuple(sizes)), TableCost(tuple(table))
                expected = replay(forest, cosigned.Cosigned(), *where, engine="reference")
                try:
                    if replay(forest, policy(), *where, engine="heap") != expected:
                        return True
                except (InvariantError, ZeroDivisionError, KeyError, AttributeError):
                    return True
    return False


def test_the_text_itself_agrees() -> None:
    assert not differs(planted())


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mistake_shows(name: str) -> None:
    assert differs(planted(*MUTANTS[name]))
