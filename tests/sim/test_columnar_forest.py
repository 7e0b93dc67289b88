"""The columnar forest against the plain one, attribute by attribute (rank 5)."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import fields

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cache_worthy.sim import forest as module
from cache_worthy.sim.columns import RequestTable
from cache_worthy.sim.forest import Forest, build_forest
from cache_worthy.sim.trace import Request


@pytest.fixture(autouse=True)
def always_columnar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "COLUMNAR_FROM", 1)


def compare(paths: Sequence[tuple[int, ...]]) -> bool:
    """Hold the two forms against each other, on a part too; whether the columnar one answered."""
    view = RequestTable(Request(p, 0) for p in paths).paths
    third = len(paths) // 3
    same(build_forest(paths[third : 2 * third]), build_forest(view[third : 2 * third]))
    plain = build_forest(paths)
    same(plain, build_forest(view))
    return not plain.reinterned


def same(plain: Forest, columnar: Forest) -> None:
    """Attribute by attribute."""
    for field in fields(plain):
        if field.compare:
            assert getattr(plain, field.name) == getattr(columnar, field.name), field.name
    assert plain == columnar
    assert plain.lengths == columnar.lengths
    assert all(type(i) is int for i in columnar.block_ids)


@st.composite
def conversations(draw: st.DrawFn) -> list[tuple[int, ...]]:
    """Paths whose ids fix their prefix, numbered near, far apart, or as unsigned hashes."""
    lists = draw(st.lists(st.lists(st.integers(0, 2), max_size=6), min_size=1, max_size=30))
    scale = draw(st.sampled_from([1, 2**33 + 7, 2**52 + 11]))
    low = draw(st.sampled_from([0, -(10**12), 2**63 + 5]))
    seen: dict[tuple[int, ...], int] = {}
    paths = []
    for row in lists:
        prefixes = [tuple(row[: n + 1]) for n in range(len(row))]
        paths.append(tuple(low + scale * seen.setdefault(p, len(seen)) for p in prefixes))
    return paths


@settings(max_examples=100, deadline=None)
@given(paths=conversations())
def test_ids_that_fix_their_prefix(paths: list[tuple[int, ...]]) -> None:
    assert compare(paths)


@settings(max_examples=100, deadline=None)
@given(paths=st.lists(st.lists(st.integers(0, 3), max_size=6).map(tuple), min_size=1, max_size=12))
def test_ids_that_may_not(paths: list[tuple[int, ...]]) -> None:
    compare(paths)


def test_a_longer_log() -> None:
    rng = random.Random(7)
    seen: dict[tuple[int, ...], int] = {}
    paths: list[tuple[int, ...]] = []
    rows: list[tuple[int, ...]] = [()]
    for _ in range(3000):
        base = rng.choice(rows[-40:])
        row = base[: rng.randint(0, len(base))] + tuple(
            rng.randrange(4) for _ in range(rng.randint(0, 9))
        )
        rows.append(row)
        paths.append(
            tuple(seen.setdefault(row[: n + 1], 10**9 * len(seen)) for n in range(len(row)))
        )
    assert compare(paths)


def test_logs_of_more_references_than_32_bits_count_take_the_plain_form(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    view = RequestTable([Request((1, 2), 0), Request((1, 3), 0)]).paths
    taken: list[object] = []

    def columnar(paths: object) -> None:
        taken.append(paths)

    monkeypatch.setattr(module, "_columnar", columnar)
    assert module.COLUMNAR_TO == 2**31
    for limit, times in ((5, 1), (4, 1)):
        monkeypatch.setattr(module, "COLUMNAR_TO", limit)
        assert build_forest(view).nodes == 3
        assert len(taken) == times


@settings(max_examples=50, deadline=None)
@given(paths=conversations(), costs=st.lists(st.integers(0, 2**80), min_size=8, max_size=8))
def test_counts_by_depth_give_every_block_once(
    paths: list[tuple[int, ...]], costs: list[int]
) -> None:
    forest = build_forest(paths)
    table = [sum(costs[:n]) for n in range(forest.depth + 1)]
    spans = zip(forest.start, forest.end, strict=True)
    assert sum(n * (table[d] - table[d - 1]) for d, n in forest.depths.items()) == sum(
        table[e] - table[s] for s, e in spans
    )
    assert sum(forest.depths.values()) == forest.distinct
