"""Requests in the order of their arrival, and that order in words."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

from cache_worthy.errors import UsageError
from cache_worthy.logs.concurrency import interleaved
from cache_worthy.numbers import counted
from cache_worthy.sim.columns import Column, grown


class Order(NamedTuple):
    """How requests are ordered, in words."""

    words: str
    ranks: list[int] | None = None  # places in the file, in order, if that is not the file's
    moved: int = 0  # requests whose place in the file is another


class Arrivals:
    """When the requests of a log came, as in the file."""

    def __init__(self) -> None:
        self._times: Column = array("q")
        self._numbers: dict[str, int] = {}  # of sessions
        self._sessions = array("q")  # by number; -1 for none
        self._own_clocks = False

    def add(
        self, time: float | None, session: str | None = None, *, own_clock: bool = False
    ) -> None:
        """Add the arrival of the next request."""
        self._own_clocks |= own_clock
        number = -1 if session is None else self._numbers.setdefault(session, len(self._numbers))
        self._sessions.append(number)
        try:
            self._times.append(time)
        except (TypeError, OverflowError):
            self._times = grown(self._times, [time])

    def order(self, how: str, name: str) -> Order:
        """The order asked for: ``auto``, ``time`` (refused if there is none by time) or ``file``."""
        found = self._order(how, name)
        if not self._own_clocks or found.words.startswith("file order"):
            return found
        words = (
            f"{found.words}; each session has its own clock, and all are taken to start together "
            "(--concurrency N: N at once)"
        )
        return found._replace(words=words)

    def at_once(self, count: int, name: str) -> Order:
        """With this many sessions running at once, by :mod:`~cache_worthy.logs.concurrency`.

        Raises
        ------
        UsageError
            If a request is of no session.
        """
        sessions, times = self._sessions, self._times
        if without := sessions.count(-1):
            raise UsageError(
                f"--concurrency {count}: {name}: {without} of {len(sessions)} requests name no session; "
                "leave the option out"
            )
        pauses = "pauses kept"
        if times.count(None):
            pauses = "no times, so a turn of each in turn"
            turns: Counter[int] = Counter()
            times = []
            for session in sessions:
                times.append(turns[session])
                turns[session] += 1
        ranks = interleaved(sessions, times, count)
        moved = sum(i != n for n, i in enumerate(ranks))
        words = (
            f"{counted(count, 'session')} at once (--concurrency), in the order of the file, the next "
            f"starts when one ends; {pauses}"
        )
        return Order(words, ranks, moved)

    def _order(self, how: str, name: str) -> Order:
        times = self._times
        without = times.count(None)
        if without:
            why = "no arrival times" if without == len(times) else f"{without} without arrival time"
            problem = f"{without} of {len(times)} requests have no arrival time; leave"
        elif len(times) and max(times) >= 10**12 and _in_two_units(times):
            why = "times in seconds and in milliseconds"
            problem = (
                "some times count seconds since 1970 and others milliseconds; write them in one "
                "unit, or leave"
            )
        else:
            return _by_time(times, how)
        if how == "time":
            raise UsageError(f"--order time: {name}: {problem} the option out for file order")
        return Order(f"file order ({why})")


def _in_two_units(times: Iterable[float]) -> bool:
    """Whether a log has times in seconds and in milliseconds since 1970, with none in between."""
    seconds = milliseconds = False
    for time in times:
        if 10**11 <= time < 10**12:
            return False
        seconds |= 10**9 <= time < 10**11
        milliseconds |= time >= 10**12
    return seconds and milliseconds


def _by_time(times: Column, how: str) -> Order:
    back = sum(a > b for a, b in pairwise(times))
    backwards = bool(back) and not any(a < b for a, b in pairwise(times))
    if how == "file":
        steps = f"; {back} steps back in time" if back else ""
        note = "; its times run backwards" if backwards else steps
        return Order(f"file order (--order file{note})")
    if not back:
        return Order("arrival time, as in the file")
    ranks = sorted(range(len(times)), key=times.__getitem__)
    moved = sum(i != n for n, i in enumerate(ranks))
    why = "the file is in reverse order" if backwards else f"{moved} stand elsewhere in the file"
    return Order(f"arrival time ({why}); ties in file order", ranks, moved)


class Clock:
    """Years for times that have none: a step back of half a year is a new year.

    Examples
    --------
    >>> clock = Clock()
    >>> december, january = 364 * 86_400_000, 86_400_000
    >>> clock.with_year(december) < clock.with_year(january)
    True
    """

    YEAR = 366 * 86_400_000

    def __init__(self) -> None:
        self._last: float = 0
        self._years = 0

    def with_year(self, time: float) -> int | float:
        """The time, in milliseconds, counted on from the first year."""
        if time + self._years * self.YEAR < self._last - self.YEAR / 2:
            self._years += 1
        self._last = time + self._years * self.YEAR
        return self._last
