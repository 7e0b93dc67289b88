"""Tasks on a Dask scheduler: one that listens at an address, or one started on this machine."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import hashlib
import logging
import pickle
import queue
import signal
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from multiprocessing import resource_tracker
from types import TracebackType
from typing import Any, TypeVar

from cache_worthy.errors import UsageError
from cache_worthy.workers.local import Workers
from cache_worthy.workers.task import about, call

S = TypeVar("S")
I = TypeVar("I")
R = TypeVar("R")

CONNECT_SECONDS = 10.0
"""A scheduler that has not answered by then, or has no worker, is not there."""

LOST_SECONDS = 30.0
"""A run without a worker that works for so long is given up; one that is restarted is back in 3."""

RETRIES = 3
"""Times that a task is handed out again here, beside Dask's own retries."""

INSTALL = "pip install 'cache-worthy[cluster]'"


def _local_cluster(distributed: Any, jobs: int) -> Any:
    """Processes of this machine, which leave Ctrl-C to this one."""
    import dask

    # Ctrl-C reaches the whole group and would make each of them print a traceback. They inherit a
    # mask from the threads that start them; here it comes through once they run. (Python's own
    # resource tracker would lift the mask when it starts, so it starts first.)
    if hasattr(signal, "pthread_sigmask"):
        resource_tracker.ensure_running()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        # No memory limit: Dask would pause or kill workers at a share of the machine that it
        # computes itself. No fixed dashboard port: two runs at a time are no conflict. No profiler:
        # it looks at every stack a hundred times a second, a fifth of the time of a deep search.
        with dask.config.set({"distributed.worker.profile.enabled": False}):
            return distributed.LocalCluster(
                n_workers=jobs,
                threads_per_worker=1,
                processes=True,
                memory_limit=0,
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",
                silence_logs=logging.CRITICAL,
            )
    finally:
        if hasattr(signal, "pthread_sigmask"):
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _reach(distributed: Any, address: str) -> None:
    """Ask what listens there: a client would wait for ever for the answer of a web server."""

    async def ask() -> str:
        options = distributed.Security().get_connection_args("client")
        async with distributed.rpc(address, connection_args=options) as there:
            return str((await there.identity())["type"])

    async def in_time() -> str:
        return await asyncio.wait_for(ask(), CONNECT_SECONDS)

    kind = asyncio.run(in_time())
    if kind != "Scheduler":
        raise OSError(f"a {kind.lower()} does")


class _LostError(Exception):
    """A task, or what it reads, went with its worker."""


