"""The finished pieces of a search in a file, from which an interrupted one goes on.

JSON lines: a head with what the search is, then one finished piece a line, appended as it finishes.
A piece says nothing but what its search alone decides, so a resumed search ends as one that was
never interrupted. The last line may be cut; it is searched again. Nothing is ever overwritten: a
file of another search, or of another version, is refused.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import stat
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cache_worthy.errors import UsageError
from cache_worthy.output import jsonable
from cache_worthy.tasks import about

if TYPE_CHECKING:
    from cache_worthy.theory.search import Outcome, Task

KIND = "cache-worthy search state"


class SearchState:
    """Finished pieces, by the piece; this one keeps none."""

    def outcome(self, task: Task) -> Outcome | None:
        """What became of a piece, if it is finished."""
        return None

    def keep(self, task: Task, outcome: Outcome) -> None:
        """Keep a finished piece; one that ran out of time is not."""


class _FileState(SearchState):
    def __init__(self, handle: int, file: str, found: dict[str, Outcome]) -> None:
        self._handle = handle
        self._file = file
        self._found = found

    def outcome(self, task: Task) -> Outcome | None:
        return self._found.get(_key(task))

    def keep(self, task: Task, outcome: Outcome) -> None:
        if outcome.complete:
            _append(self._handle, self._file, {"piece": _key(task), **_plain(outcome)})


@contextlib.contextmanager
def open_state(file: str | None, parameters: Mapping[str, object]) -> Iterator[SearchState]:
    """The state in a file, created if it is not there; without a file one that keeps nothing.

    Raises
    ------
    UsageError
        If the file holds something else, another search or another version, or is damaged anywhere
        but in its last line, or cannot be written.
    """
    if file is None:
        yield SearchState()
        return
    head = _head(parameters)
    try:
        handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
    except OSError as error:
        raise UsageError(f"--state {file}: cannot open: {error.strerror or error}") from error
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise UsageError(f"--state {file}: is no regular file; give the name of one")
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
        yield _FileState(handle, file, found)
    except OSError as error:
        raise UsageError(f"--state {file}: {error.strerror or error}") from error
    finally:
        os.close(handle)


def _head(parameters: Mapping[str, object]) -> dict[str, object]:
    what = {"version": about("theory"), "parameters": jsonable(dict(parameters))}
    digest = hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()
    return {"kind": KIND, "digest": digest, **what}


def _append(handle: int, file: str, line: Mapping[str, object]) -> None:
    data = json.dumps(line).encode() + b"\n"
    try:
        if os.write(handle, data) != len(data):
            raise OSError(None, "the disk is full")
    except OSError as error:
        raise UsageError(f"--state {file}: cannot write: {error.strerror or error}") from error


def _read(file: str, lines: list[bytes], head: Mapping[str, Any]) -> dict[str, Outcome]:
    try:
        first = json.loads(lines[0])
        if first["kind"] != KIND:
            raise ValueError
        version, parameters, digest = first["version"], first["parameters"], first["digest"]
    except (ValueError, TypeError, KeyError):
        raise UsageError(
            f"--state {file}: exists and holds something else; give another name"
        ) from None
    if version != head["version"]:
        raise UsageError(
            f"--state {file}: of another version: {version}\n  here it is {head['version']}"
        )
    if digest != head["digest"]:
        other = sorted(
            name
            for name in {*parameters, *head["parameters"]}
            if parameters.get(name) != head["parameters"].get(name)
        )
        raise UsageError(
            f"--state {file}: of a search with other parameters ({', '.join(other) or 'edited'}); "
            "give them again, or another file"
        )
    found = {}
    for number, line in enumerate(lines[1:], 2):
        try:
            piece = json.loads(line)
            found[str(piece["piece"])] = _outcome(piece)
        except (ValueError, TypeError, KeyError, ArithmeticError) as error:
            raise UsageError(
                f"--state {file}:{number}: damaged ({error}); only the last line may be cut"
            ) from None
    return found


def _key(task: Task) -> str:
    return json.dumps([task.parent, task.size, task.k, task.h, task.max_requests])


def _plain(outcome: Outcome) -> dict[str, object]:
    witness = outcome.witness
    return {
        "coverage": dataclasses.asdict(outcome.coverage),
        "witness": None
        if witness is None
        else {
            "parent": witness.instance.parent,
            "size": witness.instance.size,
            "cost": [str(c) for c in witness.instance.cost],
            "requests": witness.instance.requests,
            "k": witness.k,
            "h": witness.h,
            "policy": witness.policy,
            "tie": witness.tie,
            "online": str(witness.online),
            "offline": str(witness.offline),
            "cycle": witness.cycle,
        },
    }


def _outcome(piece: Mapping[str, Any]) -> Outcome:
    from cache_worthy.theory.instance import Instance
    from cache_worthy.theory.search import Coverage, Outcome, Witness

    coverage = Coverage(**{name: int(n) for name, n in piece["coverage"].items()})
    kept = piece["witness"]
    if kept is None:
        return Outcome(None, True, coverage)
    instance = Instance(
        parent=tuple(kept["parent"]),
        size=tuple(kept["size"]),
        cost=tuple(map(_number, kept["cost"])),
        requests=tuple(kept["requests"]),
    )
    witness = Witness(
        instance,
        kept["k"],
        kept["h"],
        kept["policy"],
        kept["tie"],
        _number(kept["online"]),
        _number(kept["offline"]),
        kept["cycle"],
    )
    return Outcome(witness, True, coverage)


def _number(text: str) -> int | Fraction:
    value = Fraction(text)
    return value.numerator if value.denominator == 1 else value
