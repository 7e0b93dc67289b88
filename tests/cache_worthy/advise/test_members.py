"""The answers under one cost function: what is priced anew equals a replay (rank 5)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from analyses import REST

from cache_worthy.advise.analysis import Analysis, Options, analyze
from cache_worthy.advise.family import family
from cache_worthy.logs.session import read_log
from cache_worthy.measure import replays as replays_module
from cache_worthy.measure.replays import Replays
from cache_worthy.sim.cost import DEFAULT_MODEL, MODELS, BlockSize
from cache_worthy.sim.forest import build_forest
from cache_worthy.sim.radix.policies import POLICIES
from cache_worthy.sim.radix.policies.lru import LRU
from cache_worthy.sim.radix.replay import Engine, replay
from cache_worthy.sim.trace import paths_of

Run = Callable[..., tuple[int, str, str]]
Write = Callable[..., Path]
Paths = Sequence[Sequence[int]]

ENGINES: tuple[Engine, ...] = ("reference", "heap", "auto")


def sample_paths(sample: Path) -> list[tuple[int | str, ...]]:
    return list(paths_of(read_log(sample, block_size=512, chars_per_token=4.0).requests))


def check_engines(paths: Sequence[Sequence[int | str]]) -> int:
    """Every policy under every member: what the band used equals the reference engine."""
    forest = build_forest(paths)
    members = family(DEFAULT_MODEL, 512, depth=forest.depth)
    base = Replays(forest, members[0].size, members[0].cost)
    evictions = 0
    for member in members[1:]:
        mine = Replays(forest, member.size, member.cost, base=base)
        for blocks in (forest.depth, forest.depth + 5):
            capacity = blocks * member.size.block
            for name, policy in POLICIES.items():
                used = mine.run(name, capacity)
                for engine in ENGINES:
                    new = replay(paths, policy(), capacity, member.size, member.cost, engine)
                    if (new.matched, new.total_cost) != (tuple(used.matched), used.total_cost):
                        raise AssertionError(f"{member.name}, {name}, {engine}, {blocks}")
                    assert new.compulsory_cost == used.compulsory_cost
                    assert new.evicted_size == used.evicted_size
                    assert new.resident_size == used.resident_size
                evictions += used.evictions
        assert mine.count < 2 * len(POLICIES)
    return evictions


def test_priced_anew_equals_a_replay_on_every_engine(sample: Path) -> None:
    assert check_engines(sample_paths(sample)) > 1000


WEIGH_COSTS = ("landlord", "freq_landlord", "gdsf", "cost_only", "cosigned")


@pytest.mark.parametrize("policy", WEIGH_COSTS)
def test_a_policy_that_weighs_costs_may_not_be_priced_anew(
    monkeypatch: pytest.MonkeyPatch, sample: Path, policy: str
) -> None:
    """The check above bites for a policy that looks at costs; such a one is not in the list."""
    assert policy not in replays_module.WEIGHS
    monkeypatch.setitem(replays_module.WEIGHS, policy, frozenset())
    with pytest.raises(AssertionError, match=policy):
        check_engines(sample_paths(sample))


def analysis_of(file: Path, **options: Any) -> Analysis:
    skip = frozenset(REST.split(","))
    return analyze(read_log([str(file)]), Options(skip=skip, **options))


def test_a_user_policy_is_replayed_under_every_member(sample: Path) -> None:
    """It may look at anything, even where it inherits from a policy that does not."""

    class Mine(LRU):
        name = "mine"

        def priority(self, node: Any, clock: int) -> float:
            return float(node.cost)

    without = analysis_of(sample).band
    band = analysis_of(sample, own_policies={"mine": Mine}).band
    assert band is not None
    assert without is not None
    rows = len(band.members[0].rows)
    assert band.replays == without.replays + 4 * rows
    assert all("mine" in row.cost_ratios for m in band.members for row in m.rows)


def test_a_shipped_model_under_another_name_is_listed_once() -> None:
    other = dataclasses.replace(DEFAULT_MODEL, layers=1)
    assert [m.name for m in family(other, 512, depth=4)][-2:] == [
        f"{DEFAULT_MODEL.name} (shipped)",
        "Llama-3.1-70B",
    ]
    renamed = dataclasses.replace(DEFAULT_MODEL, name="mine")
    names = [m.name for m in family(renamed, 512, depth=4)]
    assert names == ["mine", "attention x0.5", "attention x2", "linear only", "Llama-3.1-70B"]
    assert [m.name for m in family(MODELS["Llama-3.1-70B"], 512, depth=4)][-1] == "Llama-3.1-8B"
    assert family(renamed, 512, depth=4)[1].cost.cumulative(2) == [
        n * 512 * DEFAULT_MODEL.linear + (n * 512) ** 2 * DEFAULT_MODEL.quadratic // 2
        for n in range(3)
    ]
    assert BlockSize().block == family(renamed, 512, depth=4)[1].size.block
