"""A Dask scheduler and its workers as processes on loopback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Self

from cache_worthy.errors import UsageError


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
        text = ""  # the file is there before all of it is written
        while '"address": "' not in text and time.monotonic() < end:
            time.sleep(0.05)
            text = file.read_text(encoding="utf-8") if file.exists() else ""
        self.address = text.split('"address": "')[1].split('"')[0]

    def _start(self, module: str, *options: str, path: str = "") -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.{module}", *options],
            cwd=self.folder,
            env={**os.environ, **({"PYTHONPATH": path} if path else {})},
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

    def __enter__(self) -> Self:
        self.wait_for(2)
        return self

    def __exit__(self, *error: object) -> None:
        """End all of them."""
        for process in self.processes:
            process.kill()
            process.wait()


def pid_after_a_moment(shared: object, item: int) -> tuple[int, int]:
    """Which process worked on the item."""
    time.sleep(0.02)
    return item, os.getpid()


def raise_deep(shared: object, item: int) -> int:
    """Raise at the end of a deep recursion."""

    def deeper() -> int:
        return deeper()

    try:
        return deeper()
    except RecursionError as error:
        raise UsageError("too deep") from error


def first_lines(log: Path, folder: Path) -> Path:
    """A small log: the first lines of one."""
    file = folder / "small.jsonl"
    lines = log.read_text(encoding="utf-8").splitlines(keepends=True)
    file.write_text("".join(lines[:60]), encoding="utf-8")
    return file
