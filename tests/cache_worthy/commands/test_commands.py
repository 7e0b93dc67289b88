"""The command line: keys, registries, user policies, pipes."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cache_worthy.logs.session import read_log
from cache_worthy.measure.policies import listed
from cache_worthy.sim.blocks.policies import POLICIES as BLOCK_POLICIES
from cache_worthy.sim.forest import build_forest
from cache_worthy.sim.radix.policies import POLICIES
from cache_worthy.sim.radix.replay import replay
from cache_worthy.sim.sglang.strategies import STRATEGIES
from cache_worthy.sim.trace import paths_of

Run = Callable[..., tuple[int, str, str]]
Write = Callable[..., Path]

OWN = """
from cache_worthy.sim.radix.policies import EvictionPolicy

class Oldest(EvictionPolicy):
    "First in, first out."
    name = "oldest"

    def priority(self, node, clock):
        return node.key

    def on_insert(self, node, clock):
        node.key = clock

class Same(EvictionPolicy):
    "LRU written again."
    name = "same"
    def priority(self, node, clock):
        return node.key
    def on_insert(self, node, clock):
        node.key = clock
    on_hit = on_insert

class Broken(EvictionPolicy):
    name = "broken"
    def priority(self, node, clock):
        return 1 / 0

class Demanding(EvictionPolicy):
    name = "demanding"
    def __init__(self, argument):
        pass
    def priority(self, node, clock):
        return 0.0
