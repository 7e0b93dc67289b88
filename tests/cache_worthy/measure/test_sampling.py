"""Samples by subtree: by hand, F = 1 is the log, both ends of a curve exact, what is refused."""

from __future__ import annotations

import hashlib
import json
import math
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from cache_worthy.documents import to_json
from cache_worthy.errors import UsageError
from cache_worthy.measure import sampling
from cache_worthy.measure.replays import Replays
from cache_worthy.measure.sampling import (
    GROUPS,
    Sample,
    SampledReplays,
    cost_ratio,
    draw,
    half_width,
    saving,
    wider_side,
)
from cache_worthy.sim.cost import BlockCost, BlockSize
from cache_worthy.sim.forest import build_forest
from cache_worthy.sim.radix.policies import POLICIES

SKIP = "bound,band,splits"
Run = Callable[..., tuple[int, str, str]]
Path_ = tuple[int, ...]


def conversations(number: int, seed: int, root: bool = True) -> list[Path_]:
    """Conversations that grow block by block, interleaved, under one root or none."""
    rng = random.Random(seed)
    paths: list[Path_] = []
    for c in range(number):
        turns = min(1 + int(rng.expovariate(0.5)), 7)
        base = (0,) if root else ()
        paths += [(*base, *range(1000 * c + 1, 1000 * c + 2 + 2 * t)) for t in range(turns)]
    order = sorted((rng.random(), i) for i in range(len(paths)))
    return [paths[i] for _, i in order]


def first_own(path: Path_, root: bool) -> int:
    return path[1] if root else path[0]


def hashed(ids: Path_, seed: int) -> int:
    """The documented hash, written anew."""
    above = str(seed).encode()
    for block in ids:
        above = hashlib.blake2b(above + str(block).encode(), digest_size=16).digest()
    return int.from_bytes(above[:8], "big")


@pytest.mark.parametrize("root", [True, False])
@pytest.mark.parametrize("seed", [0, 3])
def test_whole_subtrees_are_kept_by_the_hash_of_their_first_block(root: bool, seed: int) -> None:
    paths = conversations(400, 1, root)
    forest = build_forest(paths)
    sample = draw(forest, 0.3, seed)
    prefix = (0,) if root else ()
    wanted = [p for p in paths if hashed((*prefix, first_own(p, root)), seed) < int(0.3 * 2**64)]
    kept = [tuple(forest.block_ids[b] for b in row) for _, row in sample.rows]
    assert kept == wanted
    assert sample.subtrees == 400
    assert sample.kept_subtrees == len({first_own(p, root) for p in wanted})
    assert sample.shared == sample.kept_shared == int(root)
    parts = [
        hashed((*prefix, first_own(p, root)), seed) * GROUPS // int(0.3 * 2**64) for p in wanted
    ]
    assert [part for part, _ in sample.rows] == parts
    assert set(parts) == set(range(GROUPS))
    for left_out in range(GROUPS):
        less = sample.without(left_out)
        assert less.rows == tuple(row for row in sample.rows if row[0] != left_out)
        assert less.forest.requests == len(less.rows)
        assert less.kept_shared == int(root)
    again = draw(build_forest(paths[::-1]), 0.3, seed)
    assert sorted(sample.forest.length) == sorted(again.forest.length)
    assert again.kept_subtrees == sample.kept_subtrees


def test_a_block_that_many_pass_is_shared_however_deep() -> None:
    # Two system prompts of three and two blocks; below each, subtrees of one request.
    paths = [(1, 2, 3, 100 + i) for i in range(150)] + [(7, 8, 1000 + i) for i in range(150)]
    sample = draw(build_forest(paths), 0.5)
    assert (sample.shared, sample.kept_shared, sample.subtrees) == (5, 5, 300)


def by_hand(**changes: int) -> Sample:
    """10 shared of 110 blocks; the sample has 8 of them and 20 of the other 100, depth 12."""
    rows = [(0, tuple(range(12)))] + [(1, (0, 20 + i)) for i in range(16)]
    forest = build_forest(path for _, path in rows)
    given = {"shared": 10, "kept_shared": 8, "log_blocks": 110, "log_depth": 12, **changes}
    return Sample(
        forest=forest,
        fraction=0.2,
        seed=0,
        subtrees=50,
        kept_subtrees=9,
        reusing=3,
        rows=tuple(rows),
        shared_set=frozenset(range(8)),
        **given,
    )


def test_capacities_by_hand() -> None:
    sample = by_hand()
    assert sample.own == 28 - 8
    assert sample.scaled(110) == 28  # the working set becomes the sample's own
    assert sample.scaled(10) == 8  # what is shared keeps its room
    assert sample.scaled(60) == 8 + 50 * 20 // 100
    # The sample's deepest request needs 12 = 8 + 4 blocks, so 4 * 100 / 20 = 20 beyond the shared.
    assert sample.least() == 30
    assert sample.scaled(30) == 12
    assert sample.scaled(29) == 11
    assert by_hand(log_depth=50).least() == 50


