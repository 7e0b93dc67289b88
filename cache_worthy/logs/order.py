"""Requests in the order of their arrival, and that order in words."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

from cache_worthy.errors import UsageError
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

    def add(self, time: float | None) -> None:
        try:
            self._times.append(time)
        except (TypeError, OverflowError):
            self._times = grown(self._times, [time])

    def order(self, how: str, name: str) -> Order:
        """The order asked for: ``auto``, ``time`` (refused if there is none by time) or ``file``."""
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
