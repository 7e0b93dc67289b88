"""Small random problems for the tests of the oracles, in both forms."""

from __future__ import annotations

from itertools import accumulate

from hypothesis import strategies as st

from cache_worthy.oracles.bound.groups import BlockTrace
from cache_worthy.theory.instance import Instance, Number


@st.composite
def instances(
    draw: st.DrawFn,
    max_nodes: int = 6,
    max_requests: int = 9,
    max_size: int = 3,
    max_cost: int = 9,
    flat: bool = False,
    unit: bool = False,
) -> tuple[Instance, int]:
    """A small instance and a capacity that can serve it."""
    n = draw(st.integers(1, max_nodes))
    parent = tuple(
        None if v == 0 or flat else draw(st.one_of(st.none(), st.integers(0, v - 1)))
        for v in range(n)
    )
    size = tuple(1 if unit else draw(st.integers(1, max_size)) for _ in range(n))
    cost: tuple[Number, ...] = tuple(
        1
        if unit
        else draw(st.one_of(st.integers(0, max_cost), st.fractions(0, max_cost, max_denominator=4)))
        for _ in range(n)
    )
    requests = tuple(draw(st.lists(st.integers(0, n - 1), min_size=0, max_size=max_requests)))
    instance = Instance(parent=parent, size=size, cost=cost, requests=requests)
    total = sum(instance.size[u] for u in instance.touched())
    capacity = draw(st.integers(instance.floor, max(instance.floor, total)))
    return instance, capacity


@st.composite
def block_cases(
    draw: st.DrawFn, max_requests: int = 12, max_length: int = 4
) -> tuple[list[tuple[int, ...]], list[int], int]:
    """Requests as block ids, a cumulative cost by depth of any shape, and a capacity."""
    block = st.integers(0, 2)
    requests = draw(
        st.lists(
            st.lists(block, min_size=1, max_size=max_length).map(tuple),
            min_size=1,
            max_size=max_requests,
        )
    )
    deepest = max(map(len, requests))
    steps = draw(st.lists(st.integers(0, 9), min_size=deepest, max_size=deepest))
    distinct = len({r[: d + 1] for r in requests for d in range(len(r))})
    capacity = draw(st.integers(deepest, max(deepest, distinct)))
    return requests, list(accumulate(steps, initial=0)), capacity


def instance_of_trace(trace: BlockTrace) -> Instance:
    """The formal model's view of a trace: one node a block, costs in the trace's units."""

    def own(upto: list[int], b: int) -> int:
        above = trace.parent[b]
        return upto[b] - (upto[above] if above >= 0 else 0)

    blocks = range(len(trace.parent))
    return Instance(
        parent=tuple(None if p < 0 else p for p in trace.parent),
        size=tuple(own(trace.size_upto, b) for b in blocks),
        cost=tuple(own(trace.cost_upto, b) for b in blocks),
        requests=tuple(trace.terminal),
    )