def test_with_everything_kept_every_estimate_is_the_replay() -> None:
    forest = build_forest(conversations(60, 2))
    replays = Replays(forest, BlockSize(), BlockCost())
    sampled = SampledReplays(replays, draw(forest, 1.0), parts=False)
    for policy in POLICIES:
        for blocks in {forest.depth, forest.distinct // 3, forest.distinct}:
            one = replays.run(policy, blocks * replays.size.block)
            two = sampled.run(policy, blocks * replays.size.block)
            for name in ("total_cost", "compulsory_cost", "hit_blocks", "evictions",
                         "evicted_once", "evicted_size", "capacity", "cost_ratio"):  # fmt: skip
                assert getattr(one, name) == getattr(two, name), (policy, blocks, name)


def test_room_for_everything_costs_the_compulsory_part_exactly() -> None:
    forest = build_forest(conversations(600, 3))
    sampled = SampledReplays(Replays(forest, BlockSize(), BlockCost()), draw(forest, 0.2))
    result = sampled.run("lru", sampled.working_set)
    assert result.total_cost == result.compulsory_cost
    assert result.hit_blocks == forest.references - forest.distinct
    assert sampled.errors([("lru", sampled.working_set)], cost_ratio) == [0.0]


def _inside(scaled: Callable[[Sample, int], int] | None, monkeypatch: pytest.MonkeyPatch) -> float:
    """Share of capacities and draws at which the truth lies inside the printed error."""
    if scaled is not None:
        monkeypatch.setattr(Sample, "scaled", scaled)
    forest = build_forest(conversations(800, 4))
    replays = Replays(forest, BlockSize(), BlockCost())
    inside = []
    for seed in range(3):
        sampled = SampledReplays(replays, draw(forest, 0.2, seed))
        block = replays.size.block
        pairs = [("lru", forest.distinct // n * block) for n in (2, 4, 8, 16)]
        assert min(c for _, c in pairs) >= sampled.least
        for (policy, c), error in zip(pairs, sampled.errors(pairs, cost_ratio), strict=True):
            estimate = cost_ratio(sampled, policy, c)
            inside.append(abs(estimate - cost_ratio(replays, policy, c)) <= error)
    return sum(inside) / len(inside)


def test_the_truth_lies_inside_and_not_with_the_wrong_capacity(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert _inside(None, monkeypatch) >= 0.8
    assert _inside(lambda sample, blocks: blocks, monkeypatch) <= 0.5


def test_jackknife_by_hand() -> None:
    values = [1.0] * 9 + [2.0]
    # Around 1.1: squares 9 * 0.01 + 0.81 = 0.9; around 1: 1; times 9/10.
    assert half_width(values, 1.1, 0.0) == pytest.approx(2.262 * 0.81**0.5)
    assert half_width(values, 1.0, 0.0) == pytest.approx(2.262 * 0.9**0.5)
    assert half_width(values, 1.1, 0.75) == pytest.approx(2.262 * 0.81**0.5 / 2)
    assert half_width(values, 1.1, 1.0) == 0.0


def test_the_wider_side_by_hand() -> None:
    # A fifth of the avoidable half is lost, give or take a tenth of it: odds 1/4, their logarithm
    # give or take 0.1 / 0.16 = 5/8, so the upper end is 0.25 e^(5/8) / (1 + 0.25 e^(5/8)).
    odds = 0.25 * math.e**0.625
    assert wider_side(1.1, 0.05, 1.5) == pytest.approx((odds / (1 + odds) - 0.2) * 0.5)
    assert wider_side(1.4, 0.05, 1.5) == pytest.approx((odds / (1 + odds) - 0.2) * 0.5)  # mirrored
    assert wider_side(1.1, 1e9, 1.5) == pytest.approx(0.4)  # never beyond what can be
    assert wider_side(1.0, 0.1, 1.5) == wider_side(1.6, 0.1, 1.5) == 0.1  # no odds there


def test_the_wider_side_holds_more_often_where_few_subtrees_lose() -> None:
    """Of 3,000 subtrees three in a hundred lose anything, with a heavy tail; no cache is played."""
    rng = random.Random(0)
    subtrees = []
    for _ in range(3000):
        kept = 1 + rng.paretovariate(2)
        lost = rng.paretovariate(1.3) if rng.random() < 0.03 else 0.0
        subtrees.append((kept + lost, lost))

    def ratio(avoidable: float, lost: float) -> float:
        return 1 + 0.5 * lost / avoidable

    truth = ratio(*(sum(column) for column in zip(*subtrees, strict=True)))
    plain = wider = 0
    for _ in range(100):
        parts = [[0.0, 0.0] for _ in range(GROUPS)]
        for avoidable, lost in subtrees:
            if (drawn := rng.random()) < 0.1:
                part = parts[int(drawn * 100)]
                part[0] += avoidable
                part[1] += lost
        avoidable, lost = (sum(column) for column in zip(*parts, strict=True))
        estimate = ratio(avoidable, lost)
        half = half_width([ratio(avoidable - a, lost - b) for a, b in parts], estimate, 0.1)
        plain += abs(estimate - truth) <= half
        wider += abs(estimate - truth) <= wider_side(estimate, half, 1.5)
    assert plain <= 85
    assert wider >= 88


def test_a_sample_of_shared_blocks_only_is_refused() -> None:
    def kept(block: int) -> bool:
        return hashed((block,), 0) < 2**63

    paths: list[Path_] = [
        (block,) for block in range(95) for _ in range(21)
    ]  # more than 1% pass each
    away = next(block for block in range(1000, 2000) if not kept(block))
    forest = build_forest([*paths, (away, 1), (away, 2)])
    sample = draw(forest, 0.5)
    assert sample.own == 0
    with pytest.raises(UsageError, match="nothing but blocks that more than 1%"):
        SampledReplays(Replays(forest, BlockSize(), BlockCost()), sample)


def test_what_no_kept_subtree_shows_is_left_open() -> None:
    """At a capacity under which the sample loses nothing: the rule of three, by hand."""
    paths: list[Path_] = [(c, c + 1000) for c in range(500) for _ in range(2)]
    paths += [(c + 5000,) for c in range(3000)]  # alone: no reuse to lose
    forest = build_forest(paths)
    replays = Replays(forest, BlockSize(), BlockCost())
    sample = draw(forest, 0.36)
    sampled = SampledReplays(replays, sample)
    reusing = sum(hashed((c,), 0) < int(0.36 * 2**64) for c in range(500))
    assert sample.reusing == reusing < sample.kept_subtrees
    capacity = forest.distinct // 2 * replays.size.block
    avoidable = replays.uncached_cost / replays.compulsory_cost - 1
    (error,) = sampled.errors([("lru", capacity)], cost_ratio)
    assert cost_ratio(sampled, "lru", capacity) == 1
    assert error == pytest.approx(3 / reusing * 0.8 * avoidable)


def test_counts_are_scaled_to_the_log() -> None:
    forest = build_forest(conversations(800, 4))
    replays = Replays(forest, BlockSize(), BlockCost())
    sampled = SampledReplays(replays, draw(forest, 0.3), parts=False)
    for share in (0.1, 0.3, 0.5):
        capacity = int(share * forest.distinct) * replays.size.block
        one, two = replays.run("lru", capacity), sampled.run("lru", capacity)
        for name in ("hit_blocks", "evictions", "evicted_once", "evicted_size", "resident_size"):
            assert getattr(two, name) == pytest.approx(getattr(one, name), rel=0.3), (share, name)
        assert two.resident_size <= capacity


def test_only_costs_are_judged_on_the_log_odds() -> None:
    forest = build_forest(conversations(800, 4))
    sampled = SampledReplays(Replays(forest, BlockSize(), BlockCost()), draw(forest, 0.3))
    capacity = forest.distinct // 8 * sampled.size.block
    most = sampled.uncached_cost / sampled.compulsory_cost
    for value in (cost_ratio, saving):
        estimate = value(sampled, "gdsf", capacity)
        half = half_width([value(p, "gdsf", capacity) for p in sampled.parts], estimate, 0.3)
        wider = wider_side(estimate, half, most)
        (error,) = sampled.errors([("gdsf", capacity)], value)
        wanted = wider if value is cost_ratio else half
        assert error == max(wanted, sampled.unseen(capacity))
        if value is cost_ratio:
            assert error > 1.005 * half


def test_savings_are_of_the_log() -> None:
    forest = build_forest(conversations(300, 5))
    replays = Replays(forest, BlockSize(), BlockCost())
    capacity = forest.distinct // 4 * replays.size.block
    base, other = (replays.run(p, capacity).total_cost for p in ("lru", "landlord"))
    assert saving(replays, "landlord", capacity) == (base - other) / base


@pytest.fixture
def log(write: Callable[..., Path]) -> Path:
    return write(
        *(
            {"timestamp": i, "input_length": 512 * len(p), "output_length": 1, "hash_ids": p}
            for i, p in enumerate(conversations(500, 6))
        )
    )


def test_a_whole_sample_changes_nothing_but_its_own_section(run: Run, log: Path) -> None:
    argv = ("analyze", log, "--json", "--skip", SKIP)
    plain, whole = run(*argv), run(*argv, "--sample", "1")
    assert plain[0] == whole[0] == 0
    document = json.loads(whole[1])
    section = document["sample"]
    assert section["fraction"] == 1
    assert section["scale"] == 1
    assert section["kept_blocks"] == section["blocks"]
    assert section["not_answered"] == []
    assert {point["error"] for point in section["curve"]} == {0.0}
    assert to_json({**document, "sample": None}) == plain[1]


def test_every_estimated_part_says_so(run: Run, log: Path) -> None:
    page = log.with_suffix(".html")
    code, out, _ = run("analyze", log, "--sample", "0.3", "--html", page)
    assert code == 0
    head = " ".join(out.split("WORKLOAD")[0].split())
    assert "ESTIMATED from --sample 0.3" in head
    assert "the least memory and the pins are of the whole log" in head
    assert "CAPACITY under lru, the deployed default, from a sample" in " ".join(out.split())
    assert " of cost\n" in out
    assert "POLICY   from a sample" in out
    assert "QUESTION 4       NOT ANSWERED" in out
    verdicts = out.split("QUESTION 5")[1].split("PIN")[0]
    columns = [line for line in verdicts.splitlines() if line[2:3].isdigit()]
    assert " ".join(verdicts.split()).count("(from a sample") == len(columns) > 1
    assert [line for line in out.splitlines() if len(line) > 80] == []
    html = page.read_text(encoding="utf-8")
    assert html.count("rom a sample") >= 3 + len(columns)
    assert "ESTIMATED from --sample 0.3" in html
    document = json.loads(run("analyze", log, "--sample", "0.3", "--json")[1])
    whole = json.loads(run("analyze", log, "--skip", SKIP, "--json")[1])
    for exact in document["sample"]["whole_log"]:
        assert document[exact] == whole[exact]
    for name in document["sample"]["not_answered"]:
        assert document.get(name) is None
    assert [p["bytes"] for p in document["sample"]["curve"]] == [
        p["bytes"] for p in document["capacity"]["points"]
    ]
    assert document["capacity"]["points"][0]["bytes"] == document["sample"]["least_bytes"]


def test_a_comparison_says_so(run: Run, log: Path, tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("sample.json", "whole.json")]
    for file, option in zip(files, (("--sample", "0.3"), ("--skip", SKIP)), strict=True):
        assert run("analyze", log, "--json", "-o", file, *option)[0] == 0
    for pair in (files, files[:1] * 2):
        code, out, _ = run("compare", *pair)
        assert code == 0
        assert "sample: 0.3 in A" in " ".join(out.split())
        assert "are estimates" in " ".join(out.split())


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--sample", "0"), "expected a number > 0 and <= 1"),
        (("--sample", "1.01"), "expected a number > 0 and <= 1"),
        (("--sample", "nan"), "expected a number > 0 and <= 1"),
        (("--sample", "0.01"), "expected at least 100 in 30"),
        (("--sample", "0.3", "--engine", "vllm"), "not with --engine vllm"),
        (("--sample", "0.3", "--capacity-fraction", "0.02"), "what --sample 0.3 can answer"),
    ],
)
def test_what_is_refused(run: Run, log: Path, options: tuple[str, ...], told: str) -> None:
    code, out, err = run("analyze", log, *options)
    assert (code, out) == (2, "")
    assert told in err
    assert len(err.splitlines()) <= 2


def test_samples_that_say_nothing_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="no subtree to leave out"):
        draw(build_forest([(1, 2)] * 200), 0.5)
    alone = build_forest([(i,) for i in range(400)])
    with pytest.raises(UsageError, match="no block comes twice"):
        SampledReplays(Replays(alone, BlockSize(), BlockCost()), draw(alone, 0.9))
    assert sampling.STUDENT_T == 2.262


@pytest.mark.traces
@pytest.mark.parametrize("name", ["conversation", "synthetic"])
def test_the_truth_lies_inside_on_the_traces(run: Run, traces: Path, name: str) -> None:
    """Not on every draw: seed 0 at F = 0.1; scripts/figures/sampling_error.py says how often."""
    file = traces / f"{name}_trace.jsonl"
    document = json.loads(run("analyze", file, "--sample", "0.1", "--json")[1])
    subtrees = {"conversation": 7373, "synthetic": 2211}[name]
    assert document["sample"]["subtrees"] == subtrees
    from cache_worthy.logs.session import read_log
    from cache_worthy.sim.trace import paths_of

    forest = build_forest(paths_of(read_log([str(file)]).requests))
    replays = Replays(forest, BlockSize(), BlockCost())
    points = document["sample"]["curve"]
    inside = [
        abs(cost_ratio(replays, "lru", p["bytes"]) - p["cost_ratio"]) <= p["error"] for p in points
    ]
    assert sum(inside) >= 0.7 * len(inside)
