"""What a worker says of itself, and what a task raises on it."""

from __future__ import annotations

import pickle
import sys
import threading
from importlib import metadata
from pathlib import Path

from dask_cluster import raise_deep

from cache_worthy.errors import UsageError
from cache_worthy.workers import task


def test_a_process_says_what_it_computes_with() -> None:
    about = task.about()
    assert f"Python {sys.version_info.major}.{sys.version_info.minor}," in about
    for package in ("numpy", "pulp", "highspy", "z3-solver"):
        assert f"{package} {metadata.version(package)}" in about
    assert task.about("theory") != about


def raise_what_cannot_travel(shared: object, item: int) -> None:
    raise ValueError(threading.Lock())


def test_errors_travel_as_text_where_they_cannot_be_pickled(tmp_path: Path) -> None:
    file = tmp_path / "shared"
    file.write_bytes(pickle.dumps(None))
    for function, kind in ((raise_deep, UsageError), (raise_what_cannot_travel, RuntimeError)):
        done, error = pickle.loads(task.call_on_file(str(file), pickle.dumps((function, 0))))
        assert (done, type(error)) == (False, kind)
