"""Independent tasks in this process, in processes of this machine, or on a Dask cluster, by one loop.

A task is ``function(shared, item)``: a module-level function, one large object that all tasks
read, and a small item. ``shared`` is pickled once and travels to each worker once, however many
maps use it; results come back in item order. So a sweep gives the same bytes wherever it runs, as
long as the function is deterministic, and workers with other code than this are refused.

Evidence: ``tests/cache_worthy/workers`` runs a real scheduler with two workers, kills one of
them half way, and holds whole documents byte for byte against the serial run.
"""

from __future__ import annotations

import os

from cache_worthy.workers.local import SERIAL, Threads, Workers

__all__ = ["SERIAL", "Threads", "Workers", "open_workers"]


def open_workers(jobs: int = 1, scheduler: str | None = None) -> Workers:
    """Workers for ``--jobs`` and ``--scheduler``.

    Raises
    ------
    UsageError
        If Dask is not installed, or the scheduler cannot be reached or has no worker.
    """
    jobs = min(jobs, os.cpu_count() or 1)
    if scheduler is None and jobs == 1:
        return SERIAL
    from cache_worthy.workers.cluster import DaskWorkers

    return DaskWorkers(jobs, scheduler)
