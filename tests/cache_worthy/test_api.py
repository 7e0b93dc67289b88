"""From Python: the figures of the command line, field by field, on every example log."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from toy_policies import Untouched

import cache_worthy
from cache_worthy.errors import UsageError
from cache_worthy.sim import forest
from cache_worthy.sim.errors import InputError
from cache_worthy.sim.radix.policies import POLICIES

Run = Callable[..., tuple[int, str, str]]
Write = Callable[..., Path]

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
LOGS = sorted(p for p in EXAMPLES.rglob("*") if p.is_file() and p.suffix != ".md")
SECTIONS = "bound,band,splits"


def printed(run: Run, *argv: object) -> dict[str, Any]:
    code, out, err = run(*argv, "--json")
    assert code == 0, err
    document = json.loads(out)
    assert isinstance(document, dict)
    return document


@pytest.fixture(params=[*LOGS, "gz", "16"], ids=lambda p: getattr(p, "name", p))
def case(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, list[object], Any]:
    """A log, how the command is told to read it, and the same from Python."""
    if request.param == "gz":
        path = tmp_path / "sample_log.jsonl.gz"
        path.write_bytes(gzip.compress((EXAMPLES / "sample_log.jsonl").read_bytes()))
        return path, [], cache_worthy.read_log(path)
    if request.param == "16":
        path = EXAMPLES / "formats" / "vllm.log"
        return path, ["--block-size", 16], cache_worthy.read_log(path, block_size=16)
    return request.param, [], cache_worthy.read_log(request.param)


api: Any = cache_worthy  # for arguments of no right type

Case = tuple[Path, list[object], Any]


@pytest.mark.parametrize(
    ("policy", "parameters"),
    [
        ("landlord", {}),
        ("vllm_lru", {"partial_blocks": "drop"}),
        ("flat_lru", {}),
        ("sglang_slru", {"policy_config": '{"protected_threshold": 3}'}),
    ],
)
@pytest.mark.filterwarnings("ignore:block ids do not fix")
def test_replay(case: Case, policy: str, parameters: dict[str, Any], run: Run) -> None:
    path, reading, log = case
    options = [w for k, v in parameters.items() for w in (f"--{k.replace('_', '-')}", v)]
    command = ("replay", path, *reading, "--policy", policy, *options, "--per-request")
    for unit, value in (("fraction", 0.7), ("blocks", 2000)):
        asked = {f"capacity_{unit}": value, **parameters}
        code, out, err = run(*command, f"--capacity-{unit}", value, "--json")
        if code:
            with pytest.raises((UsageError, InputError)) as refused:
                cache_worthy.replay(log, policy, **asked)
            assert err.endswith(f"cache-worthy: {refused.value}\n")
        else:
            assert cache_worthy.replay(log, policy, **asked).to_dict() == json.loads(out)


def test_bound(case: Case, run: Run) -> None:
    path, reading, log = case
    document = printed(run, "bound", path, *reading, "--capacity-fraction", 1, "--rows", "A2")
    assert cache_worthy.bound(log, capacity_fraction=1, rows="A2").to_dict() == document


def test_analyze(case: Case, run: Run) -> None:
    path, reading, log = case
    document = printed(run, "analyze", path, *reading, "--skip", SECTIONS, "--pins", 3)
    assert cache_worthy.analyze(log, skip=SECTIONS, pins=3).to_dict() == document


@pytest.mark.parametrize(
    "reading",
    [
        {"chars_per_token": 3.0, "block_size": 16, "template": "chatml"},
        {"order": "file", "format": "text", "allow_partial": True},
        {"model_field": "model", "model": "*", "salt_field": "tenant"},
    ],
)
def test_every_option_of_reading(reading: dict[str, Any], run: Run, sample: Path) -> None:
    argv: list[object] = []
    for name, value in reading.items():
        flag = f"--{name.replace('_', '-')}"
        if name != "model":
            argv += [flag] if value is True else [flag, value]
    if "model" in reading:
        argv[argv.index("--model-field") + 1] = f"model={reading['model']}"
    log = cache_worthy.read_log(sample, **reading)
    document = printed(run, "analyze", sample, *argv, "--skip", SECTIONS)
    assert cache_worthy.analyze(log, skip=SECTIONS).to_dict() == document


def test_a_log_is_interned_once(sample: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the replays of every kind and an analysis; the bound's oracle does it for itself."""
    made: list[int] = []
    build = forest.build_forest

    def counted(paths: Any) -> Any:
        made.append(len(paths))
        return build(paths)

    log = cache_worthy.read_log(sample)
    monkeypatch.setattr(forest, "build_forest", counted)
    for policy in ("lru", "gdsf", "vllm_lru", "sglang_lru", "flat_lru"):
        cache_worthy.replay(log, policy, capacity_fraction=0.7)
    cache_worthy.bound(log, capacity_fraction=1, rows="A2")
    cache_worthy.analyze(log, skip="splits", engine="sglang")
    assert made == [len(log.requests)]


