"""The advisor's short answer while the proxy runs, from a separate process at low priority.

One analysis runs at a time. After it the advisor rests nine times as long as the analysis took, so it
uses at most a tenth of one core. An analysis is stopped after ten minutes.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from cache_worthy.console import plain, wrap

LONGEST_SECONDS = 600.0
REST = 9.0


class Advisor:
    """Prints the short answer each time ``every`` records were added.

    Parameters
    ----------
    every : int
    files : callable
        Gives the pieces of the log so far.
    options : sequence of str
        Further arguments of ``analyze``.
    show, say : callable
        Take the answer, and what went wrong; called in this object's thread.
    """

    def __init__(
        self,
        every: int,
        *,
        files: Callable[[], Sequence[Path]],
        options: Sequence[str],
        show: Callable[[str], None],
        say: Callable[[str], None],
    ) -> None:
        self._every, self._files, self._options = every, files, options
        self._show, self._say = show, say
        self._count = 0
        self._next = every
        self._due, self._stop = threading.Event(), threading.Event()
        self._child: subprocess.Popen[str] | None = None
        self._thread = threading.Thread(target=self._work, name="advisor", daemon=True)
        self._thread.start()

    def recorded(self, count: int) -> None:
        """The log holds ``count`` records."""
        self._count = count
        if count >= self._next:
            self._next = count - count % self._every + self._every
            self._due.set()

    def close(self) -> None:
        """End a running analysis."""
        self._stop.set()
        self._due.set()
        child = self._child
        if child is not None:
            with contextlib.suppress(OSError):
                child.kill()
        self._thread.join(2)

    def _work(self) -> None:
        while True:
            self._due.wait()
            if self._stop.is_set():
                return
            self._due.clear()
            began = time.monotonic()
            self._analyze(self._count)
            if self._stop.wait(REST * (time.monotonic() - began)):
                return

    def _analyze(self, count: int) -> None:
        from cache_worthy.advise.sections import skippable

        command = [sys.executable, "-m", "cache_worthy.cli", "analyze", "--json"]
        command += ["--skip", ",".join(skippable()), "--quiet", *self._options]
        command += map(str, self._files())
        try:
            child = self._child = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,  # Ctrl-C is for the proxy, which ends this itself
            )
            with contextlib.suppress(OSError, AttributeError):
                os.setpriority(os.PRIO_PROCESS, child.pid, 10)
            try:
                out, err = child.communicate(timeout=LONGEST_SECONDS)
            except subprocess.TimeoutExpired:
                child.kill()
                child.communicate()
                self._say(f"the analysis took over {LONGEST_SECONDS:g} seconds and was ended")
                return
        except OSError as error:
            self._say(f"the analysis could not start: {error.strerror or error}")
            return
        if self._stop.is_set():
            return
        if child.returncode:
            self._say(f"the analysis failed: {err.strip() or 'no reason given'}")
            return
        self._show(f"after {count} requests\n{short_answer(json.loads(out))}\n")


def short_answer(document: Mapping[str, Any]) -> str:
    """Whether caching pays, how much memory, which policy and what to pin, in a line or two each.

    Parameters
    ----------
    document : mapping
        What ``cache-worthy analyze --json`` writes.

    Examples
    --------
    >>> print(short_answer({"worth": {"worth_caching": False, "ceiling": 0.004}}))
        Prefix caching is not worth enabling on this log: an unlimited cache
        would save 0.4% of your prefill work.
    """
    lines = (wrap(plain(t), 72, first="    ", rest="    ") for t in _sentences(document))
    return "\n".join(line for found in lines for line in found)


def _sentences(document: Mapping[str, Any]) -> Iterator[str]:
    removes = f"an unlimited cache would save {_percent(document['worth']['ceiling'])} of your prefill work."
    if not document["worth"]["worth_caching"]:
        yield f"Prefix caching is not worth enabling on this log: {removes}"
        return
    yield f"Caching pays off: {removes}"
    curve, pin = document["capacity"], document["pin"]
    yield (
        f"Allocate {_gib(curve['recommended_bytes'])} of KV cache "
        f"({_percent(curve['recommended_fraction'])} of all distinct blocks). The lower limit is "
        f"{_gib(document['workload']['floor_bytes'])}, one copy of your longest prompt."
    )
    for row in document["policy"]["rows"]:
        if row["bytes"] == curve["recommended_bytes"]:
            yield f"At that size {row['verdict']}"
    if pin["pins"]:
        count = len(pin["pins"])
        yield (
            f"Pinning {count} prefix{'es' if count > 1 else ''} ({_gib(pin['together_bytes'])}) protects "
            f"at most {_percent(pin['together_protected_fraction'])} of what caching can save."
        )


def _percent(fraction: float | None) -> str:
    return "--" if fraction is None else f"{100 * fraction:.1f}%"


def _gib(size: int) -> str:
    return f"{size / 2**30:.3g} GiB"
