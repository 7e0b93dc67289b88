"""cache-worthy bound and convert: keys, the certificate's round trip, bad input in one line."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from oracle_cases import instance_of_trace

from cache_worthy.documents import schema
from cache_worthy.logs.session import read_log
from cache_worthy.oracles import solver as solver_module
from cache_worthy.oracles.bound import offline as bound_module
from cache_worthy.oracles.bound.groups import trace_of_requests
from cache_worthy.oracles.optimum.optimal import optimal_cost
from cache_worthy.sim.cost import BlockCost
from cache_worthy.sim.trace import paths_of

Run = Callable[..., tuple[int, str, str]]
Write = Callable[..., Path]

CHECKER = Path(__file__).resolve().parents[3] / "proofs" / "check_certificate.py"

KEYS = [
    "capacity_blocks",
    "lower_bound",
    "compulsory_cost",
    "lower_bound_ratio",
    "feasible_cost",
    "feasible_ratio",
    "belady_ratio",
    "lru_ratio",
    "recoverable_fraction",
    "certified",
    "policy_class",
    "solver",
]

LOG = [
    {"input_length": 512 * len(ids), "hash_ids": ids}
    for ids in ([1, 2, 3], [4, 5], [1, 2, 3], [4, 5], [6], [1, 2, 3], [4, 5], [1, 7])
]


def check(trace: Path, certificate: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-I", str(CHECKER), str(trace), str(certificate)],
        capture_output=True,
        text=True,
        check=False,
    )


def test_keys_and_values(run: Run, write: Write) -> None:
    log = write(*LOG)
    code, out, err = run("bound", log, "--capacity-blocks", 4, "--json")
    assert (code, err) == (0, "")
    data = json.loads(out)
    assert [k for k in data if k in KEYS] == KEYS
    trace = trace_of_requests(paths_of(read_log(log).requests), BlockCost().cumulative(3))
    optimum = int(optimal_cost(instance_of_trace(trace), 4) * trace.unit)
    assert data["compulsory_cost"] == int(instance_of_trace(trace).compulsory * trace.unit)
    assert data["compulsory_cost"] < data["lower_bound"] <= optimum <= data["feasible_cost"]
    _, out, _ = run("replay", log, "--policy", "lru", "--capacity-blocks", 4, "--json")
    lru = json.loads(out)
    assert data["lru_ratio"] == lru["cost_ratio"]
    assert data["recoverable_fraction"] == pytest.approx(
        1 - data["lower_bound"] / lru["total_cost"]
    )
    assert data["certified"] is True
    properties = schema("bound")["properties"]
    assert isinstance(properties, dict)
    assert properties["certified"]["enum"] == [True]  # no document of an uncertified bound
    assert data["policy_class"].startswith("demand paging with the requested path pinned")
    assert data["interrupted"] is False


def test_text_and_compulsory(run: Run, write: Write) -> None:
    code, out, err = run("bound", write(*LOG), "--capacity-fraction", 1)
    assert (code, err) == (0, "")
    assert "lower_bound_ratio     1.000000\n" in out
    assert "feasible_ratio        1.000000\n" in out


@pytest.mark.parametrize("solver", ["highs", "cbc"])
def test_certificate_round_trip(solver: str, run: Run, write: Write, tmp_path: Path) -> None:
    log, certificate, trace = write(*LOG), tmp_path / "c.json", tmp_path / "t.jsonl"
    options = ("--capacity-blocks", 4, "--solver", solver, "--certificate", certificate)
    code, out, _ = run("bound", log, *options, "--json")
    assert code == 0
    data = json.loads(out)
    assert data["solver"].startswith(solver)
    assert run("convert", log, "-o", trace)[0] == 0
    done = check(trace, certificate)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"certified lower bound {data['lower_bound']}\n")
    assert (
        json.loads(certificate.read_text())["trace"]["sha256"]
        == (data["input"]["canonical_sha256"])
    )
    assert run("bound", log, *options)[0] == 2  # exists


def test_a_text_log_through_convert(run: Run, sample: Path, tmp_path: Path) -> None:
    certificate, trace = tmp_path / "c.json", tmp_path / "t.jsonl"
    options = ("--capacity-fraction", 0.5, "--certificate", certificate, "--json")
    code, out, _ = run("bound", sample, *options)
    assert code == 0
    assert run("convert", sample, "-o", trace)[0] == 0
    done = check(trace, certificate)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"certified lower bound {json.loads(out)['lower_bound']}\n")
    # The canonical trace is a log like any other, and its own canonical form.
    _, again, _ = run("bound", trace, "--capacity-fraction", 0.5, "--json")
    assert json.loads(again)["lower_bound"] == json.loads(out)["lower_bound"]
    assert run("convert", trace)[1] == trace.read_text(encoding="utf-8")


def test_convert_keeps_records_and_separates_parents(run: Run, write: Write) -> None:
    log = write(
        {"timestamp": 7, "input_length": 700, "output_length": 3, "hash_ids": ["x", "y"]},
        {"input_length": 1024, "hash_ids": ["z", "y"]},
        {"input_length": 0, "hash_ids": []},
    )
    code, out, err = run("convert", log)
    assert (code, err) == (0, "")
    assert [json.loads(line) for line in out.splitlines()] == [
        {"timestamp": 7, "input_length": 700, "output_length": 3, "hash_ids": [0, 1]},
        {"input_length": 1024, "hash_ids": [2, 3]},
        {"input_length": 0, "hash_ids": []},
    ]


def test_measured_costs(run: Run, write: Write, tmp_path: Path) -> None:
    costs = tmp_path / "costs.json"
    costs.write_text("[0, 10, 11, 30]")
    code, out, _ = run("bound", write(*LOG), "--capacity-blocks", 4, "--costs", costs, "--json")
    assert code == 0
    data = json.loads(out)
    trace = trace_of_requests([r["hash_ids"] for r in LOG], [0, 10, 11, 30])  # type: ignore[misc]
    assert data["compulsory_cost"] == int(instance_of_trace(trace).compulsory * trace.unit)
    assert data["lower_bound"] <= int(optimal_cost(instance_of_trace(trace), 4) * trace.unit)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[0, 5, 4, 9]", "entry 2 is 4, below entry 1, 5"),
        ("[0, 5]", "the deepest request has 3 blocks"),
        ("[1, 5, 6, 7]", "entry 0: expected 0"),
        ("[0, 1.5, 2, 3]", "list of integers"),
        ("{}", "list of integers"),
        ("nonsense", "not JSON"),
        (None, "cannot read"),
    ],
)
def test_bad_costs(text: str | None, message: str, run: Run, write: Write, tmp_path: Path) -> None:
    costs = tmp_path / "costs.json"
    if text is not None:
        costs.write_text(text)
    code, out, err = run("bound", write(*LOG), "--capacity-blocks", 4, "--costs", costs)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_capacity_under_the_longest_path(run: Run, write: Write) -> None:
    code, out, err = run("bound", write(*LOG), "--capacity-blocks", 2)
    assert (code, out) == (2, "")
    assert "deepest request alone needs 3 blocks" in err


def test_no_solver(run: Run, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solver_module, "available", lambda: ())
    code, out, err = run("bound", write(*LOG), "--capacity-blocks", 4)
    assert (code, out) == (2, "")
    assert err == (
        "cache-worthy: no linear-programming solver found: install highspy (HiGHS), or CBC\n"
    )


def test_no_blocks_at_all(run: Run, write: Write) -> None:
    log = write({"input_length": 0, "hash_ids": []})
    code, out, err = run("bound", log, "--capacity-blocks", 4)
    assert (code, out) == (2, "")
    assert "Traceback" not in err
    assert err.count("\n") == 1


def test_interrupted_keeps_the_last_certificate(
    run: Run, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*args: object, **options: object) -> None:
        raise KeyboardInterrupt

    log, certificate, trace = write(*LOG), tmp_path / "c.json", tmp_path / "t.jsonl"
    monkeypatch.setattr(bound_module, "relax", interrupt)
    code, out, err = run(
        "bound", log, "--capacity-blocks", 4, "--certificate", certificate, "--json"
    )
    assert code == 130
    assert err == (
        "cache-worthy: interrupted: this is the best certificate so far, not the best there is\n"
    )
    data = json.loads(out)
    assert data["interrupted"] is True
    assert run("convert", log, "-o", trace)[0] == 0
    assert f"certified lower bound {data['lower_bound']}\n" in check(trace, certificate).stdout


@pytest.mark.traces
def test_conversation_at_two_percent(run: Run, traces: Path, tmp_path: Path) -> None:
    log, certificate = traces / "conversation_trace.jsonl", tmp_path / "c.json"
    options = ("--capacity-fraction", 0.02, "--certificate", certificate, "--json")
    code, out, _ = run("bound", log, *options)
    assert code == 0
    data = json.loads(out)
    assert data["lru_ratio"] == pytest.approx(1.4413, abs=5e-5)
    assert data["recoverable_fraction"] == pytest.approx(0.250, abs=5e-4)
    assert check(log, certificate).returncode == 0
    # The canonical trace of this log is the log itself, byte for byte.
    assert run("convert", log, "-o", tmp_path / "t.jsonl")[0] == 0
    assert (tmp_path / "t.jsonl").read_bytes() == log.read_bytes()
