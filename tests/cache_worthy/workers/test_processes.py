"""Tasks in processes of this machine: the same bytes, clear errors, nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import process_tasks
import pytest
from dask_cluster import first_lines, pid_after_a_moment, raise_deep

from cache_worthy.errors import UsageError
from cache_worthy.workers import Processes, Workers, open_workers

Run = Callable[..., tuple[int, str, str]]

PROGRAM = """
import signal, sys, time
import process_tasks
from cache_worthy.workers import Processes

if __name__ == "__main__":
    if sys.platform != "win32":  # whoever started the tests may have had it blocked or ignored
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    with Processes(2) as workers:
        try:
            workers.map_tasks(process_tasks.write_pid_and_sleep, sys.argv[1], range(4))
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)
"""
POLICY = """
from cache_worthy.sim.radix.policies import EvictionPolicy

class Own(EvictionPolicy):
    name = "own"

    def priority(self, node, clock):
        return -node.freq
"""


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch) -> Iterator[Workers]:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    with open_workers(jobs=100_000) as started:  # no more than there are CPUs
        assert isinstance(started, Processes)
        yield started


def test_the_document_is_the_same_wherever_it_is_made(
    run: Run, sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    (tmp_path / "own_of_processes.py").write_text(POLICY, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    policy = ("--policy", "own_of_processes:Own")
    argv = ("analyze", first_lines(sample, tmp_path), "--json", *policy)
    serial = run(*argv)
    assert '"own_of_processes:Own"' in serial[1]
    assert run(*argv, "--jobs", 2) == serial


def test_a_search_is_the_same_wherever_it_runs(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    argv = ("adversary", "find", "--policy", "lru", "--max-nodes", 4, "--max-requests", 6, "--json")
    serial = run(*argv)
    assert serial[0] == 1
    assert run(*argv, "--jobs", 2) == serial


def test_each_process_unpacks_the_shared_object_once(workers: Workers, tmp_path: Path) -> None:
    shared = process_tasks.Counted(str(tmp_path / "unpacked"))
    process_tasks.Counted.packed = 0
    first = workers.map_tasks(pid_after_a_moment, shared, range(20))
    second = workers.map_tasks(pid_after_a_moment, shared, range(20))
    assert [item for item, _ in first + second] == [*range(20), *range(20)]
    pids = {pid for _, pid in first + second}
    assert len(pids) == 2
    assert os.getpid() not in pids
    assert process_tasks.Counted.packed == 1
    assert sorted((tmp_path / "unpacked").read_text().split()) == sorted(map(str, pids))


def test_what_a_task_raises_is_raised_here(workers: Workers) -> None:
    with pytest.raises(UsageError, match="too deep") as told:
        workers.map_tasks(raise_deep, None, range(1))
    assert any("in raise_deep" in note for note in told.value.__notes__)
    with pytest.raises(TimeoutError, match="of the task"):
        workers.map_tasks(process_tasks.time_out, None, range(1))
    with pytest.raises(KeyboardInterrupt):
        workers.map_tasks(process_tasks.interrupt, None, range(1))


def test_what_cannot_be_sent_is_refused(workers: Workers) -> None:
    with pytest.raises(UsageError, match=r"task 1 cannot be sent to workers: .*\n  run without"):
        workers.map_tasks(lambda shared, item: item, None, [1], label=lambda item: f"task {item}")


def test_a_killed_process_ends_the_run_in_one_line(workers: Workers) -> None:
    with pytest.raises(UsageError) as told:
        workers.map_tasks(process_tasks.kill_yourself, None, range(12))
    assert str(told.value).startswith("--jobs 2: one of the processes was killed, perhaps for")
    assert len(str(told.value).splitlines()) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_process_outlives_the_run(tmp_path: Path, number: signal.Signals) -> None:
    """Ctrl-C reaches the whole group and is said once; a killed parent takes its processes along."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    path = os.pathsep.join(
        [str(Path(process_tasks.__file__).parent), os.environ.get("PYTHONPATH", "")]
    )
    parent = subprocess.Popen(
        [sys.executable, str(program), str(tmp_path / "pids")],
        env={**os.environ, "PYTHONPATH": path},
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
    )
    pids = _until(lambda: _pids(tmp_path / "pids"))
    if number == signal.SIGINT:
        os.killpg(parent.pid, number)
    else:
        parent.send_signal(number)
    _, told = parent.communicate(timeout=20)
    if number == signal.SIGINT:
        assert told == "interrupted\n"
    assert _until(lambda: not any(map(_alive, pids)))


def _until(found: Callable[[], list[int] | bool]) -> list[int]:
    end = time.monotonic() + 20
    while time.monotonic() < end:
        if result := found():
            return result if isinstance(result, list) else [0]
        time.sleep(0.02)
    raise AssertionError("not within 20 seconds")


def _pids(file: Path) -> list[int]:
    pids = [int(line) for line in file.read_text().split()] if file.exists() else []
    return pids if len(pids) == 2 else []


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # One that has ended and is waited for by nobody is still listed.
    status = Path(f"/proc/{pid}/stat")
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"
