"""Tasks on the workers of a Dask scheduler, which runs again what is lost with a worker."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
import uuid
import warnings
from concurrent.futures import CancelledError, Future
from typing import Any

from cache_worthy.errors import UsageError
from cache_worthy.workers import local
from cache_worthy.workers.task import about, call_on_bytes, require_same

CONNECT_SECONDS = 10.0
"""How long the scheduler may take to answer, and to have a worker."""


class DaskWorkers(local.Processes):
    """Workers of the scheduler that listens at an address."""

    def __init__(self, scheduler: str) -> None:
        self._option = f"--scheduler {scheduler}"
        self._shared = {}
        try:
            import cloudpickle
            import distributed
        except ImportError as error:
            raise UsageError(
                f"{self._option}: needs dask.distributed (pip install distributed): {error}"
            ) from error
        self._cloudpickle: Any = cloudpickle
        # The second has a level of its own in Dask's configuration.
        for name in ("distributed", "distributed.client"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        warnings.filterwarnings("ignore", module=r"distributed\.")
        self._client: Any = None
        problem = "no Dask scheduler answers there"
        try:
            asyncio.run(_require_scheduler(scheduler))
            self._client = distributed.Client(
                scheduler, timeout=CONNECT_SECONDS, set_as_default=False
            )
            problem = f"no worker; start one with: dask worker {scheduler}"
            self._client.wait_for_workers(1, timeout=CONNECT_SECONDS)
            self._refuse_other_versions()
            self._refuse_other_code()
            # Retries are for tasks that Dask cannot start; those of lost workers are its own.
            self._executor = self._client.get_executor(pure=False, retries=3)
        except Exception as error:
            self.__exit__()
            if isinstance(error, UsageError):
                raise
            raise UsageError(
                f"{self._option}: {problem} ({CONNECT_SECONDS:.0f} s): {_line(error)}"
            ) from error

    def __exit__(self, *error: object) -> None:
        if self._client is not None:
            with contextlib.suppress(Exception):
                self._client.close(timeout=5)

    def _refuse_other_versions(self) -> None:
        """Refuse other releases of Dask, whose messages this one may not understand."""
        found = self._client.get_versions()
        others = {"the scheduler": found["scheduler"], **found["workers"]}
        here, *there = (
            known["packages"]["distributed"] for known in (found["client"], *others.values())
        )
        for name, version in zip(others, there, strict=True):
            if version != here:
                raise UsageError(
                    f"{self._option}: {name} runs distributed {version}, this process {here}; "
                    "install the same release on both"
                )

    def _refuse_other_code(self) -> None:
        """Before the log is read; a worker that joins later is found out by its first task."""
        for found in self._client.run(require_same, about(), on_error="return").values():
            if isinstance(found, UsageError):
                raise found
            if found is not None:
                raise UsageError(
                    f"{self._option}: a worker cannot import cache_worthy ({found}); install the "
                    "version of this process there"
                )

    def carry(self, module: str) -> None:
        if module in sys.modules:
            self._cloudpickle.register_pickle_by_value(sys.modules[module])

    def _dumps(self, value: object) -> bytes:
        packed: bytes = self._cloudpickle.dumps(value, protocol=5)
        return packed

    def _send(self, data: bytes) -> Any:
        # As the result of a task, which Dask can run again when all workers that held it are lost;
        # as bytes, because Dask walks through lists element by element.
        with self._connected():
            return self._client.submit(bytes, data, pure=False), uuid.uuid4().hex

    def _submit(self, place: Any, task: bytes) -> Future[bytes]:
        data, name = place
        with self._connected():
            return self._executor.submit(
                call_on_bytes, data, name=name, payload=task, expected=about()
            )

    def _result(self, future: Future[bytes]) -> bytes:
        try:
            return future.result()
        except (Exception, CancelledError) as error:  # of Dask; what a task raises is its result
            why = "the scheduler is gone" if isinstance(error, CancelledError) else _line(error)
            raise self._lost(why) from error

    def _require_workers(self) -> None:
        """Give up when no worker accepts or runs a task for `LOST_SECONDS`."""
        with self._connected():
            try:
                self._client.wait_for_workers(1, timeout=local.LOST_SECONDS)
            except TimeoutError as error:
                there = self._client.sync(self._client.scheduler.identity)["workers"].values()
                if any(w["metrics"].get("task_counts", {}).get("executing") for w in there):
                    return
                # Dask pauses a worker that fills most of the memory it may use, for good if what
                # fills it is the log.
                why = "every worker paused for want of memory" if there else "no worker is left"
                raise self._lost(why) from error

    @contextlib.contextmanager
    def _connected(self) -> Any:
        try:
            yield
        except (OSError, RuntimeError, ValueError) as error:  # what Dask raises without a scheduler
            raise self._lost(f"the scheduler is gone: {_line(error)}") from error

    def _lost(self, why: str) -> UsageError:
        return UsageError(
            f"{self._option}: no result from the workers ({why}); nothing was written"
        )


async def _require_scheduler(address: str) -> None:
    """Ask what listens there: a client would wait forever for the answer of a web server."""
    import distributed

    async def ask() -> str:
        options = distributed.Security().get_connection_args("client")
        async with distributed.rpc(address, connection_args=options) as there:
            return str((await there.identity())["type"])

    kind = await asyncio.wait_for(ask(), CONNECT_SECONDS)
    if kind != "Scheduler":
        raise OSError(f"a {kind.lower()} does")


def _line(error: BaseException) -> str:
    return (str(error).splitlines() or [""])[0][:200] or type(error).__name__
