"""Requests as columns read like the requests they were made of."""

from __future__ import annotations

import pickle
from array import array

from hypothesis import given, settings
from hypothesis import strategies as st

from cache_worthy.sim.columns import Ints, RequestTable
from cache_worthy.sim.forest import build_forest, forest_of
from cache_worthy.sim.trace import Request, paths_of

integers = st.integers(-(2**66), 2**66)
ids = st.one_of(
    st.lists(st.integers(0, 9)), st.lists(st.integers(0, 2**64 - 1)), st.lists(integers | st.text())
)
requests = st.builds(
    Request,
    hash_ids=ids.map(tuple),
    input_length=st.integers(0, 2**70),
    output_length=st.none() | st.integers(0, 2**70),
    timestamp=st.none() | integers | st.floats(allow_nan=False),
    priority=integers,
)


@settings(max_examples=80, deadline=None)
@given(rows=st.lists(requests, max_size=12), data=st.data())
def test_a_table_reads_as_its_requests(rows: list[Request], data: st.DataObject) -> None:
    table = RequestTable(rows)
    assert list(table) == rows
    assert table == rows
    assert [table[i] for i in range(len(rows))] == rows
    assert table[1:] == rows[1:]
    assert [table[-i - 1] for i in range(len(rows))] == rows[::-1]
    assert list(table.paths) == [r.hash_ids for r in rows]
    assert table.paths == paths_of(rows)
    assert list(table.paths[1:][:-1]) == [r.hash_ids for r in rows[1:][:-1]]
    assert table.paths[3:2] == []
    assert table.paths[::2] == [r.hash_ids for r in rows[::2]]
    assert table.paths[::-2] == [r.hash_ids for r in rows[::-2]]
    assert paths_of(table)[2:] == [r.hash_ids for r in rows[2:]]
    for got, asked in zip(table, rows, strict=True):
        assert list(map(type, got.hash_ids)) == list(map(type, asked.hash_ids))
        assert type(got.timestamp) is type(asked.timestamp)
    order = data.draw(st.permutations(range(len(rows))))
    assert table.reordered(order) == [rows[i] for i in order]
    shorter = table.shortened(dict.fromkeys(range(0, len(rows), 2), 1))
    assert [len(r.hash_ids) for r in shorter] == [
        min(1, len(r.hash_ids)) if i % 2 == 0 else len(r.hash_ids) for i, r in enumerate(rows)
    ]


def test_whole_columns_stay_arrays() -> None:
    table = RequestTable([Request((1, 2), 600, 1, 5), Request((1,), 512, 2, 6)])
    columns = (table.ids, table.lengths, table.outputs, table.times, table.priorities)
    assert all(isinstance(c, array) and c.typecode == "q" for c in columns)
    table.append(Request((2**63,), 512, None, 6.5))
    assert isinstance(table.ids, array)
    assert table.ids.typecode == "Q"
    assert table.outputs == [1, 2, None]
    assert table.times == [5, 6, 6.5]


def test_what_was_worked_out_goes_when_the_table_grows_and_stays_here() -> None:
    table = RequestTable([Request((1, 2), 600)])
    first = forest_of(table)
    assert forest_of(table) is first
    sent = pickle.loads(pickle.dumps(table))
    assert sent == table
    assert not sent.memo
    table.append(Request((1, 3), 600))
    assert forest_of(table) == build_forest(table.paths) != first
    assert forest_of(list(table)) == forest_of(table)


def test_ints_compare_as_lists() -> None:
    assert Ints("i", [1, 2]) == [1, 2] == Ints("q", [1, 2]) == (1, 2)
    assert Ints("i", [1, 2]) != [1, 2, 3]
    assert Ints("i", [1]) != [2]
    assert Ints("i") == []
    for one, other, equal in (
        (Ints("i", [1, 2]), [1, 2], True),
        (Ints("i", [1, 2]), (1, 3), False),
        (Ints("i", [1, 2]), Ints("q", [1, 2]), True),
        (Ints("i", [1, 2]), [1, 2, 3], False),
        (Ints("i", [1, 2]), "12", False),
    ):
        assert (one == other, other == one) == (equal, equal)
        assert (one != other, other != one) == (not equal, not equal)
