"""Existential search: is there an instance on which a policy exceeds a bound?

Forests, sizes and requests are enumerated up to symmetry; costs are symbolic non-negative reals
(``explorer.py`` has the search on one forest).

"unsat" is a statement about *all* real costs, for the sequences enumerated, with the stated
tie-break. "sat" counts only after the witness has been replayed in exact arithmetic; the command
line then replaces the schedule by the exhaustive optimum of ``oracles``.

Capacities at which nothing is ever evicted are left out: there the policy pays what every schedule
pays, which exceeds no ratio of 1 or more (:func:`find` refuses a smaller one).

Evidence: a decision procedure over the enumerated range (established theory) for ``unsat``, exact
replay for ``sat``. ``tests/theory/test_search.py`` holds the search against brute force over
integer costs, and against the cases decided before by other means.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import islice
from typing import Any

from cache_worthy.theory.algorithms import ALGORITHMS
from cache_worthy.theory.forests import Tick, sized_forests
from cache_worthy.theory.instance import InstanceError, Number
from cache_worthy.theory.search.explorer import search_task
from cache_worthy.theory.search.task import (
    COUNTING,
    Coverage,
    Outcome,
    Task,
    TimeOut,
    Witness,
    ticker,
)

_UNHURRIED = ticker(None)


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Outcome of :func:`find`."""

    status: str
    """``"sat"``, ``"unsat"`` (the whole range) or ``"timeout"``."""
    witness: Witness | None
    complete_nodes: int
    """Every forest of up to this many nodes was searched to the end."""
    coverage: Coverage = field(default_factory=Coverage)


def cycle_scope(policy: str) -> str:
    """Which courses a search for cycles can see.

    Examples
    --------
    >>> print(cycle_scope("landlord"))
    only courses that repeat after one or two cycles, after two cycles to warm up, against \
schedules that repeat after one
    """
    scope = (
        "only courses that repeat after one or two cycles, after two cycles to warm up, against "
        "schedules that repeat after one"
    )
    if policy in COUNTING:
        scope += (
            f"; {policy} counts the requests of a node while it is resident, so only courses that "
            "evict every node once in these one or two cycles repeat"
        )
    return scope


Runner = Callable[[Sequence[Task], float | None], Sequence[Outcome]]
"""Outcomes of tasks in their order; the tasks are independent of each other."""

FIRST_BATCH, LARGEST_BATCH = 16, 1024


def batches(tasks: Iterator[Task]) -> Iterator[list[Task]]:
    """Batches that double in size.

    A batch is searched no deeper than the best witness of the batches before it, whichever worker runs it:
    so the result and the coverage do not depend on how many workers there are. The first are
    small, so that an early witness saves work; the later large, so that no worker waits.
    """
    size = FIRST_BATCH
    while batch := list(islice(tasks, size)):
        yield batch
        size = min(2 * size, LARGEST_BATCH)


def one_by_one(tasks: Sequence[Task], deadline: float | None) -> list[Outcome]:
    """Run the tasks in this process."""
    return [search_task(task, deadline) for task in tasks]


def tasks_for(
    policy: str,
    n: int,
    max_requests: int,
    *,
    max_size: int = 1,
    k: int | None = None,
    h: int | None = None,
    tick: Tick = _UNHURRIED,
    **how: Any,
) -> Iterator[Task]:
    """All sized forests on ``n`` nodes under all admissible capacities; ``how`` as in `Task`.

    Left out: ``k`` at or above the total size, where nothing is ever evicted and the policy pays
    what every schedule pays. ``tick`` is called again and again, and may raise to stop.
    """
    for parent, size in sized_forests(n, max_size, tick):
        for kk in (k,) if k is not None else range(1, sum(size)):
            if kk >= sum(size):
                continue
            for hh in (h,) if h is not None else range(1, kk + 1):
                if hh <= kk:
                    tick()
                    yield Task(policy, parent, size, kk, hh, max_requests, **how)


class _Search:
    """What became of the tasks so far."""

    def __init__(self, deadline: float | None, runner: Runner) -> None:
        self.deadline, self.runner = deadline, runner
        self.coverage = Coverage()
        self.complete = True

    def best(self, tasks: Iterator[Task], depth: int) -> Witness | None:
        """The witness of fewest requests among these tasks, and the smallest of several."""
        witnesses: list[Witness] = []
        for batch in batches(self._until_deadline(tasks)):
            shallow = [replace(task, max_requests=depth) for task in batch]
            for outcome in self.runner(shallow, self.deadline):
                self.coverage.add(outcome.coverage)
                self.complete = self.complete and outcome.complete
                if outcome.witness is not None:
                    witnesses.append(outcome.witness)
            if witnesses:
                depth = min(len(w.instance.requests) for w in witnesses) - 1
            if not depth:
                break
        return min(
            witnesses,
            key=lambda w: (len(w.instance.requests), sum(w.instance.size), w.k, w.h),
            default=None,
        )

    def _until_deadline(self, tasks: Iterator[Task]) -> Iterator[Task]:
        try:
            yield from tasks
        except TimeOut:
            self.complete = False


def find(
    policy: str,
    max_nodes: int,
    max_requests: int,
    *,
    timeout: float | None = None,
    runner: Runner = one_by_one,
    ratio: Number | None = None,
    **limits: Any,
) -> SearchResult:
    """Search for a violation of ``k/(k-h+1)``, fewest nodes first, then fewest requests.

    Parameters
    ----------
    policy : str
        A name in ``ALGORITHMS``.
    max_nodes, max_requests : int
        Bounds of the range.
    timeout : float, optional
        Seconds after which to stop with status ``"timeout"``; forests not enumerated by then count
        as not searched.
    runner : callable
        How a batch of tasks is run; the command line passes one that uses workers.
    **limits
        ``max_size`` (sizes are 1 up to it; 1), ``k`` and ``h`` (one capacity each; all with
        ``1 <= h <= k`` when left out), and the fields of `Task` with a default.

    Raises
    ------
    InstanceError
        For an unknown policy, or a ratio below 1 (the reductions would not hold).

    Notes
    -----
    Time grows like ``n! max_size^n n^T`` at worst. No additive constant: the bounds are stated
    from empty caches.
    """
    if policy not in ALGORITHMS:
        raise InstanceError(f"policy {policy!r}: expected one of {', '.join(ALGORITHMS)}")
    if ratio is not None and not (isinstance(ratio, int | Fraction) and ratio >= 1):
        raise InstanceError(f"ratio {ratio}: expected an integer or Fraction >= 1")
    deadline = None if timeout is None else time.monotonic() + timeout
    search = _Search(deadline, runner)
    for n in range(1, max_nodes + 1):
        tasks = tasks_for(policy, n, max_requests, tick=ticker(deadline), ratio=ratio, **limits)
        best = search.best(tasks, max_requests)
        if best is not None:
            return SearchResult("sat", best, n if search.complete else n - 1, search.coverage)
        if not search.complete:
            return SearchResult("timeout", None, n - 1, search.coverage)
    return SearchResult("unsat", None, max_nodes, search.coverage)
