"""The static forest: against a direct count over prefixes (rank 2)."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cache_worthy.sim import forest as module
from cache_worthy.sim.forest import build_forest
from cache_worthy.sim.trace import BlockId

ids = st.one_of(st.integers(-2, 3), st.sampled_from(["a", "b"]))
paths_strategy = st.lists(st.lists(ids, max_size=6).map(tuple), min_size=1, max_size=30)


@given(paths_strategy)
def test_forest_against_prefixes(paths: list[tuple[BlockId, ...]]) -> None:
    forest = build_forest(paths)
    count = Counter(p[: n + 1] for p in paths for n in range(len(p)))
    assert forest.requests == len(paths)
    assert forest.references == sum(map(len, paths))
    assert forest.distinct == len(count)
    assert forest.depth == max(map(len, paths))
    # A node starts wherever the reference count differs from the one above.
    starts = sum(len(prefix) == 1 or count[prefix[:-1]] != times for prefix, times in count.items())
    assert forest.nodes == starts
    assert sum(forest.end) - sum(forest.start) == forest.distinct
    by_prefix: dict[tuple[int, ...], tuple[BlockId, ...]] = {}
    for request, path in enumerate(paths):
        blocks = forest.path(request)
        assert tuple(forest.block_ids[b] for b in blocks) == path
        for n in range(len(path)):
            assert by_prefix.setdefault(blocks[: n + 1], path[: n + 1]) == path[: n + 1]
    assert len(by_prefix) == len(count)
    # One parent and one depth a block: the last block of a prefix determines the prefix.
    assert len({blocks[-1] for blocks in by_prefix}) == len(count)
    for node in range(forest.nodes):
        assert forest.parent[node] < node
        above = forest.parent[node]
        assert forest.start[node] == (forest.end[above] if above >= 0 else 0)
    roots = [n for n in range(forest.nodes) if forest.parent[n] < 0]
    assert sum(forest.subtree_blocks[n] for n in roots) == forest.distinct
    # Ids fix their prefix exactly when each id has one parent; only then are they kept as keys.
    parents: dict[BlockId, set[tuple[BlockId, ...]]] = {}
    for prefix in count:
        parents.setdefault(prefix[-1], set()).add(prefix[:-1])
    assert forest.reinterned == any(len(p) > 1 for p in parents.values())


def test_paths_of_large_logs_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    for limit, kept in ((4, True), (3, False)):
        monkeypatch.setattr(module, "KEEP_PATHS", limit)
        forest = build_forest([(7, 8), (7, 9)])
        assert forest.paths() == forest.paths() == ((0, 1), (0, 2))
        assert ("paths" in forest.memo) == kept
