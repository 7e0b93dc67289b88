"""One task on a worker, and what that worker computes with."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import pickle
import platform
import traceback
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

from cache_worthy.errors import UsageError

PACKAGE = Path(__file__).parents[1]


@functools.lru_cache
def about(folder: str = ".") -> str:
    """What this process computes with: versions, and a digest of the package's sources.

    If ``folder`` is given, of the sources in that folder of the package only.
    """
    root = PACKAGE / folder
    digest = hashlib.sha256()
    files = [
        Path(folder, name)
        for folder, _, names in os.walk(root, followlinks=True)
        for name in names
        if name.endswith(".py")
    ]
    for file in sorted(files, key=lambda f: f.relative_to(root).as_posix()):
        digest.update(file.relative_to(root).as_posix().encode() + b"\0")
        digest.update(file.read_bytes() + b"\0")
    versions = ["Python " + ".".join(platform.python_version_tuple()[:2])]
    for package in ("numpy", "pulp", "highspy", "z3-solver"):
        with contextlib.suppress(metadata.PackageNotFoundError):
            versions.append(f"{package} {metadata.version(package)}")
    return f"cache-worthy with sources {digest.hexdigest()[:12]}, {', '.join(versions)}"


_LAST: list[tuple[str, object]] = []
"""The shared object that this worker unpacked last, by name: one only, because logs are large."""


def call_on_file(file: str, payload: bytes) -> bytes:
    """Run one task whose shared object is in a file."""
    return _call(file, Path(file).read_bytes, payload)


def call_on_bytes(shared: bytes, name: str, payload: bytes, expected: str) -> bytes:
    """Run one task on a cluster, whose workers may have other code than ``expected``."""

    def read() -> bytes:
        require_same(expected)
        return shared

    return _call(name, read, payload)


def require_same(expected: str) -> None:
    """Refuse to work for a process that computes with something else."""
    if about() != expected:
        raise UsageError(f"a worker has {about()}\n  here it is {expected}")


def _call(name: str, read: Callable[[], bytes], payload: bytes) -> bytes:
    """Whether a task succeeded, and its result or what it raised.

    Errors that are raised here instead are those of the workers themselves.
    """
    try:
        return pickle.dumps((True, _result(name, read, payload)), protocol=5)
    except BaseException as error:  # noqa: BLE001 (raised again by the caller)
        error.add_note(traceback.format_exc())
        # Dask makes frames picklable, and those of a deep recursion are too many.
        error.__cause__ = error.__context__ = error.__traceback__ = None
        try:
            packed = pickle.dumps((False, error))
            pickle.loads(packed)
        except Exception:  # noqa: BLE001 (some errors cannot be pickled, or not unpickled)
            packed = pickle.dumps((False, RuntimeError(f"{type(error).__name__}: {error}")))
        return packed


def _result(name: str, read: Callable[[], bytes], payload: bytes) -> object:
    try:
        if not _LAST or _LAST[0][0] != name:
            _LAST[:] = [(name, pickle.loads(read()))]
        function, item = pickle.loads(payload)
    except UsageError:
        raise
    except Exception as error:
        raise UsageError(
            f"a worker cannot unpack its task ({type(error).__name__}: {error}); install there what "
            "your policy imports, or run without workers"
        ) from error
    return function(_LAST[0][1], item)