def test_the_figure_that_another_reader_gave_wrong() -> None:
    log = cache_worthy.read_log(EXAMPLES / "formats" / "vllm.log", chars_per_token=4)
    found = cache_worthy.replay(log, "lru", capacity_blocks=32)
    assert found.cost_ratio == pytest.approx(1.499576, abs=5e-7)


def test_every_option_of_an_analysis(run: Run, sample: Path) -> None:
    log = cache_worthy.read_log(sample)
    for options in (
        {"engine": "sglang", "sglang_version": "0.5.14", "gpu_gib": 80, "capacity_gib": 2},
        {"sample": 1.0, "show_text": False, "capacity_fraction": 0.5},
        {"model": "Llama-3.1-70B"},
    ):
        argv: list[object] = []
        for name, value in options.items():
            argv += ["--no-text"] if value is False else [f"--{name.replace('_', '-')}", value]
        document = printed(run, "analyze", sample, "--skip", SECTIONS, *argv)
        made = cache_worthy.analyze(log, skip=SECTIONS.split(","), **options)
        assert made.to_dict() == document


def test_which_shipped_policies_are_compared(run: Run, sample: Path) -> None:
    """All cells of the default table stand in the whole one; a policy that is named is compared."""
    argv = ("analyze", sample, "--skip", SECTIONS)
    usual, every = printed(run, *argv), printed(run, *argv, "--policies", "all")
    assert every["policy"]["policies"] == list(POLICIES)
    left_out = [name for name in POLICIES if name not in usual["policy"]["policies"]]
    assert left_out == ["recursive_lru", "cosigned"]
    for few, all_of_them in zip(usual["policy"]["rows"], every["policy"]["rows"], strict=True):
        assert few["cells"] == [c for c in all_of_them["cells"] if c["policy"] not in left_out]
    log = cache_worthy.read_log(sample)
    assert cache_worthy.analyze(log, skip=SECTIONS, policies="all").to_dict() == every
    assert cache_worthy.analyze(log, skip=SECTIONS, policy=left_out).to_dict() == every
    named = printed(run, *argv, "--policy", "cosigned")
    assert named["policy"]["policies"] == [n for n in POLICIES if n != "recursive_lru"]
    assert named["parameters"]["own_policies"] == []


def test_costs_of_a_file_and_given(run: Run, write: Write, tmp_path: Path) -> None:
    log = write({"hash_ids": [1, 2, 3]}, {"hash_ids": [1, 2, 4]}, {"hash_ids": [5]})
    costs = tmp_path / "costs.json"
    costs.write_text("[0, 10, 11, 30]")
    document = printed(run, "bound", log, "--capacity-blocks", 3, "--costs", costs)
    read = cache_worthy.read_log(log)
    assert cache_worthy.bound(read, capacity_blocks=3, costs=costs).to_dict() == document
    given = cache_worthy.bound(read, capacity_blocks=3, costs=[0, 10, 11, 30]).to_dict()
    assert {**given, "costs": str(costs)} == document
    with pytest.raises(UsageError, match=r"^costs: entry 2 is 4"):
        cache_worthy.bound(read, capacity_blocks=3, costs=[0, 5, 4, 9])


