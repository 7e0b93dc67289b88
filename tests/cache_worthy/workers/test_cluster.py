"""Tasks on a real scheduler: the same bytes as in this process, clear refusals."""

from __future__ import annotations

import gc
import http.server
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import process_tasks
import pytest
from dask_cluster import Cluster, first_lines, pid_after_a_moment, raise_deep

from cache_worthy.advise.analysis import Options, analyze
from cache_worthy.errors import UsageError
from cache_worthy.logs.session import read_log
from cache_worthy.workers import cluster as dask_workers
from cache_worthy.workers import local, open_workers
from cache_worthy.workers.cluster import DaskWorkers

Run = Callable[..., tuple[int, str, str]]

SKIP = "bound,band,splits,tails,coldstart,causes,pinsim"
RANK = """
def rank(node):
    return -node.freq
"""
OWN = f"""
from cache_worthy.sim.radix.policies import EvictionPolicy
{RANK}
class Own(EvictionPolicy):
    name = "own"

    def priority(self, node, clock):
        return rank(node)

class Broken(Own):
    def priority(self, node, clock):
        raise ValueError("no priority today")
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("cluster")) as started:
        yield started


@pytest.fixture
def small(sample: Path, tmp_path: Path) -> Path:
    return first_lines(sample, tmp_path)


class Web(http.server.BaseHTTPRequestHandler):
    """Answers in another protocol."""

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def test_the_document_is_the_same_wherever_it_is_made(
    run: Run, small: Path, cluster: Cluster
) -> None:
    argv = ("analyze", small, "--json")
    serial = run(*argv)
    assert serial[0] == 0
    assert run(*argv, "--scheduler", cluster.address) == serial


def test_a_search_is_the_same_wherever_it_runs(run: Run, cluster: Cluster) -> None:
    argv = ("adversary", "find", "--policy", "lru", "--max-nodes", 4, "--max-requests", 6, "--json")
    serial = run(*argv)
    assert serial[0] == 1
    assert run(*argv, "--scheduler", cluster.address) == serial


def test_a_deadline_holds_on_workers(run: Run, cluster: Cluster) -> None:
    code, out, _ = run("adversary", "find", "--policy", "cosigned", "--max-nodes", 5,
                       "--max-requests", 9, "--max-size", 9, "--timeout", 0.5,
                       "--scheduler", cluster.address)  # fmt: skip
    assert code == 3
    assert "time ran out" in out


def test_policies_of_the_user_travel_with_their_module(
    run: Run, small: Path, cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "travels.py").write_text(OWN, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    argv = ("analyze", small, "--json", "--skip", SKIP, "--policy", "travels:Own")
    serial = run(*argv)
    assert '"travels:Own"' in serial[1]
    assert run(*argv, "--scheduler", cluster.address) == serial
    broken = ("analyze", small, "--skip", SKIP, "--policy", "travels:Broken")
    code, out, err = run(*broken, "--scheduler", cluster.address)
    assert (code, out) == (2, "")
    assert "--policy travels:Broken: raised in replay: ValueError: no priority today" in err
    # What the module imports of its own is not sent along.
    (tmp_path / "stays.py").write_text(RANK, encoding="utf-8")
    (tmp_path / "leaves.py").write_text(OWN.replace(RANK, "from stays import rank"), "utf-8")
    away = ("analyze", small, "--skip", SKIP, "--policy", "leaves:Own")
    assert run(*away)[0] == 0
    code, out, err = run(*away, "--scheduler", cluster.address)
    assert (code, out) == (2, "")
    assert "a worker cannot unpack its task (ModuleNotFoundError: No module named 'stays'" in err


def test_the_shared_object_travels_once_to_each_worker(cluster: Cluster, tmp_path: Path) -> None:
    shared = process_tasks.Counted(str(tmp_path / "unpacked"))
    process_tasks.Counted.packed = 0
    with open_workers(scheduler=cluster.address) as workers:
        workers.carry(pid_after_a_moment.__module__)
        workers.carry(process_tasks.__name__)
        first = workers.map_tasks(pid_after_a_moment, shared, range(20))
        second = workers.map_tasks(pid_after_a_moment, shared, range(20))
    assert [item for item, _ in first + second] == [*range(20), *range(20)]
    pids = {pid for _, pid in first + second}
    assert len(pids) == 2
    assert os.getpid() not in pids
    assert process_tasks.Counted.packed == 1
    assert sorted((tmp_path / "unpacked").read_text().split()) == sorted(map(str, pids))


def test_a_scheduler_that_is_not_there(
    run: Run, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_workers, "CONNECT_SECONDS", 1.0)
    complaints: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", complaints.append)
    with http.server.HTTPServer(("127.0.0.1", 0), Web) as web:
        threading.Thread(target=web.serve_forever, daemon=True).start()
        silent = socket.create_server(("127.0.0.1", 0))
        for address in ("tcp://127.0.0.1:9", "no-such-host.invalid:1", "nonsense://x", "", "host",
                        "tls://127.0.0.1:9", f"tcp://127.0.0.1:{web.server_port}",
                        f"tcp://127.0.0.1:{silent.getsockname()[1]}"):  # fmt: skip
            begun = time.monotonic()
            code, out, err = run("analyze", small, "--scheduler", address)
            assert (code, out) == (2, "")
            assert len(err.splitlines()) <= 2
            assert f"--scheduler {address}: no Dask scheduler answers there" in err
            assert time.monotonic() - begun < 10
        silent.close()
        web.shutdown()
    gc.collect()
    assert complaints == []


def test_a_worker_is_no_scheduler(run: Run, small: Path, cluster: Cluster) -> None:
    import distributed

    with distributed.Client(cluster.address, set_as_default=False) as client:
        worker = next(iter(client.nthreads()))
    code, out, err = run("analyze", small, "--scheduler", worker)
    assert (code, out) == (2, "")
    assert "a worker does" in err


def hold_the_interpreter(shared: str, item: int) -> int:
    with open(shared, "a", encoding="utf-8") as out:
        out.write(f"{item}\n")
    sum(range(15_000_000))  # half a second, and no other thread of the worker runs meanwhile
    return item


def test_a_worker_that_is_slow_to_answer_is_not_lost(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "LOST_SECONDS", 0.1)
    file = tmp_path / "begun"
    with open_workers(scheduler=cluster.address) as workers:
        workers.carry(__name__)
        assert workers.map_tasks(hold_the_interpreter, str(file), range(4)) == [0, 1, 2, 3]
    assert sorted(file.read_text().split()) == ["0", "1", "2", "3"]


def test_what_a_task_raises_is_raised_here(cluster: Cluster) -> None:
    with open_workers(scheduler=cluster.address) as workers:
        workers.carry(raise_deep.__module__)
        workers.carry(process_tasks.__name__)
        with pytest.raises(UsageError, match="too deep") as told:
            workers.map_tasks(raise_deep, None, range(1))
        assert any("in raise_deep" in note for note in told.value.__notes__)
        with pytest.raises(KeyboardInterrupt):
            workers.map_tasks(process_tasks.interrupt, None, range(1))


def test_only_what_is_read_stays_on_the_workers(cluster: Cluster, small: Path) -> None:
    options = Options(skip=frozenset({"band", "pinsim", "causes", "tails", "coldstart"}))
    with open_workers(scheduler=cluster.address) as workers:
        assert analyze(read_log([str(small)]), options, workers=workers).splits
        assert isinstance(workers, DaskWorkers)
        assert len(workers._shared) == 1


def test_without_dask_the_extra_is_named(
    run: Run, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    code, out, err = run("analyze", small, "--scheduler", "tcp://127.0.0.1:9")
    assert (code, out) == (2, "")
    assert "pip install distributed" in err


def test_jobs_and_scheduler_exclude_each_other(run: Run, small: Path) -> None:
    code, out, err = run("analyze", small, "--jobs", 2, "--scheduler", "tcp://127.0.0.1:9")
    assert (code, out) == (2, "")
    assert "not allowed with" in err
