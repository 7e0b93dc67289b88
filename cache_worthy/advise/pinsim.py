"""Pins, simulated: what pinning the top prefixes saves at a capacity, and what it costs the rest.

Two replays under one policy at one capacity, without pins and with the prefixes of question 6
pinned once loaded. Pins take their memory from the same capacity, so less is left for other blocks.

The pinned blocks save at most the ceiling of question 6: each is computed once with the pins, and
at most once per request without. The total saving has no such bound: under policies other than lru
the other blocks may happen to cost less in less memory (a counterexample is in the tests).

Evidence: rank 2, the saving and the compulsory cost of the pinned blocks are checked here; rank 4,
a log computed by hand; the replay itself: ``tests/sim/radix/test_pinned.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cache_worthy.advise.context import Context
from cache_worthy.advise.pin import Pins, node_protection, top_prefixes
from cache_worthy.advise.policy_table import Policies
from cache_worthy.advise.quantity import nothing
from cache_worthy.advise.section import Section
from cache_worthy.measure.per_request import require_sums
from cache_worthy.measure.replays import BASELINE, Replays
from cache_worthy.sim.errors import InvariantError
from cache_worthy.sim.outcome import Outcome
from cache_worthy.sim.radix.pins import held_floor, hold
from cache_worthy.sim.radix.policies import POLICIES


@dataclass(frozen=True, slots=True)
class Change:
    """Recompute without and with the pins, FLOPs."""

    before: int
    after: int

    @property
    def saved(self) -> int:
        """What the pins save; negative if they cost more."""
        return self.before - self.after


@dataclass(frozen=True, slots=True)
class PinGain:
    """The two replays compared."""

    total: Change
    """All requests; the sum of ``pinned`` and ``rest``."""
    pinned: Change
    """Recompute of the pinned blocks."""
    rest: Change
    """Recompute of all other blocks."""
    outside: Change
    """Of the requests without a pinned block."""
    outside_requests: int
    saved_cost: int
    """FLOPs over all requests; negative if pinning costs more."""
    saved_fraction: float
    """Of the recompute without pins."""
    of_ceiling: float | None
    """``saved_cost`` as a share of the ceiling of question 6."""


@dataclass(frozen=True, slots=True)
class PinSim:
    """The simulation of question 6."""

    policy: str
    label: str
    """"yours" or "recommended"."""
    bytes: int
    """The capacity."""
    blocks: int
    prefixes: int
    pinned_bytes: int
    """Memory of the pins."""
    need_bytes: int
    """The least capacity that serves the log with them."""
    gain: PinGain | None
    """None if that does not fit."""
    verdict: str
    """In words."""


@Section(
    "pinsim",
    needs=("pin", "policy_table"),
    title="Pins simulated",
    place=140,
    skip="pins, simulated",
    compare=nothing,
)
def pinsim(context: Context, pins: Pins, policies: Policies) -> PinSim:
    """Replay with and without the pins of question 6, at the capacity that verdicts are about.

    Time: one replay.

    Raises
    ------
    InvariantError
        If a pinned block was computed twice, or the pinned blocks save more than the ceiling.
    """
    replays, forest, capacity = context.replays, context.forest, policies.chosen
    nodes = top_prefixes(node_protection(forest, replays.costs), context.options.pins)
    held, depths = hold(forest, nodes)
    need = held_floor(forest, held, depths=depths, size_fn=replays.size)
    policy = pin_policy(replays)
    gain = None
    if need <= capacity:
        runs = (replays.run(policy, capacity), replays.run_pinned(policy, capacity, nodes))
        for run in runs:
            require_sums(forest, replays.costs, known=context.known, result=run)
        once = sum(
            replays.costs[forest.end[n]] - replays.costs[forest.start[n]]
            for n in range(forest.nodes)
            if held[n]
        )
        gain = _gain(replays, depths, runs, once=once, ceiling=pins.together_protected_cost)
    return PinSim(
        policy=policy,
        label="recommended" if policies.yours is None else "yours",
        bytes=capacity,
        blocks=capacity // context.size.block,
        prefixes=len(nodes),
        pinned_bytes=pins.together_bytes,
        need_bytes=need,
        gain=gain,
        verdict=_verdict(gain),
    )


def pin_policy(replays: Replays) -> str:
    """The user's own policy (the first), else the deployed default.

    A policy that chooses victims itself cannot be told what to keep and is passed over.
    """
    own = (name for name in replays.policies if name not in POLICIES)
    return next((name for name in own if not replays.policies[name]().chooses), BASELINE)


def _gain(
    replays: Replays,
    depths: Sequence[int],
    runs: tuple[Outcome, Outcome],
    *,
    once: int,
    ceiling: int,
) -> PinGain:
    """The replay without the pins and the one with them, compared.

    ``depths`` are the pinned blocks of each request's path; ``once`` is the cost of all pins, once.
    """
    lengths, table = replays.forest.length, replays.costs
    inside, outside = [], []
    for run in runs:
        requests = list(zip(lengths, depths, run.matched, strict=True))
        inside.append(sum(table[d] - table[m] for _, d, m in requests if d > m))
        outside.append(sum(table[n] - table[m] for n, d, m in requests if not d))
    total = Change(runs[0].total_cost, runs[1].total_cost)
    pinned = Change(inside[0], inside[1])
    if pinned.after != once:
        raise InvariantError(f"the pinned blocks cost {pinned.after}, each of them once {once}")
    if pinned.saved > ceiling:
        raise InvariantError(f"the pinned blocks gain {pinned.saved}, at most {ceiling} can be")
    return PinGain(
        total=total,
        pinned=pinned,
        rest=Change(total.before - pinned.before, total.after - pinned.after),
        outside=Change(outside[0], outside[1]),
        outside_requests=depths.count(0),
        saved_cost=total.saved,
        saved_fraction=total.saved / total.before if total.before else 0.0,
        of_ceiling=total.saved / ceiling if ceiling else None,
    )


def _verdict(gain: PinGain | None) -> str:
    if gain is None:
        return "the pins and the deepest request beside them do not fit, so nothing was simulated"
    if gain.saved_cost > 0:
        return "pinning saves"
    return "pinning would cost" if gain.saved_cost < 0 else "pinning changes nothing"
