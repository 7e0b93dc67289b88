"""A policy of a stranger's, with and without a key rule, on logs large enough for machine code.

It runs on an engine that can run it, wherever it comes from: named on the command line, or in the
registry by one line.
"""

from __future__ import annotations

import dataclasses
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from radix_cases import growing
from toy_policies import Shallow, Untouched

import cache_worthy
from cache_worthy.measure.replays import Replays
from cache_worthy.sim.cost import BlockCost, BlockSize
from cache_worthy.sim.forest import Forest, build_forest
from cache_worthy.sim.radix import choose, compiled
from cache_worthy.sim.radix.policies import POLICIES, EvictionPolicy
from cache_worthy.sim.radix.replay import Engine, replay
from cache_worthy.workers import Threads

Run = Callable[..., tuple[int, str, str]]
Write = Callable[..., Path]

TOYS: tuple[type[EvictionPolicy], ...] = (Untouched, Shallow)
SIZE = BlockSize()


@pytest.fixture
def machine_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is there, whether or not other tests have loaded it."""
    if not choose.available():
        pytest.skip("numba is not installed")
    monkeypatch.setattr(choose, "_loaded", False)
    choose.expect_many(choose.MANY_FROM)


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """The toys in the registry."""
    for toy in TOYS:
        monkeypatch.setitem(POLICIES, toy.name, toy)


@pytest.fixture(scope="module")
def forest() -> Forest:
    return build_forest(growing(5, choose.MANY_FROM))


@pytest.fixture
def log(write: Write) -> Path:
    rows = growing(6, choose.MANY_FROM)
    return write(*({"hash_ids": row, "input_length": 512 * len(row)} for row in rows))


@pytest.mark.parametrize("toy", TOYS)
def test_every_engine_that_can_run_it_agrees(toy: type[EvictionPolicy]) -> None:
    for seed in range(4):
        small = build_forest(growing(seed, 150))
        capacity = (small.depth + 7) * SIZE.block
        engines: list[Engine] = ["reference", "heap", "auto"]
        engines += ["interned", "compiled"] if toy.key_rule else []
        first, *others = [replay(small, toy(), capacity, engine=engine) for engine in engines]
        assert all(other == first for other in others)
        assert first.evictions


@pytest.mark.usefixtures("machine_code")
@pytest.mark.parametrize("toy", TOYS)
def test_a_large_log_forces_no_engine_on_it(
    toy: type[EvictionPolicy], forest: Forest, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert choose.wanted(forest.requests)
    used: list[str] = []
    original = compiled._run

    def run(name: str, *arguments: Any) -> Any:
        used.append(name)
        return original(name, *arguments)

    monkeypatch.setattr(compiled, "_run", run)
    capacity = (forest.depth + 20) * SIZE.block
    assert replay(forest, toy(), capacity) == replay(forest, toy(), capacity, engine="heap")
    assert used == (["rules"] if toy.key_rule else [])


@pytest.mark.usefixtures("machine_code", "registered")
@pytest.mark.parametrize("chosen", [["toy_depth", "lru"], ["toy_depth", "lru", "toy_fifo"]])
def test_replays_of_a_registered_one(
    chosen: list[str], forest: Forest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In threads where all of them are machine code, else one by one: nothing fails."""
    replays = Replays(forest, SIZE, BlockCost())
    pairs = [(p, (forest.depth + n) * SIZE.block) for n in (9, 60) for p in chosen]
    assert isinstance(replays._where(pairs), Threads) == ("toy_fifo" not in chosen)
    threads: set[Any] = set()
    original = compiled._run

    def run(*words: Any) -> Any:
        threads.add(threading.current_thread())
        return original(*words)

    monkeypatch.setattr(compiled, "_run", run)
    replays.ahead(pairs)
    assert (threads == {threading.main_thread()}) == ("toy_fifo" in chosen)
    for policy, capacity in pairs:
        found = replays.run(policy, capacity)
        expected = replay(forest, POLICIES[policy](), capacity, engine="heap")
        assert dataclasses.replace(found, matched=tuple(found.matched)) == expected


@pytest.mark.usefixtures("machine_code")
@pytest.mark.parametrize("toy", TOYS)
def test_named_on_the_command_line(toy: type[EvictionPolicy], log: Path, run: Run) -> None:
    name = f"toy_policies:{toy.__name__}"
    code, out, err = run("replay", log, "--policy", name, "--capacity-fraction", 0.1, "--json")
    assert code == 0, err
    document = json.loads(out)
    assert document["covered"] is False
    read = cache_worthy.read_log(log)
    from_python = cache_worthy.replay(read, toy, capacity_fraction=0.1, per_request=False)
    assert {**document, "policy": toy.name} == from_python.to_dict()
    skip = "bound,band,splits,tails,coldstart,causes,pinsim"
    code, out, err = run("analyze", log, "--policy", name, "--skip", skip, "--json")
    assert code == 0, err
    assert json.loads(out)["policy"]["outside_oracle_coverage"] == [name]


@pytest.mark.usefixtures("machine_code", "registered")
def test_in_the_registry(log: Path, run: Run) -> None:
    """Listed, replayed and in every table of an analysis."""
    names = {toy.name for toy in TOYS}
    assert names <= {p["name"] for p in json.loads(run("policies", "--json")[1])["policies"]}
    for name in names:
        code, out, err = run("replay", log, "--policy", name, "--capacity-fraction", 0.1, "--json")
        assert code == 0, err
        assert json.loads(out)["covered"] is True
    code, out, err = run("analyze", log, "--no-bound", "--skip", "splits,band", "--json")
    assert code == 0, err
    assert names <= set(json.loads(out)["policy"]["policies"])
