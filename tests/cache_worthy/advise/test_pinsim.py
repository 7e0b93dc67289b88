"""Pins, simulated: by hand (rank 4), against limits known beforehand (rank 2)."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from contexts import context_of, policies_at
from hypothesis import given, settings
from hypothesis import strategies as st

from cache_worthy.advise.context import Options
from cache_worthy.advise.pin import Pins, measure_pins
from cache_worthy.advise.pinsim import PinSim, pinsim
from cache_worthy.logs.session import read_log
from cache_worthy.measure.replays import Replays
from cache_worthy.sim.cost import BlockCost, BlockSize
from cache_worthy.sim.errors import InvariantError
from cache_worthy.sim.forest import build_forest
from cache_worthy.sim.radix.policies import POLICIES, EvictionPolicy
from cache_worthy.sim.radix.policies.cosigned import Cosigned
from cache_worthy.sim.radix.policies.lru import LRU
from cache_worthy.sim.radix.replay import replay

UNIT = 2 * 32 * 4096 * 512**2
"""In it, a block at depth d costs 105 + 2 d under Llama-3.1-8B (test_pin.py)."""

BLOCK = BlockSize().block
Paths = list[tuple[int, ...]]
Run = Callable[..., tuple[int, str, str]]


def measured(
    paths: Sequence[tuple[int, ...]],
    top: int,
    blocks: int,
    own: dict[str, type[EvictionPolicy]] | None = None,
) -> tuple[PinSim, Pins]:
    context = context_of(paths, options=Options(pins=top, own_policies=own or {}))
    pins = measure_pins(context.replays, top)
    sim = pinsim.measure(context, pins, policies_at(context, chosen=blocks * BLOCK))
    return sim, pins


def test_a_gain_by_hand() -> None:
    """The log of ``tests/sim/radix/test_pinned.py``: three blocks of room, block 1 pinned.

    Without: block 1 is paid twice, 105 each; 2 twice, 107 each; 3, 4, 5, 6 and 7 once. With the pin
    block 1 is paid once and nothing else changes. Two requests do not go through it: 4 blocks,
    2 * (105 + 107). Its ceiling is two repeats, so half of it is gained.
    """
    paths: Paths = [(1, 2), (3, 4), (5, 6), (1, 2), (1, 7)]
    sim, pins = measured(paths, 1, 3)
    assert pins.together_protected_cost == 2 * 105 * UNIT
    assert (sim.policy, sim.prefixes, sim.blocks) == ("lru", 1, 3)
    assert (sim.pinned_bytes, sim.need_bytes) == (BLOCK, 3 * BLOCK)
    gain = sim.gain
    assert gain is not None
    assert (gain.pinned.before, gain.pinned.after) == (210 * UNIT, 105 * UNIT)
    rest = (107 * 2 + 105 + 107 + 105 + 107 + 107) * UNIT
    assert (gain.rest.before, gain.rest.after) == (rest, rest)
    assert (gain.outside_requests, gain.outside.before) == (2, 2 * 212 * UNIT)
    assert gain.outside.before == gain.outside.after
    assert gain.saved_cost == 105 * UNIT
    assert gain.saved_fraction == 105 / (210 + 745)
    assert gain.of_ceiling == 0.5
    assert sim.verdict == "pinning saves"


def test_a_loss_by_hand() -> None:
    """Two blocks of room. 1 is pinned and never asked for again, and 8, 9 take turns in one block.

    Ten requests: 1 and 1, then 8, 9 four times. Without pins both stay: 3 blocks. With 1 held every
    one of the eight is loaded anew: 9 blocks.
    """
    paths = [(1,)] * 9 + [(8,), (9,)] * 4
    sim, _ = measured(paths, 1, 2)
    gain = sim.gain
    assert gain is not None
    assert (gain.pinned.before, gain.pinned.after) == (105 * UNIT, 105 * UNIT)
    assert (gain.rest.before, gain.rest.after) == (2 * 105 * UNIT, 8 * 105 * UNIT)
    assert (gain.outside_requests, gain.outside.saved) == (8, -6 * 105 * UNIT)
    assert (gain.saved_cost, gain.saved_fraction) == (-6 * 105 * UNIT, -2.0)
    assert sim.verdict == "pinning would cost"


def test_what_does_not_fit_is_said() -> None:
    """(1, 2) pinned needs five blocks beside (3, 4, 5)."""
    paths: Paths = [(1, 2), (1, 2), (1, 2), (3, 4, 5)]
    sim, _ = measured(paths, 1, 4)
    assert sim.gain is None
    assert (sim.pinned_bytes, sim.need_bytes) == (2 * BLOCK, 5 * BLOCK)
    assert "do not fit" in sim.verdict
    assert measured(paths, 1, 5)[0].gain is not None


def test_room_for_all_leaves_nothing_to_gain() -> None:
    sim, _ = measured([(1, 2), (1, 3), (1, 2), (4,)], 9, 4)
    gain = sim.gain
    assert gain is not None
    assert gain.saved_cost == gain.pinned.saved == gain.rest.saved == 0
    assert sim.verdict == "pinning changes nothing"


@settings(max_examples=80, deadline=None)
@given(
    st.lists(
        st.lists(st.integers(0, 2), min_size=1, max_size=5).map(tuple), min_size=2, max_size=25
    ),
    st.integers(1, 4),
    st.integers(0, 6),
)
def test_under_lru_no_gain_exceeds_the_ceiling(paths: Paths, top: int, slack: int) -> None:
    """And the parts sum; the pinned blocks' own limit is raised inside."""
    forest = build_forest(paths)
    sim, pins = measured(paths, top, forest.depth + slack)
    gain = sim.gain
    if gain is None:
        assert sim.need_bytes > sim.bytes
        return
    assert gain.pinned.before + gain.rest.before == gain.total.before
    assert gain.pinned.after + gain.rest.after == gain.total.after
    assert gain.total.before == replay(forest, POLICIES["lru"](), sim.bytes).total_cost
    assert gain.saved_cost <= pins.together_protected_cost
    assert gain.outside.before <= gain.rest.before