def test_a_policy_class(sample: Path) -> None:
    log = cache_worthy.read_log(sample)
    own = cache_worthy.replay(log, Untouched, capacity_fraction=0.3)
    named = cache_worthy.replay(log, "toy_policies:Untouched", capacity_fraction=0.3)
    assert (own.policy, own.covered, own.pins_path) == ("toy_fifo", False, True)
    assert named.to_dict() == {**own.to_dict(), "policy": "toy_policies:Untouched"}
    assert cache_worthy.replay(log, POLICIES["lru"], capacity_fraction=0.3).covered
    analysis = cache_worthy.analyze(log, policy=Untouched, skip=SECTIONS)
    assert analysis.policy is not None
    assert analysis.policy.outside_oracle_coverage == ("toy_fifo",)
    named_after_a_shipped_one = type("Mine", (Untouched,), {"name": "lru"})
    with pytest.raises(UsageError, match="is the name of a shipped one"):
        cache_worthy.analyze(log, policy=named_after_a_shipped_one)
    with pytest.raises(UsageError, match="is the name of a shipped one"):
        cache_worthy.replay(log, named_after_a_shipped_one, capacity_fraction=0.3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda log: cache_worthy.replay(log, "lru"), "give one of capacity_fraction"),
        (
            lambda log: cache_worthy.replay(log, "lru", capacity_gib=1, capacity_blocks=2),
            "in one unit only",
        ),
        (lambda log: cache_worthy.replay(log, "lru", capacity_fraction=2), "<= 1, got 2"),
        (lambda log: api.replay(log, "lru", capacity_blocks=1.5), "an integer >= 1"),
        (lambda log: cache_worthy.replay(log, "nobody", capacity_blocks=9), "expected one of lru"),
        (lambda log: api.replay(log, dict, capacity_blocks=9), "EvictionPolicy"),
        (
            lambda log: cache_worthy.replay(log, "lru", capacity_blocks=99, max_freq=2),
            "lru does not have it",
        ),
        (lambda log: cache_worthy.bound(log), "give one of capacity_fraction"),
        (lambda log: api.bound(log, capacity_blocks=99, rows="A4"), "of chain, A2, A3"),
        (lambda log: cache_worthy.bound(log, capacity_blocks=99, solver="x"), "of highs, cbc"),
        (lambda log: cache_worthy.analyze(log, pins=0), "pins: expected an integer >= 1"),
        (lambda log: cache_worthy.analyze(log, sample=1.5), "sample: expected a number"),
        (lambda log: api.analyze(log, engine="nobody"), "expected one of generic"),
        (
            lambda log: cache_worthy.analyze(log, gpu_gib=80),
            "^gpu_gib 80.0: only with engine sglang",
        ),
        (lambda log: cache_worthy.analyze(log, skip="everything"), "expected one or several"),
    ],
)
def test_what_cannot_be_is_refused(
    call: Callable[[Any], object], message: str, sample: Path
) -> None:
    with pytest.raises(UsageError, match=message):
        call(cache_worthy.read_log(sample))


def test_a_note_is_a_warning(write: Write) -> None:
    log = cache_worthy.read_log(write({"hash_ids": [1, 2]}, {"hash_ids": [2]}))
    with pytest.warns(UserWarning, match="takes each id as a block"):
        cache_worthy.replay(log, "flat_lru", capacity_blocks=9)


def test_frames(sample: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What pandas is given; it is no dependency of ours."""
    log = cache_worthy.read_log(sample)
    replayed = cache_worthy.replay(log, "lru", capacity_fraction=0.5)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UsageError, match="needs pandas"):
        replayed.to_frame()
    monkeypatch.setitem(sys.modules, "pandas", types.SimpleNamespace(DataFrame=list))
    frame = replayed.to_frame()
    assert len(frame) == replayed.requests
    assert sum(row["hit_tokens"] for row in frame) == replayed.total_hit_tokens
    totals = cache_worthy.replay(log, "lru", capacity_fraction=0.5, per_request=False)
    with pytest.raises(UsageError, match="per_request=True"):
        totals.to_frame()
    analysis = cache_worthy.analyze(log, skip=SECTIONS)
    table = analysis.policy
    assert table is not None
    frame = analysis.to_frame()
    assert len(frame) == sum(len(row.cells) for row in table.rows)
    assert {row["policy"] for row in frame} == set(table.policies)
    (row,) = cache_worthy.bound(log, capacity_fraction=1).to_frame()
    assert row["lower_bound"] <= row["feasible_cost"]
    assert "input" not in row


def test_importing_the_package_loads_nothing() -> None:
    code = (
        "import sys, cache_worthy; "
        "print(sorted(m for m in sys.modules if m.startswith('cache_worthy.'))); "
        "print(set(cache_worthy.__all__) <= set(dir(cache_worthy)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\nTrue\n"
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        cache_worthy.nothing  # noqa: B018
    for name in cache_worthy.__all__:
        assert getattr(cache_worthy, name) is not None
