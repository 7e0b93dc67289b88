"""Requests as columns: one array per field instead of one object per request.

A million requests of 24 blocks are 29 million block references: 2 GB as Python objects, a tenth of
that as columns. :class:`RequestTable` still reads as a sequence of
:class:`~cache_worthy.sim.trace.Request`. Plain ``array`` and not numpy, because small logs, most of
them, must not pay for importing numpy.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, overload

from cache_worthy.sim.trace import BlockId, Request

if TYPE_CHECKING:
    _Array = array[int]
else:
    _Array = array

Column = array | list  # type: ignore[type-arg]

T = TypeVar("T")


class Ints(_Array):
    """An ``array`` of integers that compares and prints like a list of them.

    Examples
    --------
    >>> Ints("i", [3, 4]) == [3, 4], Ints("i", [3, 4])
    (True, [3, 4])
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if isinstance(other, list | tuple):
            return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))
        return super().__eq__(other)

    def __ne__(self, other: object) -> bool:
        equal = self.__eq__(other)  # array has a __ne__ of its own, which knows no lists
        return equal if equal is NotImplemented else not equal

    __hash__ = None

    def __repr__(self) -> str:
        return repr(self.tolist())


def grown(column: Column, values: Iterable[object]) -> Column:
    """``column`` with ``values`` appended, in place or in a new column that can hold them.

    Integers of 64 bits, signed or unsigned, stay an array; anything else makes a list. Booleans are
    not allowed: an array would take them for integers.

    Examples
    --------
    >>> grown(array("q", [1]), [2]), grown(array("q", [1]), [2**64 - 1]).typecode
    (array('q', [1, 2]), 'Q')
    >>> grown(array("q", [1]), [None]), grown(array("q", [-1]), [2**63])
    ([1, None], [-1, 9223372036854775808])
    """
    if isinstance(column, list):
        column.extend(values)
        return column
    values = values if isinstance(values, list | tuple) else list(values)
    before = len(column)
    try:
        column.extend(values)
    except (TypeError, OverflowError):
        del column[before:]
        try:
            return array("Q", [*column, *values])
        except (TypeError, OverflowError):
            return [*column, *values]
    return column


