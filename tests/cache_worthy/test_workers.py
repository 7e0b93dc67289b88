"""Tasks in processes and on a real scheduler: the same bytes, lost workers, clear refusals.

The scheduler and its workers are processes on loopback, started once for the file. Tests that take
workers away stand last, and put back what the next one needs.
"""

from __future__ import annotations

import contextlib
import gc
import http.server
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator
from importlib import metadata
from pathlib import Path
from typing import cast

import pytest

import cache_worthy
from cache_worthy import workers as tasks
from cache_worthy.advise.analysis import Options, analyze
from cache_worthy.console import to_json
from cache_worthy.errors import UsageError
from cache_worthy.logs.session import read_log
from cache_worthy.workers import open_workers

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


class Cluster:
    """A scheduler and its workers, each a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        file = folder / "scheduler.json"
        self.processes: list[subprocess.Popen[bytes]] = []
        self.workers: list[subprocess.Popen[bytes]] = []
        self._start("dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard",
                    "--scheduler-file", str(file))  # fmt: skip
        self.add_worker()
        self.add_worker()
        end = time.monotonic() + 60
        while not file.exists() and time.monotonic() < end:
            time.sleep(0.05)
        text = file.read_text(encoding="utf-8")
        self.address = text.split('"address": "')[1].split('"')[0]

    def _start(self, module: str, *options: str, path: str = "") -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.{module}", *options],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": path},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.processes.append(process)
        return process

    def add_worker(self, path: str = "", memory: str = "0") -> None:
        """One more worker, without the nanny that would replace it when it dies."""
        options = ("--scheduler-file", "scheduler.json", "--no-nanny", "--nthreads", "1")
        self.workers.append(
            self._start(
                "dask_worker", *options, "--no-dashboard", "--memory-limit", memory, path=path
            )
        )

    def kill(self) -> None:
        """End one worker at once."""
        worker = self.workers.pop()
        worker.send_signal(signal.SIGKILL)
        worker.wait()

    def wait_for(self, number: int, status: str = "running") -> None:
        """Until the scheduler knows so many workers, all in that state."""
        import distributed

        with distributed.Client(self.address, set_as_default=False) as client:
            end = time.monotonic() + 60
            while time.monotonic() < end:
                workers = client.sync(client.scheduler.identity)["workers"].values()
                if [worker["status"] for worker in workers] == [status] * number:
                    return
                time.sleep(0.05)
            raise AssertionError(f"not {number} workers that are {status}: {workers}")

    def close(self) -> None:
        """End all of them."""
        for process in self.processes:
            process.kill()
            process.wait()


@pytest.fixture
def small(sample: Path, tmp_path: Path) -> Path:
    """The head of the sample log."""
    file = tmp_path / "small.jsonl"
    lines = sample.read_text(encoding="utf-8").splitlines(keepends=True)
    file.write_text("".join(lines[:60]), encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    made = Cluster(tmp_path_factory.mktemp("cluster"))
    try:
        made.wait_for(2)
        yield made
    finally:
        made.close()


class Web(http.server.BaseHTTPRequestHandler):
    """Answers in another protocol."""

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


class Counted:
    """Writes a line to a file whenever it is unpacked."""

    packed = 0

    def __init__(self, file: str) -> None:
        self.file = file

    def __reduce__(self) -> tuple[Callable[[str], Counted], tuple[str]]:
        Counted.packed += 1
        return unpack_counted, (self.file,)


def unpack_counted(file: str) -> Counted:
    with open(file, "a", encoding="utf-8") as out:
        out.write(f"{os.getpid()}\n")
    return Counted(file)


def pid_after_a_moment(shared: object, item: int) -> tuple[int, int]:
    time.sleep(0.02)
    return item, os.getpid()


def read_shared(shared: list[int], item: int) -> int:
    return shared[item] + len(shared)


def test_the_document_is_the_same_wherever_it_is_made(
    run: Run, small: Path, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    argv = ("analyze", small, "--json")
    serial = run(*argv)
    assert serial[0] == 0
    assert run(*argv, "--scheduler", cluster.address) == serial
    assert run(*argv, "--jobs", 100_000) == serial  # no more than there are CPUs


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
    assert "leaves:Own: a worker cannot unpack it (ModuleNotFoundError: No module named" in err


def test_the_shared_object_travels_once_to_each_worker(cluster: Cluster, tmp_path: Path) -> None:
    shared = Counted(str(tmp_path / "unpacked"))
    Counted.packed = 0
    with open_workers(scheduler=cluster.address) as workers:
        workers.carry(__name__)
        first = workers.map_tasks(pid_after_a_moment, shared, range(20))
        second = workers.map_tasks(pid_after_a_moment, shared, range(20))
    assert [item for item, _ in first + second] == [*range(20), *range(20)]
    pids = {pid for _, pid in first + second}
    assert len(pids) == 2
    assert os.getpid() not in pids
    assert Counted.packed == 1
    assert sorted((tmp_path / "unpacked").read_text().split()) == sorted(map(str, pids))


def test_a_scheduler_that_is_not_there(
    run: Run, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "CONNECT_SECONDS", 1.0)
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
    monkeypatch.setattr(tasks, "CONNECT_SECONDS", 0.1)
    file = tmp_path / "begun"
    with contextlib.ExitStack() as stack:
        with monkeypatch.context() as patient:
            patient.setattr(tasks, "CONNECT_SECONDS", 10.0)
            workers = stack.enter_context(open_workers(scheduler=cluster.address))
        workers.carry(__name__)
        assert workers.map_tasks(hold_the_interpreter, str(file), range(4)) == [0, 1, 2, 3]
    assert sorted(file.read_text().split()) == ["0", "1", "2", "3"]


def raise_deep(shared: object, item: int) -> int:
    def deeper() -> int:
        return deeper()

    try:
        return deeper()
    except RecursionError as error:
        raise UsageError("too deep") from error


def interrupt(shared: object, item: int) -> int:
    raise KeyboardInterrupt


def test_what_a_task_raises_is_raised_here(cluster: Cluster) -> None:
    with open_workers(scheduler=cluster.address) as workers:
        workers.carry(__name__)
        with pytest.raises(UsageError, match="too deep") as told:
            workers.map_tasks(raise_deep, None, range(1))
        assert any("in raise_deep" in note for note in told.value.__notes__)
        with pytest.raises(KeyboardInterrupt):
            workers.map_tasks(interrupt, None, range(1))
        assert workers.count == 2


def late_if_even(seen: list[int], item: int) -> int:
    """The first items finish last; 2 and 3 raise, 3 earlier than 2."""
    seen.append(item)
    time.sleep(0.05 * (item % 2 == 0))
    if item in (2, 3):
        raise UsageError(f"item {item}")
    return item


def test_threads_do_what_one_process_does() -> None:
    """Results and words in item order; what the first item raises that does; nothing after that."""
    found: list[object] = []
    for workers in (tasks.SERIAL, tasks.Threads(2)):
        told: list[str] = []
        items = [0, 1, 4, 5]
        done = workers.map_tasks(late_if_even, [], items, step=told.append, label=str)
        seen: list[int] = []
        with pytest.raises(UsageError) as error:
            workers.map_tasks(late_if_even, seen, range(100))
        assert len(seen) < 20
        found.append((done, told, str(error.value)))
    assert found == [([0, 1, 4, 5], ["0", "1", "4", "5"], "item 2")] * 2


def test_threads_end_with_who_asked() -> None:
    """A generator closed early, or an error: what runs ends, nothing more begins, no thread stays."""
    before = set(threading.enumerate())
    seen: list[int] = []
    running = cast(
        "Generator[tuple[int, int]]", tasks.Threads(2).completed(late_if_even, seen, [0] * 100)
    )
    assert next(running) == (0, 0)
    running.close()
    assert len(seen) < 20
    with pytest.raises(UsageError):
        tasks.Threads(2).map_tasks(late_if_even, [], range(100))
    assert set(threading.enumerate()) <= before


def test_threads_need_no_ctypes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which a Python built without libffi lacks; what it is there for is memory alone."""
    monkeypatch.setitem(sys.modules, "ctypes", None)
    assert tasks.Threads(2).map_tasks(late_if_even, [], [1, 0]) == [1, 0]
    assert "ctypes" not in vars(tasks)


