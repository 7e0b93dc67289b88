"""Workers that are lost, or run something else: time is lost, never a result.

The tests stand in an order: each takes workers away and puts back what the next one needs.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import process_tasks
import pytest
from dask_cluster import Cluster, first_lines, pid_after_a_moment

import cache_worthy
from cache_worthy.advise.analysis import Options, analyze
from cache_worthy.documents import to_json
from cache_worthy.errors import UsageError
from cache_worthy.logs.session import read_log
from cache_worthy.workers import cluster as dask_workers
from cache_worthy.workers import local, open_workers
from cache_worthy.workers.cluster import DaskWorkers

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("cluster")) as started:
        yield started


@pytest.fixture
def small(sample: Path, tmp_path: Path) -> Path:
    return first_lines(sample, tmp_path)


def read_shared(shared: list[int], item: int) -> int:
    return shared[item] + len(shared)


def test_a_worker_killed_half_way_costs_nothing_but_time(cluster: Cluster, small: Path) -> None:
    log = read_log([str(small)])
    options = Options(skip=frozenset({"band", "splits", "pinsim", "causes"}))
    serial = to_json(analyze(log, options))
    killed: list[str] = []
    with open_workers(scheduler=cluster.address) as workers:

        def step(text: str) -> None:
            if text.startswith("policy table 9/") and not killed:
                killed.append(text)
                cluster.kill()

        again = to_json(analyze(log, options, step, workers))
        assert killed
        assert again == serial
        # One that joins late gets the log from the other.
        cluster.add_worker()
        cluster.wait_for(2)
        workers.carry(pid_after_a_moment.__module__)
        pids = {pid for _, pid in workers.map_tasks(pid_after_a_moment, log, range(40))}
        assert len(pids) == 2


def test_a_shared_object_lost_with_all_its_holders_is_made_again(cluster: Cluster) -> None:
    shared = list(range(1000))
    with open_workers(scheduler=cluster.address) as workers:
        workers.carry(__name__)
        first = workers.map_tasks(read_shared, shared, range(4))
        cluster.kill()
        cluster.kill()
        cluster.add_worker()
        cluster.add_worker()
        assert workers.map_tasks(read_shared, shared, range(4)) == first
    cluster.wait_for(2)


def test_all_workers_lost_ends_in_a_refusal(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "LOST_SECONDS", 1.0)
    with open_workers(scheduler=cluster.address) as workers:
        workers.carry(process_tasks.__name__)
        begun = time.monotonic()
        with pytest.raises(UsageError, match="no result from the workers") as told:
            workers.map_tasks(process_tasks.kill_yourself, None, range(12))
        assert len(str(told.value).splitlines()) <= 2
        assert time.monotonic() - begun < 20
    cluster.workers.clear()
    cluster.wait_for(0)


def test_a_scheduler_without_workers_is_refused(
    cluster: Cluster, run: Run, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_workers, "CONNECT_SECONDS", 1.0)
    code, out, err = run("analyze", small, "--scheduler", cluster.address)
    assert (code, out) == (2, "")
    assert "no worker; start one with: dask worker" in err


def test_workers_without_memory_end_in_a_refusal(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.add_worker(memory="20 MB")
    cluster.wait_for(1, "paused")
    cluster.add_worker()
    with open_workers(scheduler=cluster.address) as workers:
        workers.carry(pid_after_a_moment.__module__)
        cluster.kill()
        cluster.wait_for(1, "paused")
        monkeypatch.setattr(local, "LOST_SECONDS", 1.0)
        with pytest.raises(UsageError, match="every worker paused for want of memory"):
            workers.map_tasks(pid_after_a_moment, None, range(3))
    cluster.kill()
    cluster.wait_for(0)


def test_a_worker_with_other_code_is_refused(
    cluster: Cluster, run: Run, small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = Path(cache_worthy.__file__).parent
    shutil.copytree(package, tmp_path / "cache_worthy")
    with (tmp_path / "cache_worthy" / "quantiles.py").open("a", encoding="utf-8") as out:
        out.write("# changed\n")
    cluster.add_worker(path=str(tmp_path))
    cluster.wait_for(1)
    code, text, err = run("analyze", small, "--scheduler", cluster.address)
    assert (code, text) == (2, "")
    assert len(err.splitlines()) == 2
    assert err.count("cache-worthy with sources") == 2
    # One that joins later is found out by its first task.
    monkeypatch.setattr(DaskWorkers, "_refuse_other_code", lambda self: None)
    assert run("analyze", small, "--scheduler", cluster.address) == (code, text, err)


def test_a_worker_without_this_package_is_refused(
    cluster: Cluster, run: Run, small: Path, tmp_path: Path
) -> None:
    cluster.kill()
    (tmp_path / "cache_worthy").mkdir()
    (tmp_path / "cache_worthy" / "__init__.py").write_text("raise ImportError('not here')")
    cluster.add_worker(path=str(tmp_path))
    cluster.wait_for(1)
    code, text, err = run("analyze", small, "--scheduler", cluster.address)
    assert (code, text) == (2, "")
    assert "a worker cannot import cache_worthy (ImportError('not here'))" in err
    cluster.kill()
    cluster.add_worker()
    cluster.wait_for(1)


def test_another_release_of_dask_is_refused(
    cluster: Cluster, run: Run, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import distributed

    found = distributed.Client.get_versions

    def other(self: object) -> dict[str, dict[str, dict[str, dict[str, str]]]]:
        versions: dict[str, dict[str, dict[str, dict[str, str]]]] = found(self)
        versions["scheduler"]["packages"]["distributed"] = "2019.1"  # type: ignore[assignment]
        return versions

    monkeypatch.setattr(distributed.Client, "get_versions", other)
    code, text, err = run("analyze", small, "--scheduler", cluster.address)
    assert (code, text) == (2, "")
    assert "the scheduler runs distributed 2019.1, this process" in err


def test_a_scheduler_that_goes_away_ends_in_a_refusal(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "LOST_SECONDS", 1.0)
    cluster.kill()
    cluster.add_worker()
    cluster.wait_for(1)
    with open_workers(scheduler=cluster.address) as workers:
        workers.carry(pid_after_a_moment.__module__)
        for index, _ in workers.completed(pid_after_a_moment, None, range(1)):
            assert index == 0
        cluster.processes[0].kill()
        begun = time.monotonic()
        with pytest.raises(UsageError, match=r"lost|gone"):
            workers.map_tasks(pid_after_a_moment, 5, range(100))
        assert time.monotonic() - begun < 30
