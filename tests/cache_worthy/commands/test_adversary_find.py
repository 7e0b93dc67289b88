"""``adversary find``: exit codes, the witness in JSON, bad input."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cache_worthy.oracles.optimum.optimal import optimal_cost
from cache_worthy.theory.algorithms import exact_cost
from cache_worthy.theory.instance import instance_from_mapping
from cache_worthy.theory.search import find as search
from cache_worthy.theory.search.explorer import search_task
from cache_worthy.theory.search.find import tasks_for

Run = Callable[..., tuple[int, str, str]]
SMALLEST = ("--max-nodes", 4, "--max-requests", 6, "--k", 3, "--h", 2)


def test_witness_in_json_replays(run: Run) -> None:
    code, out, _ = run("adversary", "find", "--policy", "landlord", *SMALLEST, "--json")
    assert code == 1
    document = json.loads(out)
    witness = document["witness"]
    instance = instance_from_mapping(witness)
    assert document["status"] == "sat"
    assert (instance.n, len(instance.requests)) == (4, 6)
    assert exact_cost("landlord", instance, 3) == witness["online_cost"]
    assert optimal_cost(instance, 2) == witness["optimal_cost"]
    assert 2 * witness["online_cost"] > 3 * witness["optimal_cost"]


def test_whole_range_without_a_witness_exits_0(run: Run) -> None:
    code, out, _ = run("adversary", "find", "--policy", "landlord", "--max-nodes", 4,
                       "--max-requests", 4)  # fmt: skip
    assert code == 0
    assert "the whole range was searched" in out


def test_time_out_exits_3_with_what_was_covered(run: Run) -> None:
    code, out, _ = run("adversary", "find", "--policy", "cosigned", "--max-nodes", 6,
                       "--max-requests", 7, "--timeout", 0.2, "--json")  # fmt: skip
    assert code == 3
    document = json.loads(out)
    assert document["status"] == "timeout"
    assert document["witness"] is None
    assert document["complete_nodes"] < 6


def test_a_search_for_cycles_says_what_it_can_see(run: Run) -> None:
    options = ("--max-nodes", 3, "--max-requests", 3, "--cycle")
    code, out, _ = run("adversary", "find", "--policy", "gdsf", *options)
    assert code == 0
    assert "repeat after one or two cycles" in out
    assert "evict every node" in out
    assert "the whole range was searched" not in out
    document = json.loads(
        run("adversary", "find", "--policy", "landlord_keys", *options, "--json")[1]
    )
    assert document["qualification"].startswith("only courses that repeat")


@pytest.mark.parametrize(
    "bad",
    [
        ("--policy", "belady"),
        ("--policy", "lru", "--k", 2, "--h", 3),
        ("--policy", "lru", "--max-nodes", 0),
        ("--policy", "lru", "--ratio", "1.5"),
        ("--policy", "lru", "--ratio", "1/2"),
        ("--policy", "lru", "--ratio", "9" * 5000),
        ("--policy", "lru", "--timeout", -1),
    ],
)
def test_bad_input_is_told_in_one_line(run: Run, bad: tuple[object, ...]) -> None:
    code, out, err = run("adversary", "find", "--max-nodes", 3, "--max-requests", 3, *bad)
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1


def test_why_a_ratio_below_1_is_refused(run: Run) -> None:
    """Not because no policy pays less than the optimum: with h < k one may, as here."""
    rows = {"parent": [None, None], "size": [1, 1], "cost": [1, 1], "requests": [0, 1, 0, 1]}
    instance = instance_from_mapping(rows)
    assert exact_cost("lru", instance, 2) == 2 < optimal_cost(instance, 1) == 4
    options = ("--policy", "lru", "--max-nodes", 3, "--max-requests", 3, "--ratio", "1/2")
    code, _, err = run("adversary", "find", *options)
    assert code == 2
    assert "no policy pays less" not in err
    assert "exceeded wherever nothing is evicted" in err


INTERRUPTED = ("--policy", "lru", "--max-nodes", 4, "--max-requests", 6, "--ratio", 100, "--json")


def _lines(file: Path) -> list[bytes]:
    return file.read_bytes().splitlines() if file.exists() else []


# A shell starts what runs in its background with Ctrl-C ignored, and that is inherited.
LISTENING = (
    "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from cache_worthy.cli import main; sys.exit(main(sys.argv[1:]))"
)


def _interrupt(file: Path, options: tuple[object, ...], after: int) -> tuple[int, str]:
    """Run with a state until so many lines are in it, then press Ctrl-C; exit code and stderr.

    On a busy machine the search may end before the key is pressed; then it is run again.
    """
    argv = ["adversary", "find", *map(str, options), "--state", str(file)]
    for _ in range(10):
        file.unlink(missing_ok=True)
        process = subprocess.Popen(
            [sys.executable, "-c", LISTENING, *argv],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        end = time.monotonic() + 60
        while len(_lines(file)) < after and process.poll() is None and time.monotonic() < end:
            time.sleep(0.005)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        if not out:
            return process.returncode, err.decode()
    raise AssertionError("the search ended before it could be interrupted, ten times")


def test_an_interrupted_search_goes_on_as_if_it_had_not_been(run: Run, tmp_path: Path) -> None:
    whole = run("adversary", "find", *INTERRUPTED)
    file = tmp_path / "state"
    code, err = _interrupt(file, INTERRUPTED, 8)
    assert code == 130
    assert "the same command goes on from here" in err
    assert "interrupted" in err
    assert "Traceback" not in err
    kept = file.read_bytes()
    assert len(_lines(file)) >= 8
    # As if the machine had stopped in the middle of a line.
    file.write_bytes(kept[:-7])
    assert run("adversary", "find", *INTERRUPTED, "--state", file) == whole
    finished = file.read_bytes()
    assert finished.startswith(kept[: kept[:-1].rindex(b"\n") + 1])
    assert len(_lines(file)) == 1 + json.loads(whole[1])["coverage"]["forests"]
    # Nothing is left to do, and nothing is written again.
    assert run("adversary", "find", *INTERRUPTED, "--state", file) == whole
    assert file.read_bytes() == finished


@pytest.mark.parametrize(
    "options",
    [
        ("--policy", "landlord", *SMALLEST, "--json"),
        ("--policy", "lru", "--max-nodes", 3, "--max-requests", 4, "--cycle", "--json"),
    ],
)
def test_a_witness_survives_the_state(
    run: Run, tmp_path: Path, options: tuple[object, ...]
) -> None:
    whole = run("adversary", "find", *options)
    assert whole[0] == 1
    file = tmp_path / "state"
    assert run("adversary", "find", *options, "--state", file) == whole
    assert b'"online"' in file.read_bytes()
    assert run("adversary", "find", *options, "--state", file) == whole


class Clock:
    """A second passes each time that somebody looks, so that a time-out depends on no machine."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_time_out_leaves_a_state_without_what_was_cut_short(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, share: float
) -> None:
    file = tmp_path / "state"

    def search(*options: object) -> tuple[tuple[int, str, str], float]:
        clock = Clock()
        with monkeypatch.context() as timed:
            timed.setattr(time, "monotonic", clock)
            timed.setattr(time, "time", clock)
            return run("adversary", "find", *INTERRUPTED, *options), clock.now

    whole, looks = search("--timeout", 1e9)
    assert whole[0] == 0
    (code, out, _), _ = search("--timeout", share * looks, "--state", file)
    assert code == 3
    assert json.loads(out)["status"] == "timeout"
    finished = json.loads(whole[1])["coverage"]["forests"]
    assert 0 < len(_lines(file)) - 1 < finished
    assert run("adversary", "find", *INTERRUPTED, "--state", file) == whole
    assert len(_lines(file)) - 1 == finished


