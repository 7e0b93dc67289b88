"""Tasks in this process, in threads, or in other processes of this machine."""

from __future__ import annotations

import concurrent.futures
import contextlib
import multiprocessing
import os
import pickle
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Self, TypeVar

from cache_worthy.errors import UsageError
from cache_worthy.workers.task import call_on_file

S = TypeVar("S")
I = TypeVar("I")
R = TypeVar("R")
Task = Callable[[Any, Any], Any]
Named = list[tuple[str, Any]]
Step = Callable[[str], None]
Results = Iterator[tuple[int, Any]]

M_MMAP_THRESHOLD = -3
"""From malloc.h: larger blocks are mapped, and return to the system as soon as they are free."""

LOST_SECONDS = 30.0
"""How often to look whether workers are still there, while no task finishes."""


class Workers:
    """Where tasks run: in this process, unless a subclass says otherwise. A context manager."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Let the workers go."""

    def carry(self, module: str) -> None:
        """Send the code of a module along with what it defines, since workers may not have it."""

    def forget(self, shared: object) -> None:
        """No task will read ``shared`` any more, so workers need not keep it."""

    def completed(
        self,
        function: Callable[[S, I], R],
        shared: S,
        items: Iterable[I],
        *,
        step: Callable[[str], None] = lambda text: None,
        label: Callable[[I], str] = lambda item: "",
    ) -> Iterator[tuple[int, R]]:
        """``(index, result)`` of every task as it finishes.

        Parameters
        ----------
        function : callable
            ``function(shared, item)``, defined at the top level of a module.
        shared : object
            Read by every task and changed by none.
        items : iterable
        step : callable
            Told ``label(item)``.

        Raises
        ------
        UsageError
            If workers are lost for good, or do not run the code of this process.
        """
        return self._run(function, shared, [(label(item), item) for item in items], step=step)

    def _run(self, function: Task, shared: object, items: Named, *, step: Step) -> Results:
        for index, (name, item) in enumerate(items):
            step(name)
            yield index, function(shared, item)

    def map_tasks(
        self, function: Callable[[S, I], R], shared: S, items: Iterable[I], **told: Any
    ) -> list[R]:
        """The results in item order; see :meth:`completed`.

        Examples
        --------
        >>> Workers().map_tasks(lambda base, item: base + item, 10, [1, 2])
        [11, 12]
        """
        done = dict(self.completed(function, shared, items, **told))
        return [done[index] for index in range(len(done))]


SERIAL = Workers()


class Threads(Workers):
    """Threads of this process, for compiled replays, which release the interpreter lock.

    Threads read the same log, so nothing has to be started or sent. The error raised is that of
    the first item that fails, and no further task begins.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        # Each thread has its own heap, which keeps the large arrays of its last task unless they
        # are mapped separately: that shows in the peak of a large analysis. (glibc only.)
        if sys.platform == "linux":
            with contextlib.suppress(ImportError, AttributeError):
                import ctypes  # not every Python has it

                ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, 1 << 20)

    def _run(self, function: Task, shared: object, items: Named, *, step: Step) -> Results:
        pool = ThreadPoolExecutor(self._count)
        try:
            futures = [pool.submit(function, shared, item) for _, item in items]
            for index, future in enumerate(futures):
                step(items[index][0])
                yield index, future.result()
        finally:
            pool.shutdown(cancel_futures=True)


class Processes(Workers):
    """Processes of this machine, which end with this one however it ends."""

    def __init__(self, jobs: int) -> None:
        self._option = f"--jobs {jobs}"
        self._shared: dict[int, tuple[object, Any]] = {}
        self._others = set(multiprocessing.active_children())
        self._folder = tempfile.TemporaryDirectory(prefix="cache-worthy-")
        spawn = multiprocessing.get_context("spawn")
        self._executor: Executor = ProcessPoolExecutor(jobs, spawn, initializer=_end_with_parent)

    def __exit__(self, *error: object) -> None:
        for child in set(multiprocessing.active_children()) - self._others:
            child.kill()  # its task may take minutes more
        self._executor.shutdown(cancel_futures=True)
        self._folder.cleanup()

    def forget(self, shared: object) -> None:
        _, place = self._shared.pop(id(shared), (None, None))
        if isinstance(place, str):
            os.unlink(place)

    def _run(self, function: Task, shared: object, items: Named, *, step: Step) -> Results:
        if id(shared) not in self._shared:
            self._shared[id(shared)] = shared, self._send(self._packed(shared, "the log"))
        _, place = self._shared[id(shared)]
        tasks = [self._packed((function, item), name or "a task") for name, item in items]
        try:
            index = {self._submit(place, task): n for n, task in enumerate(tasks)}
            for future in self._finished(index):
                n = index.pop(future)
                done, value = pickle.loads(self._result(future))
                if not done:
                    raise value
                step(f"{items[n][0]}: done, {len(index)} waiting or running")
                yield n, value
        except BrokenProcessPool as error:
            raise UsageError(
                f"{self._option}: one of the processes was killed, perhaps for want of memory; give "
                "fewer --jobs; nothing was written"
            ) from error

    def _finished(self, futures: Iterable[Future[bytes]]) -> Iterator[Future[bytes]]:
        left = set(futures)
        while left:
            try:
                for future in concurrent.futures.as_completed(set(left), LOST_SECONDS):
                    left.remove(future)
                    yield future
            except TimeoutError:
                self._require_workers()

    def _packed(self, value: object, what: str) -> bytes:
        try:
            return self._dumps(value)
        except Exception as error:
            raise UsageError(
                f"{what} cannot be sent to workers: {type(error).__name__}: {error}\n  run without "
                "--jobs and --scheduler"
            ) from error

    def _dumps(self, value: object) -> bytes:
        return pickle.dumps(value, protocol=5)

    def _send(self, data: bytes) -> Any:
        with tempfile.NamedTemporaryFile(dir=self._folder.name, delete=False) as file:
            file.write(data)
        return file.name

    def _submit(self, place: Any, task: bytes) -> Future[bytes]:
        if sys.platform == "win32":
            return self._executor.submit(call_on_file, place, task)
        # The first tasks start processes, which inherit the mask: Ctrl-C reaches the whole process
        # group, and each of them would print a traceback.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            return self._executor.submit(call_on_file, place, task)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _result(self, future: Future[bytes]) -> bytes:
        return future.result()

    def _require_workers(self) -> None:
        """Raise `UsageError` where no worker is left; a pool of processes says so itself."""


def _end_with_parent() -> None:
    """Leave no process behind when the parent is killed and cannot end its pool."""

    def wait() -> None:
        if (parent := multiprocessing.parent_process()) is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
