"""One task on the worker of a cluster, and what that worker computes with."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import pickle
import platform
import traceback
from importlib import metadata
from pathlib import Path

PACKAGE = Path(__file__).parents[1]


@functools.lru_cache
def about(folder: str = ".") -> str:
    """What this process computes with: versions, and a digest of the package's sources.

    Of those in ``folder`` of the package only, if it is given.
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
"""The shared object that this worker has unpacked, by digest: one, because logs are large."""


def _unpacked(data: bytes, digest: str) -> object:
    if not _LAST or _LAST[0][0] != digest:
        _LAST[:] = [(digest, pickle.loads(data))]
    return _LAST[0][1]


def call(data: bytes, digest: str, expected: str, payload: bytes) -> bytes:
    """Run one task; what it raises is a result, so that other errors are the cluster's own."""
    if about() != expected:
        return pickle.dumps(("other code", about()))
    try:
        shared = _unpacked(data, digest)
        function, item = pickle.loads(payload)
    except Exception as error:  # noqa: BLE001 (told where it was asked)
        return pickle.dumps(("not unpacked", f"{type(error).__name__}: {error}"))
    try:
        answer = ("ok", function(shared, item))
    except BaseException as error:  # noqa: BLE001 (raised again where it was asked)
        answer = ("raised", portable(error))
    return pickle.dumps(answer, protocol=5)


def portable(error: BaseException) -> BaseException:
    """The error without its frames, or its text where it does not survive pickling.

    Dask makes frames picklable, and those of a deep recursion are too many.
    """
    error.add_note("".join(traceback.format_exception(error)))
    error.__cause__ = error.__context__ = None
    error = error.with_traceback(None)
    with contextlib.suppress(Exception):
        if type(pickle.loads(pickle.dumps(error))) is type(error):
            return error
    return RuntimeError(f"{type(error).__name__}: {error}")