def _changed(text: bytes, number: int, drop: str = "digest", **values: object) -> bytes:
    """The state with another line, under the documented digest of it."""
    lines = text.splitlines(keepends=True)
    line = {**json.loads(lines[number]), **values}
    for name in ("digest", drop):
        line.pop(name, None)
    line["digest"] = hashlib.sha256(json.dumps(line).encode()).hexdigest()[:16]
    return b"".join([*lines[:number], json.dumps(line).encode() + b"\n", *lines[number + 1 :]])


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda text: text.replace(b'"max_nodes": 2', b'"max_nodes": 3'), "other parameters"),
        (lambda text: _changed(text, 0, version="another"), "of another version"),
        (lambda text: text.replace(b"with sources ", b"with sources 0"), "its head is damaged"),
        (lambda text: b"dear diary\n", "holds something else"),
        (lambda text: b"dear diary", "holds something else"),
        (lambda text: b"[]\n", "holds something else"),
        (lambda text: b"[" * 100_000 + b"\n", "holds something else"),
        (lambda text: b'{"kind": "cache-worthy search state"}\n', "holds something else"),
        (lambda text: _changed(text, 0, kind="diary"), "holds something else"),
        (lambda text: text.replace(b'"witness"', b'"wetness"', 1), "state:2: damaged"),
        (lambda text: text.replace(b'"forests": 1', b'"forests": 2', 1), "state:2: damaged"),
        (lambda text: _changed(text, 1, drop="piece"), "state:2: damaged"),
        (lambda text: text + b"[]\n", "damaged"),
        (lambda text: text + b"[" * 100_000 + b"\n", "damaged"),
    ],
)
def test_a_state_of_something_else_is_refused_and_kept(
    run: Run, tmp_path: Path, change: Callable[[bytes], bytes], told: str
) -> None:
    options: tuple[object, ...] = ("--policy", "lru", "--max-nodes", 2, "--max-requests", 3)
    file = tmp_path / "state"
    assert run("adversary", "find", *options, "--state", file)[0] == 0
    before = file.read_bytes()
    file.write_bytes(change(before))
    if told == "other parameters":
        file.write_bytes(before)
        options = (*options, "--falling")
    changed = file.read_bytes()
    code, out, err = run("adversary", "find", *options, "--state", file, "--force")
    assert (code, out) == (2, "")
    assert told in err
    assert len(err.splitlines()) <= 2
    assert file.read_bytes() == changed


