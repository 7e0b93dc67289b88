"""The search on workers, with a state to resume from, and the check of its witness.

The search itself is ``cache_worthy.theory.search.find``; the witness is judged by the exhaustive
optimum of ``oracles``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cache_worthy.commands.adversary.state import SearchState
from cache_worthy.theory.instance import Number
from cache_worthy.theory.search.explorer import search_task
from cache_worthy.theory.search.find import Runner
from cache_worthy.theory.search.task import Outcome, SearchError, Task, Witness
from cache_worthy.workers import Workers


@dataclass(frozen=True, slots=True)
class FoundInstance:
    """An instance on which the policy exceeds the bound, judged by the independent optimum.

    Attributes
    ----------
    ratio : int, Fraction or None
        None where the optimum pays nothing.
    """

    parent: tuple[int | None, ...]
    size: tuple[int, ...]
    cost: tuple[Number, ...]
    requests: tuple[int, ...]
    k: int
    h: int
    online_cost: Number
    optimal_cost: Number
    ratio: Number | None
    bound: Number


def runner(workers: Workers, state: SearchState, step: Callable[[str], None]) -> Runner:
    """Run on the workers what the state does not know, and let the state keep it."""

    def run_batch(tasks: Sequence[Task], deadline: float | None) -> list[Outcome]:
        known = {i: found for i, t in enumerate(tasks) if (found := state.outcome(t)) is not None}
        asked = [i for i in range(len(tasks)) if i not in known]
        # A clock that counts from boot means nothing on another machine.
        end = None if deadline is None else time.time() + deadline - time.monotonic()
        for position, outcome in workers.completed(
            _search, end, [tasks[i] for i in asked], step=step, label=_label
        ):
            known[asked[position]] = outcome
            state.keep(tasks[asked[position]], outcome)
        return [known[i] for i in range(len(tasks))]

    return run_batch


def _search(end: float | None, task: Task) -> Outcome:
    return search_task(task, None if end is None else time.monotonic() + end - time.time())


def _label(task: Task) -> str:
    return f"forest {list(task.parent)}, sizes {list(task.size)}, k {task.k}, h {task.h}"


def judged(witness: Witness, ratio: Number | None) -> FoundInstance:
    """The witness with the optimum in place of its schedule, judged by independent code."""
    from cache_worthy.oracles.optimum.optimal import optimal_cost
    from cache_worthy.theory.steps import bound, divide

    instance = witness.instance
    limit = bound(witness.k, witness.h) if ratio is None else ratio
    optimum = witness.offline if witness.cycle else optimal_cost(instance, witness.h)
    if optimum > witness.offline or not witness.online > limit * optimum:
        raise SearchError(
            f"{instance}: the search paid {witness.offline} offline, the optimum is {optimum}"
        )
    return FoundInstance(
        parent=instance.parent,
        size=instance.size,
        cost=instance.cost,
        requests=instance.requests,
        k=witness.k,
        h=witness.h,
        online_cost=witness.online,
        optimal_cost=optimum,
        ratio=divide(witness.online, optimum) if optimum else None,
        bound=limit,
    )