def test_a_process_says_what_it_computes_with() -> None:
    about = tasks.about()
    assert f"Python {sys.version_info.major}.{sys.version_info.minor}," in about
    for package in ("numpy", "pulp", "highspy", "z3-solver"):
        assert f"{package} {metadata.version(package)}" in about
    assert tasks.about("theory") != about


def test_errors_travel_without_their_frames() -> None:
    try:
        raise_deep(None, 0)
    except UsageError as error:
        sent = tasks._portable(error)
    assert (sent.__traceback__, sent.__cause__, sent.__context__) == (None, None, None)
    assert type(tasks._portable(ValueError(threading.Lock()))) is RuntimeError


def test_only_what_is_read_stays_on_the_workers(cluster: Cluster, small: Path) -> None:
    options = Options(skip=frozenset({"band", "pinsim", "causes", "tails", "coldstart"}))
    with open_workers(scheduler=cluster.address) as workers:
        assert analyze(read_log([str(small)]), options, workers=workers).splits
        assert isinstance(workers, tasks._Dask)
        ((log, _, _),) = workers._shared
        sent = workers.transferred
        workers.carry(__name__)
        workers.map_tasks(pid_after_a_moment, log, range(1))
        assert workers.transferred == sent
        workers.forget(log)
        workers.map_tasks(pid_after_a_moment, log, range(1))
        assert workers.transferred > sent