class _Rows(Sequence[T]):
    """Compares like a list of its rows."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, list | tuple | _Rows):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]


class RequestTable(_Rows[Request]):
    """Requests by column.

    Attributes
    ----------
    ids : array or list
        Block ids of all requests, one after another.
    ends : array
        Per request where its ids end.
    lengths, outputs, times, priorities : array or list
        The other fields of a request. Columns are arrays where all values are integers of 64 bits.
    memo : dict
        What others have computed from these requests; not pickled.

    Examples
    --------
    >>> table = RequestTable([Request((7, 8), 600), Request((7,), 512, timestamp=3)])
    >>> table[1], len(table), table.paths[0]
    (Request(hash_ids=(7,), input_length=512, output_length=None, timestamp=3, priority=0), 2, (7, 8))
    """

    __slots__ = ("ends", "ids", "lengths", "memo", "outputs", "priorities", "times")

    def __init__(self, requests: Iterable[Request] = ()) -> None:
        self.ids: Column = array("q")
        self.ends: array[int] = array("q")
        self.lengths: Column = array("q")
        self.outputs: Column = array("q")
        self.times: Column = array("q")
        self.priorities: Column = array("q")
        self.memo: dict[object, Any] = {}
        for request in requests:
            self.append(request)

    def append(self, request: Request) -> None:
        """Add one request."""
        self.add(
            request.hash_ids,
            request.input_length,
            request.output_length,
            request.timestamp,
            request.priority,
        )

    def add(
        self,
        ids: Sequence[BlockId],
        length: int,
        output: int | None,
        time: float | None,
        priority: int,
    ) -> None:
        """Add one request by its fields; none may be a boolean."""
        self.memo.clear()
        before = len(self.ids)
        try:  # the usual case: the column keeps its type
            self.ids.extend(ids)
        except (TypeError, OverflowError):
            del self.ids[before:]
            self.ids = grown(self.ids, ids)
        self.ends.append(len(self.ids))
        for name, value in (
            ("lengths", length),
            ("outputs", output),
            ("times", time),
            ("priorities", priority),
        ):
            column: Column = getattr(self, name)
            try:
                column.append(value)
            except (TypeError, OverflowError):
                setattr(self, name, grown(column, [value]))

    def __getstate__(self) -> dict[str, Column]:
        return {name: getattr(self, name) for name in self.__slots__ if name != "memo"}

    def __setstate__(self, columns: dict[str, Column]) -> None:
        self.memo = {}
        for name, column in columns.items():
            setattr(self, name, column)

    @classmethod
    def of(cls, requests: Sequence[Request]) -> RequestTable:
        """The requests as a table; unchanged if they are one."""
        return requests if isinstance(requests, RequestTable) else cls(requests)

    def __len__(self) -> int:
        return len(self.ends)

    def _span(self, index: int) -> tuple[BlockId, ...]:
        return tuple(self.ids[self.ends[index - 1] if index else 0 : self.ends[index]])

    @overload
    def __getitem__(self, index: int) -> Request: ...
    @overload
    def __getitem__(self, index: slice) -> list[Request]: ...
    def __getitem__(self, index: int | slice) -> Request | list[Request]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        place = range(len(self))[index]
        return Request(
            hash_ids=self._span(place),
            input_length=self.lengths[place],
            output_length=self.outputs[place],
            timestamp=self.times[place],
            priority=self.priorities[place],
        )

    def __iter__(self) -> Iterator[Request]:
        start = 0
        columns: Any = (self.ends, self.lengths, self.outputs, self.times, self.priorities)
        for end, *fields in zip(*columns, strict=True):
            yield Request(tuple(self.ids[start:end]), *fields)
            start = end

    @property
    def paths(self) -> Paths:
        """The block paths alone, as a view."""
        return Paths(self)

    def reordered(self, order: Iterable[int]) -> RequestTable:
        """The requests in another order."""
        return RequestTable(self[i] for i in order)

    def shortened(self, blocks: dict[int, int]) -> RequestTable:
        """The requests with some, by position, cut to their first blocks."""
        out = RequestTable()
        for place, r in enumerate(self):
            ids = r.hash_ids[: blocks[place]] if place in blocks else r.hash_ids
            out.add(ids, r.input_length, r.output_length, r.timestamp, r.priority)
        return out


class Paths(_Rows[tuple[BlockId, ...]]):
    """The block paths of the requests ``begin`` to ``end`` of a table, made when asked for."""

    __slots__ = ("begin", "end", "table")

    def __init__(self, table: RequestTable, begin: int = 0, end: int | None = None) -> None:
        self.table = table
        self.begin = begin
        self.end = len(table) if end is None else end

    @property
    def span(self) -> tuple[int, int]:
        """Where the ids of these requests begin and end in the table."""
        ends = self.table.ends
        first, last = (ends[n - 1] if n else 0 for n in (self.begin, self.end))
        return first, max(first, last)

    def __len__(self) -> int:
        return max(0, self.end - self.begin)

    @overload
    def __getitem__(self, index: int) -> tuple[BlockId, ...]: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[tuple[BlockId, ...]]: ...
    def __getitem__(
        self, index: int | slice
    ) -> tuple[BlockId, ...] | Sequence[tuple[BlockId, ...]]:
        if isinstance(index, slice):
            places = range(len(self))[index]
            if places.step == 1:
                return Paths(self.table, self.begin + places.start, self.begin + places.stop)
            return [self.table._span(self.begin + i) for i in places]
        return self.table._span(self.begin + range(len(self))[index])

    def __iter__(self) -> Iterator[tuple[BlockId, ...]]:
        ids, ends = self.table.ids, self.table.ends
        start = self.span[0]
        for place in range(self.begin, self.end):
            yield tuple(ids[start : ends[place]])
            start = ends[place]
