"""The order of requests when a fixed number of sessions run at once.

A log whose sessions each start their own clock does not say which of them ran at the same time. Here N
sessions run at once, started in the order of the file; when one has sent its last request the next one
starts. Times within a session are kept, so its pauses are. How long an answer took is not used.
"""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Sequence


def interleaved(sessions: Sequence[Hashable], times: Sequence[float], at_once: int) -> list[int]:
    """Places of the requests in the file, in their new order.

    Parameters
    ----------
    sessions : sequence of str or int
        The session of each request.
    times : sequence of float
        Its time by the session's own clock. A step back within a session counts as no time.
    at_once : int
        Sessions that run at the same time, at least 1.

    Notes
    -----
    Requests at the same time are in the order in which their sessions started. Time:
    O(n log n) for n requests.

    Examples
    --------
    Two sessions one after the other, then side by side:

    >>> sessions, times = ["a", "a", "b", "b"], [0, 10, 0, 4]
    >>> interleaved(sessions, times, 1)
    [0, 1, 2, 3]
    >>> interleaved(sessions, times, 2)
    [0, 2, 3, 1]
    """
    members: dict[Hashable, list[int]] = {}
    for place, session in enumerate(sessions):
        members.setdefault(session, []).append(place)
    free = [0.0] * min(at_once, len(members))
    events: list[tuple[float, int, int]] = []
    for number, places in enumerate(members.values()):
        now = heapq.heappop(free)
        before = times[places[0]]
        for place in places:
            now += max(0.0, times[place] - before)
            before = max(before, times[place])
            events.append((now, number, place))
        heapq.heappush(free, now)
    return [place for _, _, place in sorted(events)]