def test_the_whole_gain_may_exceed_the_ceiling_under_other_policies() -> None:
    """Found by search: under gdsf the pin's smaller room by chance also spares the rest."""
    paths: Paths = [
        (0, 2, 0, 2, 0, 0), (1, 2, 0, 1, 1), (2, 1), (0, 2, 0, 3, 1, 1), (2, 2, 3, 0, 0), (0,),
    ]  # fmt: skip
    forest = build_forest(paths)
    pinned = [1]
    before, after = (
        replay(forest, POLICIES["gdsf"](), 8 * BLOCK, pinned=nodes).total_cost
        for nodes in ((), pinned)
    )
    table = BlockCost().cumulative(forest.depth)
    held = [1, *([forest.parent[1]] if forest.parent[1] >= 0 else [])]
    ceiling = sum(
        (forest.refs[n] - 1) * (table[forest.end[n]] - table[forest.start[n]]) for n in held
    )
    assert before - after > ceiling


def test_a_lower_ceiling_is_refused() -> None:
    """The check of the pinned blocks' gain bites."""
    paths: Paths = [(1, 2), (3, 4), (5, 6), (1, 2), (1, 7)]
    sim, pins = measured(paths, 1, 3)
    context = context_of(paths, options=Options(pins=1))
    assert sim.gain is not None
    wrong = dataclasses.replace(pins, together_protected_cost=sim.gain.pinned.saved - 1)
    with pytest.raises(InvariantError, match="at most"):
        pinsim.measure(context, wrong, policies_at(context, chosen=3 * BLOCK))


def test_a_pin_that_leaves_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A replay that forgets its pins pays for them twice."""
    paths: Paths = [(1, 2), (3, 4), (5, 6), (1, 2), (1, 7)]
    monkeypatch.setattr(
        Replays, "run_pinned", lambda self, policy, capacity, pinned: self.run(policy, capacity)
    )
    with pytest.raises(InvariantError, match="each of them once"):
        measured(paths, 1, 3)


def test_the_users_policy_is_simulated_where_it_can_be() -> None:
    paths: Paths = [(1, 2), (3, 4), (5, 6), (1, 2), (1, 7)]
    assert measured(paths, 1, 3, {"mine": LRU})[0].policy == "mine"
    assert measured(paths, 1, 3, {"names": Cosigned})[0].policy == "lru"
    assert measured(paths, 1, 3, {"names": Cosigned, "mine": LRU})[0].policy == "mine"


def test_the_users_capacity_is_used(run: Run, sample: Path) -> None:
    for options, label in (((), "recommended"), (("--capacity-gib", "0.8"), "yours")):
        code, out, _ = run("analyze", sample, "--skip", "bound", "--json", *options)
        document = json.loads(out)
        sim = document["pinsim"]
        assert code == 0
        assert sim["label"] == label
        (row,) = [r for r in document["policy"]["rows"] if label in r["label"]]
        assert sim["bytes"] == row["bytes"]
        (lru,) = [c for c in row["cells"] if c["policy"] == "lru"]
        assert sim["gain"]["total"]["before"] == lru["total_cost"]


@pytest.mark.traces
@pytest.mark.parametrize("fraction", [0.02, 0.25])
def test_on_the_trace(traces: Path, fraction: float) -> None:
    """At two percent of the working set the pins help; at a quarter they never left anyway."""
    requests = read_log(traces / "conversation_trace.jsonl").requests
    paths: Paths = [tuple(int(i) for i in r.hash_ids) for r in requests]
    blocks = int(fraction * len({i for p in paths for i in p}))
    sim, pins = measured(paths, 5, blocks)
    assert sim.gain is not None
    assert sim.gain.saved_cost <= pins.together_protected_cost
    assert (sim.gain.saved_cost > 0) == (fraction == 0.02)
    assert sim.gain.outside_requests == 0  # the first pin is the preamble of every request
