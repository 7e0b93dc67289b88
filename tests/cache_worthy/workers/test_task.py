"""What a worker says of itself, and what a task raises on it."""

from __future__ import annotations

import sys
import threading
from importlib import metadata

from dask_cluster import raise_deep

from cache_worthy.errors import UsageError
from cache_worthy.workers import task
from cache_worthy.workers.task import portable


def test_a_process_says_what_it_computes_with() -> None:
    about = task.about()
    assert f"Python {sys.version_info.major}.{sys.version_info.minor}," in about
    for package in ("numpy", "pulp", "highspy", "z3-solver"):
        assert f"{package} {metadata.version(package)}" in about
    assert task.about("theory") != about


def test_errors_travel_without_their_frames() -> None:
    try:
        raise_deep(None, 0)
    except UsageError as error:
        sent = portable(error)
    assert (sent.__traceback__, sent.__cause__, sent.__context__) == (None, None, None)
    assert type(portable(ValueError(threading.Lock()))) is RuntimeError
