"""Sessions that run at once: orders worked out by hand (rank 4), and what holds for any log (rank 2)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cache_worthy.logs.concurrency import interleaved


def test_the_next_session_starts_when_one_ends() -> None:
    sessions = ["a", "b", "c", "a", "b", "c"]
    times = [0, 0, 0, 10, 3, 2]
    # Two at once: a at 0 and 10, b at 0 and 3; b ends at 3, so c is at 3 and 5.
    assert interleaved(sessions, times, 2) == [0, 1, 4, 2, 5, 3]


def test_a_clock_of_its_own_does_not_matter() -> None:
    assert interleaved(["a", "b", "a", "b"], [100, 7, 101, 9], 2) == [0, 1, 2, 3]


def test_a_step_back_counts_as_no_time() -> None:
    assert interleaved(["a", "a", "a", "b"], [0, 5, 3, 0], 1) == [0, 1, 2, 3]


LOGS = st.lists(st.tuples(st.sampled_from("abcde"), st.integers(0, 30)), min_size=1, max_size=30)


@given(LOGS, st.integers(1, 7))
def test_every_request_once_and_each_session_in_its_order(
    log: list[tuple[str, int]], at_once: int
) -> None:
    sessions, times = [s for s, _ in log], [t for _, t in log]
    order = interleaved(sessions, times, at_once)
    assert sorted(order) == list(range(len(log)))
    for session in set(sessions):
        own = [place for place in order if sessions[place] == session]
        assert own == sorted(own)


@given(LOGS, st.integers(1, 7))
def test_no_more_than_that_many_are_open(log: list[tuple[str, int]], at_once: int) -> None:
    sessions, times = [s for s, _ in log], [t for _, t in log]
    order = interleaved(sessions, times, at_once)
    begun: set[str] = set()
    left = {s: sessions.count(s) for s in sessions}
    for place in order:
        begun.add(sessions[place])
        # Sessions of one request end when they begin, so those that end now do not count.
        left[sessions[place]] -= 1
        assert sum(1 for s in begun if left[s]) <= at_once


@given(LOGS)
def test_one_at_once_is_one_after_another(log: list[tuple[str, int]]) -> None:
    sessions, times = [s for s, _ in log], [t for _, t in log]
    order = interleaved(sessions, times, 1)
    assert order == [p for s in dict.fromkeys(sessions) for p, o in enumerate(sessions) if o == s]