"""


def test_replay_keys_and_values(run: Run, write: Write) -> None:
    """By hand: capacity 2 blocks; requests (1,2), (1,3), (1,2) under lru, 8B model.

    Blocks at depth 0, 1 cost 105 and 107 units of 2^36; request 2 recomputes block 3 and evicts
    2, request 3 recomputes 2. Hits 0 + 1 + 1 of 6; tokens 0 + 512 + 512 of 3 * 600.
    """
    unit = 2 * 32 * 4096 * 512**2
    rows = [{"hash_ids": ids, "input_length": 600} for ids in ([1, 2], [1, 3], [1, 2])]
    code, out, _ = run("replay", write(*rows), "--policy", "lru", "--capacity-blocks", 2, "--json")
    assert code == 0
    document = json.loads(out)
    expected = {
        "policy": "lru",
        "capacity_bytes": 2 * 64 * 2**20,
        "capacity_blocks": 2,
        "requests": 3,
        "block_references": 6,
        "distinct_blocks": 3,
        "total_cost": (105 + 107 + 107 + 107) * unit,
        "compulsory_cost": (105 + 107 + 107) * unit,
        "cost_ratio": 426 / 319,
        "evictions": 2,
        "block_hit_rate": 2 / 6,
        "token_hit_rate": 1024 / 1800,
    }
    assert {k: document[k] for k in expected} == expected


def test_the_last_block_is_cut_to_the_prompt(run: Run, write: Write) -> None:
    """A repeated prompt of 600 tokens hits 600 tokens, not two whole blocks."""
    rows = [{"hash_ids": [1, 2], "input_length": 600}] * 2
    _, out, _ = run("replay", write(*rows), "--policy", "lru", "--capacity-blocks", 2, "--json")
    assert json.loads(out)["token_hit_rate"] == 600 / 1200


def test_replay_text_and_json_agree(coarse: Run, sample: Path) -> None:
    argv = ("replay", sample, "--policy", "gdsf", "--capacity-fraction", "0.05")
    _, text, _ = coarse(*argv)
    _, out, _ = coarse(*argv, "--json")
    document = json.loads(out)
    table = dict(line.split(maxsplit=1) for line in text.splitlines())
    assert table["model"] == document["model"]["name"]
    assert table["covered"] == table["pins_path"] == "yes"
    for key, value in table.items():
        if key in ("model", "covered", "pins_path"):
            continue
        want = document[key]
        assert value == (f"{want:.4f}" if isinstance(want, float) else str(want))


def test_capacities_in_three_units_agree(coarse: Run, sample: Path) -> None:
    outs = []
    for option in (("gib", 53 / 16), ("blocks", 53), ("fraction", 0.25)):
        argv = ("--policy", "lru", f"--capacity-{option[0]}", option[1], "--json")
        outs.append(json.loads(coarse("replay", sample, *argv)[1]))
    assert outs[0] == outs[1] == outs[2]
    assert outs[0]["capacity_blocks"] == 53


def test_policies_lists_every_registry(run: Run) -> None:
    code, out, _ = run("policies")
    assert code == 0
    every = [(p.name, p.source, p.pins_path) for p in listed()]
    for registry in (POLICIES, BLOCK_POLICIES, STRATEGIES):
        assert set(registry) <= {name for name, *_ in every}
    assert len(every) == len(POLICIES) + len(BLOCK_POLICIES) + len(STRATEGIES)
    head, *entries = re.split(r"\n  (?=\S)", out.rstrip())
    assert head.split()[:3] == ["name", "engine", "pins"]
    for entry, (name, source, pins) in zip(entries, every, strict=True):
        assert entry.split()[0] == name
        assert source
        assert source in " ".join(entry.split())
        assert entry.split()[2] == ("pins" if pins else "-")
    document = json.loads(run("policies", "--json")[1])
    assert [(p["name"], p["source"], p["pins_path"]) for p in document["policies"]] == every


@pytest.mark.parametrize(
    "argv",
    [
        ["formats"],
        ["policies"],
        ["bound", "LOG", "--capacity-fraction", "0.1"],
        ["bound", "LOG", "--capacity-fraction", "0.1", "--rows", "chain"],
    ],
)
def test_lists_and_bounds_fit_a_terminal(run: Run, sample: Path, argv: list[str]) -> None:
    """80 columns; nothing is lost by wrapping, and there was something to wrap."""
    code, out, _ = run(*[sample if a == "LOG" else a for a in argv])
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    assert re.search(r"\n {2,}\S", out)


def test_your_own_policy(
    coarse: Run, sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine_for_test.py").write_text(OWN, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    own = "mine_for_test:Oldest"
    code, text, _ = coarse("analyze", sample, "--policy", own, "--policy", "mine_for_test:Same")
    assert code == 0
    assert f"{own} [!]" in text
    assert "outside oracle coverage" in " ".join(text.split())
    document = json.loads(
        coarse("analyze", sample, "--policy", own, "--policy", "mine_for_test:Same", "--json")[1]
    )
    assert document["policy"]["outside_oracle_coverage"] == [own, "mine_for_test:Same"]
    for row in document["policy"]["rows"]:
        costs = {c["policy"]: c["total_cost"] for c in row["cells"]}
        assert costs["mine_for_test:Same"] == costs["lru"]
        assert [c["policy"] for c in row["cells"] if not c["covered"]] == list(costs)[-2:]
    at = ("--capacity-fraction", "0.05", "--json")
    mine = json.loads(coarse("replay", sample, "--policy", "mine_for_test:Same", *at)[1])
    lru = json.loads(coarse("replay", sample, "--policy", "lru", *at)[1])
    assert mine.pop("covered") is False
    assert lru.pop("covered") is True
    assert {**mine, "policy": ""} == {**lru, "policy": ""}
    for name, words in (("Broken", "ZeroDivisionError"), ("Demanding", "argument")):
        for command in (("analyze",), ("replay", "--capacity-fraction", "0.05")):
            argv = (command[0], sample, "--policy", f"mine_for_test:{name}", *command[1:])
            code, out, err = coarse(*argv)
            assert (code, out) == (2, "")
            assert words in err
            assert err.count("\n") <= 2


def test_python_interface_of_the_readme() -> None:
    """Plain functions for size and cost run on node objects and agree with the tables."""
    from collections.abc import Sequence

    from cache_worthy.sim.cost import DEFAULT_MODEL
    from cache_worthy.sim.models.memory import kv_bytes_of
    from cache_worthy.sim.trace import BLOCK_SIZE_TOKENS, BlockId

    def size(block_ids: Sequence[BlockId], depth: int) -> int:
        return kv_bytes_of(DEFAULT_MODEL, len(block_ids) * BLOCK_SIZE_TOKENS)

    def cost(block_ids: Sequence[BlockId], depth: int) -> int:
        start = depth * BLOCK_SIZE_TOKENS
        return DEFAULT_MODEL.segment(start, start + len(block_ids) * BLOCK_SIZE_TOKENS)

    paths = [(1, 2, 3), (1, 4), (5,), (1, 2, 3)]
    capacity = 4 * 64 * 2**20
    for policy in POLICIES.values():
        plain = replay(paths, policy(), capacity, size_fn=size, cost_fn=cost)
        assert plain == replay(paths, policy(), capacity)


def test_completion_knows_the_commands(run: Run) -> None:
    for shell in ("bash", "zsh", "tcsh"):
        code, out, _ = run("completion", shell)
        assert code == 0
        assert "analyze" in out
        assert "--capacity-fraction" in out or "capacity-fraction" in out


@pytest.mark.traces
def test_quoted_interface_on_a_trace(traces: Path) -> None:
    """Section 12 of the reference document: landlord with 200 GiB on conversation."""
    paths = paths_of(read_log(traces / "conversation_trace.jsonl").requests)
    result = replay(paths, POLICIES["landlord"](), capacity=200 * 2**30)
    assert result.compulsory_cost == 2170010167351967744
    assert result == replay(build_forest(paths), POLICIES["landlord"](), 200 * 2**30)