def test_a_state_that_another_search_writes_is_refused(run: Run, tmp_path: Path) -> None:
    options = ("--policy", "lru", "--max-nodes", 2, "--max-requests", 3)
    file = tmp_path / "state"
    done = run("adversary", "find", *options, "--state", file)
    before = file.read_bytes()
    with file.open("r+b") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        code, out, err = run("adversary", "find", *options, "--state", file)
        assert (code, out) == (2, "")
        assert "another search is writing it" in err
        assert file.read_bytes() == before
    assert run("adversary", "find", *options, "--state", file) == done


def test_the_state_is_no_place_for_the_result(run: Run, tmp_path: Path) -> None:
    options = ("--policy", "lru", "--max-nodes", 2, "--max-requests", 3, "--force")
    file = tmp_path / "state"
    (tmp_path / "link").symlink_to(file)
    for name in (file, tmp_path / "link"):
        code, out, err = run("adversary", "find", *options, "--state", file, "-o", name)
        assert (code, out) == (2, "")
        assert "-o names it too" in err
        assert not file.exists()


def test_a_state_that_cannot_be_written_is_told(run: Run, tmp_path: Path) -> None:
    options = ("--policy", "lru", "--max-nodes", 2, "--max-requests", 3)
    for file in (tmp_path, tmp_path / "none" / "state", Path("/dev/full")):
        code, out, err = run("adversary", "find", *options, "--state", file)
        assert (code, out) == (2, "")
        assert f"--state {file}" in err
        assert len(err.splitlines()) == 1


def test_a_disk_that_fills_costs_a_line_and_no_piece(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ("--policy", "lru", "--max-nodes", 3, "--max-requests", 3)
    whole = run("adversary", "find", *options)
    file = tmp_path / "state"
    write, room = os.write, [1500]

    def until_full(handle: int, data: bytes) -> int:
        room[0] -= len(data)
        return write(handle, data if room[0] >= 0 else data[: len(data) // 2])

    with monkeypatch.context() as full:
        full.setattr(os, "write", until_full)
        code, out, err = run("adversary", "find", *options, "--state", file)
    assert (code, out) == (2, "")
    assert err == f"cache-worthy: --state {file}: cannot write: the disk is full\n"
    assert not file.read_bytes().endswith(b"\n")
    assert run("adversary", "find", *options, "--state", file) == whole


def test_what_ran_before_does_not_change_an_outcome() -> None:
    tasks = [t for n in (3, 4) for t in tasks_for("landlord", n, 5, k=3, h=2)]
    forward = [search_task(t) for t in tasks]
    assert [search_task(t) for t in reversed(tasks)][::-1] == forward


def test_the_size_of_a_batch_moves_no_witness(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    documents = []
    for size in (1, 16):
        monkeypatch.setattr(search, "FIRST_BATCH", size)
        monkeypatch.setattr(search, "LARGEST_BATCH", size)
        documents.append(
            json.loads(run("adversary", "find", "--policy", "lru", "--max-nodes", 4,
                           "--max-requests", 6, "--json")[1])
        )  # fmt: skip
    assert documents[0]["witness"] == documents[1]["witness"]
    assert documents[0]["coverage"]["sequences"] < documents[1]["coverage"]["sequences"]


def test_without_z3_one_line_names_it(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cache_worthy.commands.adversary.find.find_spec", lambda name: None)
    code, out, err = run("adversary", "find", "--policy", "landlord", *SMALLEST)
    assert (code, out) == (2, "")
    assert err == "cache-worthy: adversary find: needs z3; pip install z3-solver\n"