class DaskWorkers(Workers):
    """Processes of a Dask scheduler: one that listens at an address, or one started here."""

    def __init__(self, jobs: int, scheduler: str | None) -> None:
        self._option = f"--jobs {jobs}" if scheduler is None else f"--scheduler {scheduler}"
        try:
            import cloudpickle
            import distributed
        except ImportError as error:
            raise UsageError(
                f"{self._option}: needs dask.distributed ({INSTALL}): {error}"
            ) from error
        self._cloudpickle: Any = cloudpickle
        # The second has a level of its own in Dask's configuration.
        for name in ("distributed", "distributed.client"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        warnings.filterwarnings("ignore", module=r"distributed\.")
        self._shared: list[tuple[object, Any, str]] = []
        self._client: Any = None
        self._cluster: Any = None
        problem = "no Dask scheduler answers there within {:.0f} s"
        try:
            target: Any = scheduler
            if scheduler is None:
                problem = "cannot start processes"
                self._cluster = target = _local_cluster(distributed, jobs)
            else:
                _reach(distributed, scheduler)
            self._client = distributed.Client(target, timeout=CONNECT_SECONDS, set_as_default=False)
            problem = f"no worker within {{:.0f}} s; start one with: dask worker {scheduler}"
            self._client.wait_for_workers(1, timeout=CONNECT_SECONDS)
            self.count = len(self._client.nthreads())
            self._refuse_other_versions()
            if scheduler is not None:
                self._refuse_other_code()
        except UsageError:
            self.__exit__(None, None, None)
            raise
        except Exception as error:
            self.__exit__(None, None, None)
            text = (str(error).splitlines() or [""])[0][:200] or type(error).__name__
            raise UsageError(
                f"{self._option}: {problem.format(CONNECT_SECONDS)}: {text}"
            ) from error

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for part in (self._client, self._cluster):
            if part is not None:
                with contextlib.suppress(Exception):
                    part.close(timeout=5)

    def _refuse_other_versions(self) -> None:
        """Refuse another release of Dask, whose messages this one need not understand."""
        found = self._client.get_versions()
        here = found["client"]["packages"]["distributed"]
        others = {"the scheduler": found["scheduler"], **(found["workers"] or {})}
        for name, known in others.items():
            version = (known or {}).get("packages", {}).get("distributed")
            if version != here:
                raise UsageError(
                    f"{self._option}: {name} runs distributed {version}, this process "
                    f"{here}; install the same release on both"
                )

    def _refuse_other_code(self) -> None:
        """Before the log is read; a worker that joins later says so with its first task."""
        for found in self._client.run(about, on_error="return").values():
            if isinstance(found, Exception):
                raise UsageError(
                    f"{self._option}: a worker cannot import cache_worthy ({found}); install the "
                    "version of this process there"
                )
            self._refuse(found)

    def _refuse(self, found: str) -> None:
        if found != about():
            raise UsageError(f"{self._option}: a worker has {found}\n  here it is {about()}")

    def carry(self, module: str) -> None:
        if module in sys.modules:
            self._cloudpickle.register_pickle_by_value(sys.modules[module])

    def _packed(self, value: object, what: str) -> bytes:
        try:
            packed: bytes = self._cloudpickle.dumps(value, protocol=5)
        except Exception as error:
            raise UsageError(
                f"{what} cannot be sent to workers: {type(error).__name__}: {error}\n  run without "
                "--jobs and --scheduler"
            ) from error
        return packed

    def _send(self, shared: object) -> tuple[Any, str]:
        """Put ``shared`` on every worker, the first time that it is asked for."""
        for known, future, digest in self._shared:
            if known is shared:
                return future, digest
        # As bytes: Dask walks through lists and tuples element by element, minutes for a log.
        data = self._packed(shared, "the log")
        self._await_worker()
        with self._connected():
            (future,) = self._client.scatter([data], broadcast=True, hash=False)
        digest = hashlib.sha256(data).hexdigest()
        self.transferred += len(data)
        self._shared.append((shared, future, digest))
        return future, digest

    def _send_again(self, shared: object, lost: Any) -> None:
        """Forget a copy on the workers that went with one of them.

        Dask computes what was lost anew, but cannot do so with data that it was given; and of these
        it drops the copies on all workers but one when no task waits for them.
        """
        self._shared = [entry for entry in self._shared if entry[1] is not lost]

    def forget(self, shared: object) -> None:
        self._shared = [entry for entry in self._shared if entry[0] is not shared]

    def completed(
        self,
        function: Callable[[S, I], R],
        shared: S,
        items: Iterable[I],
        *,
        step: Callable[[str], None] = lambda text: None,
        label: Callable[[I], str] = lambda item: "",
    ) -> Iterator[tuple[int, R]]:
        names: dict[int, str] = {}
        payloads: dict[int, bytes] = {}
        running: dict[int, tuple[Any, Any]] = {}  # future, and the copy of `shared` that it reads
        tries: Counter[int] = Counter()
        finished: queue.SimpleQueue[int] = queue.SimpleQueue()

        def start(index: int) -> None:
            blob, digest = self._send(shared)
            with self._connected():
                future = self._client.submit(
                    call,
                    blob,
                    digest=digest,
                    expected=about(),
                    payload=payloads[index],
                    pure=False,
                )
            running[index] = future, blob
            future.add_done_callback(functools.partial(_put, finished, index))

        for index, item in enumerate(items):
            names[index] = label(item)
            payloads[index] = self._packed((function, item), names[index] or "a task")
            start(index)
        while running:
            index = self._next(finished)
            future, blob = running.pop(index)
            try:
                result: R = self._result(future, names[index])
            except _LostError as error:
                tries[index] += 1
                self._await_worker()
                if tries[index] > RETRIES:
                    raise self._gone(f"one task {RETRIES + 1} times, {error}") from error
                self._send_again(shared, blob)
                start(index)
                continue
            del payloads[index]
            step(f"{names.pop(index)}: done, {len(running)} wait or run")
            yield index, result

    def _next(self, finished: queue.SimpleQueue[int]) -> int:
        """The next task that finished; gives up when there is no worker left for it."""
        while True:
            try:
                return finished.get(timeout=1)
            except queue.Empty:
                self._await_worker()

    def _await_worker(self) -> None:
        """Return as soon as there is a worker that takes tasks, or is at one."""
        end = time.monotonic() + LOST_SECONDS
        while True:
            with self._connected():
                there = self._client.sync(self._client.scheduler.identity)["workers"].values()
            if any(
                worker["status"] == "running"
                or worker["metrics"].get("task_counts", {}).get("executing")
                for worker in there
            ):
                return
            if time.monotonic() > end:
                # Dask pauses a worker that fills most of the memory it may use, for good if what
                # fills it is the log.
                why = "no worker" if not there else "every worker paused for want of memory"
                raise self._gone(f"{why} for {LOST_SECONDS:.0f} s")
            time.sleep(0.1)

    @contextlib.contextmanager
    def _connected(self) -> Iterator[None]:
        """A scheduler that went away is told in one line."""
        try:
            yield
        except (OSError, RuntimeError, ValueError) as error:  # what Dask raises without one
            text = (str(error).splitlines() or [""])[0][:200]
            raise self._gone(f"the scheduler is gone: {text}") from error

    def _gone(self, why: str) -> UsageError:
        return UsageError(
            f"{self._option}: no result from the workers ({why}); nothing was written"
        )

    def _fetched(self, future: Any) -> bytes:
        """What a task that finished returned.

        A worker whose next task does not let go of the interpreter answers only after it: that is
        slow, not lost.
        """
        while True:
            try:
                packed: bytes = future.result(timeout=CONNECT_SECONDS)
            except TimeoutError:
                if future.status not in ("pending", "finished"):
                    raise
                self._await_worker()
            else:
                return packed

    def _result(self, future: Any, name: str) -> Any:
        import distributed

        try:
            kind, value = pickle.loads(self._fetched(future))
        except UsageError:
            raise
        except distributed.scheduler.KilledWorker as error:
            raise UsageError(
                f"{self._option}: a task took one worker after another down with it, perhaps for "
                "want of memory; give the workers more, or run without them"
            ) from error
        except Exception as error:  # cancelled, lost or not to be fetched: by Dask, not the task
            text = (str(error).splitlines() or [""])[0][:200]
            why = "perhaps for want of memory"
            if not isinstance(error, CancelledError | OSError):
                why = (
                    "perhaps because the scheduler or a worker has not the version of this process"
                )
            raise _LostError(f"{why}: {type(error).__name__}: {text}") from error
        if kind == "other code":
            self._refuse(value)
        if kind == "not unpacked":
            raise UsageError(
                f"{self._option}: {name or 'a task'}: a worker cannot unpack it ({value}); install "
                "there what your policy imports, or run without workers"
            )
        if kind == "raised":
            raise value
        return value


def _put(finished: queue.SimpleQueue[int], index: int, future: object) -> None:
    finished.put(index)
