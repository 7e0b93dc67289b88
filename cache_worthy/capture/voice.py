"""Lines for the user, printed by a thread of their own: a blocked terminal stops nothing."""

from __future__ import annotations

import contextlib
import queue
import threading

from cache_worthy.console import note

WAITING = 1000
"""Lines that may wait; more are dropped."""


class Voice:
    """Notes on stderr without waiting."""

    def __init__(self) -> None:
        self._lines: queue.Queue[str | None] = queue.Queue(WAITING)
        self._thread = threading.Thread(target=self._work, name="voice", daemon=True)
        self._thread.start()

    def say(self, line: str) -> None:
        """Print a line soon, or never where a thousand wait."""
        with contextlib.suppress(queue.Full):
            self._lines.put_nowait(line)

    def close(self, seconds: float) -> None:
        """Print what waits."""
        with contextlib.suppress(queue.Full):
            self._lines.put_nowait(None)
        self._thread.join(seconds)

    def _work(self) -> None:
        while (line := self._lines.get()) is not None:
            note(line, quiet=False)
