"""Independent tasks: in this process, in other processes of this machine, or on a Dask cluster.

A task is ``function(shared, item)``: a module-level function, one large object that all tasks
read, and a small item. ``shared`` is pickled once and unpickled once by each worker. Results come
back in item order, so a sweep gives the same bytes wherever it runs, as long as the function is
deterministic.

Evidence: ``tests/cache_worthy/workers`` runs real processes and a real scheduler, kills workers
half way, and holds whole documents byte for byte against the serial run.
"""

from __future__ import annotations

import os

from cache_worthy.workers.local import SERIAL, Processes, Threads, Workers

__all__ = ["SERIAL", "Processes", "Threads", "Workers", "open_workers"]


def open_workers(jobs: int = 1, scheduler: str | None = None) -> Workers:
    """Workers for ``--jobs`` and ``--scheduler``.

    Raises
    ------
    UsageError
        If Dask is not installed, or the scheduler cannot be reached or has no worker.
    """
    if scheduler is not None:
        from cache_worthy.workers.cluster import DaskWorkers

        return DaskWorkers(scheduler)
    jobs = min(jobs, os.cpu_count() or 1)
    return SERIAL if jobs == 1 else Processes(jobs)