def test_without_dask_the_extra_is_named(
    run: Run, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    code, out, err = run("analyze", small, "--jobs", 2)
    assert (code, out) == (2, "")
    assert "pip install 'cache-worthy[cluster]'" in err


def test_jobs_and_scheduler_exclude_each_other(run: Run, small: Path) -> None:
    code, out, err = run("analyze", small, "--jobs", 2, "--scheduler", "tcp://127.0.0.1:9")
    assert (code, out) == (2, "")
    assert "not allowed with" in err


# -- workers are lost from here on ----------------------------------------------------------------


def test_a_worker_killed_half_way_costs_nothing_but_time(cluster: Cluster, small: Path) -> None:
    log = read_log([str(small)])
    options = Options(skip=frozenset({"band", "splits", "pinsim", "causes"}))
    serial = to_json(analyze(log, options))
    killed: list[str] = []
    with open_workers(scheduler=cluster.address) as workers:
        assert workers.count == 2

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
        workers.carry(__name__)
        pids = {pid for _, pid in workers.map_tasks(pid_after_a_moment, log, range(40))}
        assert len(pids) == 2


def test_a_shared_object_lost_with_all_its_holders_is_sent_again(cluster: Cluster) -> None:
    """Dask cannot make anew what it was given, and may keep one copy where nothing waits for it."""
    shared = list(range(1000))
    with open_workers(scheduler=cluster.address) as workers:
        workers.carry(__name__)
        first = workers.map_tasks(read_shared, shared, range(4))
        sent = workers.transferred
        cluster.kill()
        cluster.kill()
        cluster.add_worker()
        cluster.add_worker()
        assert workers.map_tasks(read_shared, shared, range(4)) == first
        assert workers.transferred == 2 * sent > 0
    cluster.wait_for(2)


def kill_yourself(shared: object, item: int) -> int:
    if item == 7:
        os.kill(os.getpid(), signal.SIGKILL)
    return item


def test_all_workers_lost_ends_in_a_refusal(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "LOST_SECONDS", 1.0)
    with open_workers(scheduler=cluster.address) as workers:
        workers.carry(__name__)
        begun = time.monotonic()
        with pytest.raises(
            UsageError, match=r"no result from the workers|one worker after another"
        ) as told:
            workers.map_tasks(kill_yourself, None, range(12))
        assert len(str(told.value).splitlines()) <= 2
        assert time.monotonic() - begun < 20
    cluster.workers.clear()
    cluster.wait_for(0)


def test_a_scheduler_without_workers_is_refused(
    cluster: Cluster, run: Run, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "CONNECT_SECONDS", 1.0)
    code, out, err = run("analyze", small, "--scheduler", cluster.address)
    assert (code, out) == (2, "")
    assert "no worker within 1 s" in err


def test_workers_without_memory_end_in_a_refusal(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.add_worker(memory="20 MB")
    cluster.wait_for(1, "paused")
    cluster.add_worker()
    with open_workers(scheduler=cluster.address) as workers:
        workers.carry(__name__)
        cluster.kill()
        cluster.wait_for(1, "paused")
        monkeypatch.setattr(tasks, "LOST_SECONDS", 1.0)
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
    monkeypatch.setattr(tasks._Dask, "_refuse_other_code", lambda self: None)
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
    monkeypatch.setattr(tasks, "LOST_SECONDS", 1.0)
    cluster.kill()
    cluster.add_worker()
    cluster.wait_for(1)
    with open_workers(scheduler=cluster.address) as workers:
        workers.carry(__name__)
        for index, _ in workers.completed(pid_after_a_moment, None, range(1)):
            assert index == 0
        cluster.processes[0].kill()
        begun = time.monotonic()
        with pytest.raises(UsageError, match=r"lost|gone"):
            workers.map_tasks(pid_after_a_moment, 5, range(100))
        assert time.monotonic() - begun < 30
