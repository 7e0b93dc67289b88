"""The finished pieces of a search in a file, from which an interrupted search continues.

JSON lines: a head that describes the search, then one line per finished piece, appended as it
finishes. A resumed search ends as one that was never interrupted. The last line may be cut; its piece
is searched again. Every line carries its digest, because a changed digit would be a false result.
Nothing is overwritten: a file of another search or version, or in use by a running search, is refused.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from cache_worthy.documents import jsonable
from cache_worthy.errors import UsageError
from cache_worthy.workers.task import about

if TYPE_CHECKING:
    from cache_worthy.theory.search.task import Outcome, Task

KIND = "cache-worthy search state"


class SearchState:
    """Finished pieces by their task, in an open file; without one nothing is kept."""

    def __init__(self, handle: int | None, file: str, found: dict[str, Outcome]) -> None:
        self._handle, self._file, self._found = handle, file, found

    def outcome(self, task: Task) -> Outcome | None:
        """The outcome of a task, if it is finished."""
        return self._found.get(_key(task))

    def keep(self, task: Task, outcome: Outcome) -> None:
        """Keep a finished piece; one that ran out of time is not."""
        if self._handle is not None and outcome.complete:
            found = {"coverage": outcome.coverage, "witness": outcome.witness}
            line = jsonable({"piece": _key(task), **found})
            _append(self._handle, self._file, _sealed(cast("dict[str, object]", line)))


@contextlib.contextmanager
def open_state(file: str | None, parameters: Mapping[str, object]) -> Iterator[SearchState]:
    """The state in a file, created if it is not there; without a file one that keeps nothing.

    Raises
    ------
    UsageError
        If the file holds something else, another search or another version, or is damaged anywhere
        but in its last line, or cannot be written, or another process has it open here.
    """
    if file is None:
        yield SearchState(None, "", {})
        return
    head = _head(parameters)
    try:
        handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
    except OSError as error:
        raise UsageError(f"--state {file}: cannot open: {error.strerror or error}") from error
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise UsageError(f"--state {file}: is no regular file; give the name of one")
        _lock(handle, file)
        text = Path(file).read_bytes()
        whole, newline, cut = text.rpartition(b"\n")
        first = json.dumps(head).encode()
        if not newline and first.startswith(cut):  # new, or not even its head was written whole
            os.truncate(handle, 0)
            _append(handle, file, head)
            found: dict[str, Outcome] = {}
        else:
            found = _read(file, whole.split(b"\n") if newline else [cut], head)
            os.truncate(handle, len(whole) + len(newline))
        yield SearchState(handle, file, found)
    except OSError as error:
        raise UsageError(f"--state {file}: {error.strerror or error}") from error
    finally:
        os.close(handle)


def _lock(handle: int, file: str) -> None:
    """Keep other searches away until the file is closed, where the system can.

    Two that began together would write two heads, and each would cut off what the other is writing.
    """
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise UsageError(
            f"--state {file}: another search is writing it; wait for it, or give another name"
        ) from None
    except OSError:
        return


def _head(parameters: Mapping[str, object]) -> dict[str, object]:
    return _sealed(
        {"kind": KIND, "version": about("theory"), "parameters": jsonable(dict(parameters))}
    )


def _sealed(line: Mapping[str, object]) -> dict[str, object]:
    """A line with its digest."""
    return {**line, "digest": hashlib.sha256(json.dumps(line).encode()).hexdigest()[:16]}


def _opened(text: bytes) -> dict[str, Any]:
    """The line under a digest; ValueError if it is none or was changed."""
    try:
        line = json.loads(text)
    except RecursionError as error:
        raise ValueError("not JSON") from error
    if not isinstance(line, dict):
        raise ValueError("not an object")  # noqa: TRY004 (what a damaged line is told by)
    if _sealed({name: value for name, value in line.items() if name != "digest"}) != line:
        raise ValueError("its digest is of other text")
    return line


def _append(handle: int, file: str, line: Mapping[str, object]) -> None:
    data = json.dumps(line).encode() + b"\n"
    try:
        if os.write(handle, data) != len(data):
            raise OSError(None, "the disk is full")
    except OSError as error:
        raise UsageError(f"--state {file}: cannot write: {error.strerror or error}") from error


def _read(file: str, lines: list[bytes], head: Mapping[str, Any]) -> dict[str, Outcome]:
    try:
        first = _opened(lines[0])
        if first["kind"] != KIND:
            raise ValueError
        version, parameters = first["version"], first["parameters"]
    except (ValueError, KeyError):
        raise UsageError(
            f"--state {file}: exists and holds something else, or its head is damaged; give another "
            "name"
        ) from None
    if version != head["version"]:
        raise UsageError(
            f"--state {file}: of another version: {version}; here it is {head['version']}"
        )
    if parameters != head["parameters"]:
        asked = head["parameters"]
        other = sorted(n for n in {*parameters, *asked} if parameters.get(n) != asked.get(n))
        raise UsageError(
            f"--state {file}: of a search with other parameters ({', '.join(other)}); "
            "give them again, or another file"
        )
    found = {}
    for number, line in enumerate(lines[1:], 2):
        try:
            piece = _opened(line)
            found[piece["piece"]] = _outcome(piece)
        except (ValueError, KeyError) as error:
            raise UsageError(
                f"--state {file}:{number}: damaged ({error}); only the last line may be cut"
            ) from None
    return found


def _key(task: Task) -> str:
    return json.dumps([task.parent, task.size, task.k, task.h, task.max_requests])


def _outcome(piece: Mapping[str, Any]) -> Outcome:
    from cache_worthy.theory.instance import instance_from_mapping, parse_number
    from cache_worthy.theory.search.task import Coverage, Outcome, Witness

    coverage, kept = Coverage(**piece["coverage"]), piece["witness"]
    if kept is None:
        return Outcome(None, True, coverage)
    exact = {name: parse_number(kept[name], name) for name in ("online", "offline")}
    witness = Witness(**{**kept, **exact, "instance": instance_from_mapping(kept["instance"])})
    return Outcome(witness, True, coverage)
