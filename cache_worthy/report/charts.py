"""The charts of a report, each drawn for a wide and for a narrow page.

Text in a scaled picture would shrink with it, so a page holds both drawings and its style sheet shows
one. Charts take plain numbers and words; what they mean is said by who asks for them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from cache_worthy.numbers import percent
from cache_worthy.report.drawing import (
    CHARACTER,
    NARROW,
    WIDE,
    Drawing,
    log_ticks,
    nice_step,
    within,
)

GIB = 2**30

Draw = Callable[[bool], Drawing]


class Point(NamedTuple):
    """A mark over capacity: bytes, cost over compulsory, text on hover, plus and minus."""

    size: int
    value: float
    title: str
    error: float = 0.0


@dataclass(frozen=True, slots=True)
class CapacityChart:
    """Cost over capacity, logarithmic in bytes.

    ``curve`` ascends and is joined by a line, ``best`` and ``bound`` are marks. Below ``steps``, the
    corners of the bound, no policy can be; ``marks`` are named vertical lines.
    """

    curve: tuple[Point, ...]
    best: tuple[Point, ...]
    bound: tuple[Point, ...]
    steps: tuple[tuple[int, float], ...]
    marks: tuple[tuple[str, int], ...]

    def __call__(self, wide: bool) -> Drawing:
        """The drawing for a wide or a narrow page."""
        drawing = Drawing(WIDE if wide else NARROW, 340 if wide else 320)
        low, high = self.curve[0].size, self.curve[-1].size
        most = max(p.value + p.error for p in (*self.curve, *self.best)) - 1
        span = low, high if high > low else 2 * low
        plane = _Plane(drawing, span, most=max(most, 0.001), top=14.0 * len(self.marks) + 8)
        plane.axes(drawing)
        if self.steps:
            corners = [plane.at(size, value) for size, value in self.steps]
            foot = plane.at(self.steps[-1][0], 1)
            drawing.path([(plane.left, foot[1]), *corners, foot], "never")
            drawing.path(corners, "bound-line")
        for n, (name, size) in enumerate(self.marks):
            x, height = plane.at(size, 1)[0], 14.0 * n + 12
            drawing.line((x, height - 8), (x, plane.foot), "rule")
            after = x + 5 + CHARACTER * len(name) < drawing.width
            drawing.label(
                x + 5 if after else x - 5,
                height,
                name,
                css="label strong",
                anchor="start" if after else "end",
            )
        drawing.path([plane.at(p.size, p.value) for p in self.curve], "lru-line")
        for p in self.curve:
            if p.error:
                low_end = plane.at(p.size, max(p.value - p.error, 1))
                drawing.line(low_end, plane.at(p.size, p.value + p.error), "error")
        for shape, css, points in (
            ("dot", "lru", self.curve),
            ("square", "bound", self.bound),
            ("diamond", "best", self.best),
        ):
            for p in points:
                drawing.mark(shape, plane.at(p.size, p.value), css=css, title=p.title)
        return drawing


class _Plane:
    """The plane of :class:`CapacityChart`: bytes to the right, costs from 1 to ``1 + most`` upwards."""

    def __init__(self, drawing: Drawing, span: tuple[int, int], *, most: float, top: float) -> None:
        self.left, self.right = 44.0, drawing.width - 14.0
        self.top, self.foot = top, drawing.height - 44.0
        self.low, self.high = span
        self.step = nice_step(most, 6)
        self.ceiling = 1 + self.step * math.ceil(most / self.step - 1e-9)

    def at(self, size: float, value: float) -> tuple[float, float]:
        """Where a capacity and a cost are."""
        across = math.log(size / self.low) / math.log(self.high / self.low)
        up = (value - 1) / (self.ceiling - 1)
        x = self.left + across * (self.right - self.left)
        return x, self.foot - up * (self.foot - self.top)

    def axes(self, drawing: Drawing) -> None:
        """Grid, ticks and their labels."""
        digits = max(0, -math.floor(math.log10(self.step)))
        for n in range(round((self.ceiling - 1) / self.step) + 1):
            value = 1 + n * self.step
            y = self.at(self.low, value)[1]
            drawing.line((self.left, y), (self.right, y), "grid" if n else "axis")
            drawing.label(self.left - 6, y + 4, f"{value:.{digits}f}x", anchor="end")
        for tick in log_ticks(self.low / GIB, self.high / GIB, 8 if drawing.wide else 5):
            x = self.at(tick * GIB, 1)[0]
            drawing.line((x, self.foot), (x, self.foot + 4), "axis")
            drawing.label(x, self.foot + 18, f"{tick:g}", anchor="middle")
        drawing.axis_title((self.left + self.right) / 2, "KV cache, GiB (log scale)")


def lower_steps(
    floor: int, working_set: int, bound: Iterable[tuple[int, float]]
) -> tuple[tuple[int, float], ...]:
    """The certified bound as a function of capacity: its corners, in bytes and over compulsory.

    A bound at some capacity holds at every smaller one too, as less memory cannot cost less; past
    the last certified capacity what is left is the compulsory cost, 1.

    Examples
    --------
    >>> lower_steps(1, 9, [(2, 1.5), (4, 1.2)])
    ((1, 1.5), (2, 1.5), (2, 1.2), (4, 1.2), (4, 1.0), (9, 1.0))
    """
    corners = [(floor, 0.0), *bound]
    steps = [((a, value), (b, value)) for (a, _), (b, value) in pairwise(corners)]
    last = corners[-1][0]
    return (*(corner for pair in steps for corner in pair), (last, 1.0), (working_set, 1.0))


class Bar(NamedTuple):
    """A bar in pieces: share of the bar, colour, what it is; none where there is nothing to split.

    ``label`` and ``value`` are above it, left and right, ``more`` behind the label on a wide page; a
    mark is at the share ``tick``.
    """

    label: str
    value: str
    more: str
    pieces: tuple[tuple[float, str, str], ...]
    tick: float | None


@dataclass(frozen=True, slots=True)
class SplitChart:
    """Bars of one length, each in pieces; ``empty`` is what a bar without pieces says."""

    bars: tuple[Bar, ...]
    empty: str

    def __call__(self, wide: bool) -> Drawing:
        """The drawing for a wide or a narrow page."""
        pitch, height = 54.0, 24.0
        drawing = Drawing(WIDE if wide else NARROW, pitch * len(self.bars) + 4)
        width = drawing.width
        for n, bar in enumerate(self.bars):
            top = pitch * n + 20
            name = f"{bar.label}{bar.more}" if wide else bar.label
            drawing.label(0, top - 6, name, css="label strong")
            drawing.label(width, top - 6, bar.value, anchor="end")
            if not bar.pieces:
                drawing.box((0.5, top), (width - 1, height), css="empty", title=self.empty)
                drawing.label(width / 2, top + 16, self.empty, anchor="middle")
            at = 0.0
            for share, colour, what in bar.pieces:
                length, shown = share * width, percent(share)
                if length:
                    gap = 1.0 if at else 0.0  # two pieces never touch
                    drawing.box(
                        (at + gap, top),
                        (length - gap, height),
                        css=colour,
                        title=f"{what}: {shown}",
                    )
                if length > CHARACTER * (len(shown) + 1):
                    drawing.label(at + length / 2, top + 16, shown, css="on-mark", anchor="middle")
                at += length
            if bar.tick is not None:
                x = bar.tick * width
                drawing.line((x, top - 3), (x, top + height + 3), "tick")
        return drawing


@dataclass(frozen=True, slots=True)
class HistogramChart:
    """Shares by bin: label below the bar, share, text on hover."""

    bins: tuple[tuple[str, float, str], ...]
    axis: str

    def __call__(self, wide: bool) -> Drawing:
        """The drawing for a wide or a narrow page."""
        left, right, top, bottom = 44.0, 4.0, 20.0, 44.0
        drawing = Drawing(WIDE if wide else NARROW, 260)
        width, foot = drawing.width, drawing.height - bottom
        step = nice_step(max(share for _, share, _ in self.bins), 4)
        ceiling = step * math.ceil(max(share for _, share, _ in self.bins) / step - 1e-9)

        def y(share: float) -> float:
            return foot - share / ceiling * (foot - top)

        for n in range(round(ceiling / step) + 1):
            at = y(n * step)
            drawing.line((left, at), (width - right, at), "grid" if n else "axis")
            digits = 0 if step >= 0.01 else 1
            drawing.label(left - 6, at + 4, percent(n * step, digits), anchor="end")
        pitch = (width - left - right) / len(self.bins)
        every = max(1, math.ceil(CHARACTER * (len(self.bins[-1][0]) + 1) / pitch))
        for n, (label, share, title) in enumerate(self.bins):
            x = left + n * pitch
            drawing.box((x + 1, y(share)), (pitch - 2, foot - y(share)), css="plain", title=title)
            if n % every == 0:
                drawing.label(x + pitch / 2, foot + 18, label, anchor="middle")
            shown = percent(share, 0) if share >= 0.005 else "<1%"
            if share and pitch > CHARACTER * (len(shown) + 0.5):
                drawing.label(x + pitch / 2, y(share) - 5, shown, anchor="middle")
        drawing.axis_title((left + width) / 2, self.axis)
        return drawing


class Interval(NamedTuple):
    """A line from ``low`` to ``high`` and a point on it, with a ``title`` on hover.

    ``label`` and ``value`` are above it, left and right.
    """

    label: str
    value: str
    low: float
    high: float
    point: float
    title: str


@dataclass(frozen=True, slots=True)
class IntervalChart:
    """One interval per row over a common axis, logarithmic in GiB or linear in percent.

    A line goes through all rows at ``mark``: where, and what it is.
    """

    rows: tuple[Interval, ...]
    axis: str
    mark: tuple[float, str]
    log: bool

    def __call__(self, wide: bool) -> Drawing:
        """The drawing for a wide or a narrow page."""
        pitch, top, bottom, left, right = 34.0, 24.0, 40.0, 8.0, 14.0
        drawing = Drawing(WIDE if wide else NARROW, top + pitch * len(self.rows) + bottom)
        width, foot = drawing.width, drawing.height - bottom + 4
        low, high = self._ends()

        def x(value: float) -> float:
            if self.log:
                share = math.log(value / low) / math.log(high / low)
            else:
                share = (value - low) / (high - low)
            return left + share * (width - left - right)

        for value, shown in self._ticks(low, high, 8 if wide else 5):
            drawing.line((x(value), top), (x(value), foot), "grid")
            drawing.label(x(value), foot + 15, shown, anchor=within(x(value), shown, width))
        drawing.axis_title(width / 2, self.axis)
        at, name = x(self.mark[0]), self.mark[1]
        drawing.line((at, top - 6), (at, foot), "rule")
        drawing.label(at, top - 10, name, css="label strong", anchor=within(at, name, width))
        for n, row in enumerate(self.rows):
            y = top + pitch * n + 14
            drawing.label(0, y, row.label, css="label strong")
            drawing.label(width, y, row.value, anchor="end")
            drawing.line((left, y + 10), (width - right, y + 10), "grid")
            drawing.line((x(row.low), y + 10), (x(row.high), y + 10), "span")
            drawing.mark("dot", (x(row.point), y + 10), css="lru", title=row.title)
        return drawing

    def _ends(self) -> tuple[float, float]:
        values = [v for row in self.rows for v in (row.low, row.high, row.point)]
        low, high = min(*values, self.mark[0]), max(*values, self.mark[0])
        if high > low:
            return low, high
        return (low / 1.5, high * 1.5) if self.log else (low - 0.01, high + 0.01)

    def _ticks(self, low: float, high: float, most: int) -> Sequence[tuple[float, str]]:
        if self.log:
            return [(t, f"{t:g}") for t in log_ticks(low, high, most)]
        step = nice_step(high - low, most)
        digits = max(0, -math.floor(math.log10(step)) - 2)
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        return [(n * step, percent(n * step + 0.0, digits)) for n in range(first, last + 1)]
