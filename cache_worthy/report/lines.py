"""Lines and clouds of points over two axes, as files of their own: for the study and the scripts."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass

from cache_worthy.report.drawing import WIDE, Drawing, log_ticks, nice_step
from cache_worthy.report.picture import LINE, MARGIN, document, rendered

Share = Callable[[float], float]

COLOURS = ("#2259b8", "#a94a06", "#0b6e62", "#6a3fa8", "#52617c", "#6c6a64")

_LEFT, _FOOT = 52.0, 40.0


@dataclass(frozen=True, slots=True)
class Line:
    """Points of one colour.

    Attributes
    ----------
    points : tuple of (float, float)
    label : str
        In the legend, unless it is empty.
    colour : int
        Of `COLOURS`.
    dashed, joined : bool
    mark : float
        Radius of a dot at each point, in units; 0 for no dot.
    """

    points: tuple[tuple[float, float], ...]
    label: str
    colour: int
    dashed: bool = False
    joined: bool = True
    mark: float = 0.0


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis that holds all values of a chart.

    Attributes
    ----------
    title : str
    log : bool
        Logarithmic; all values are above 0.
    ticks : tuple of float
        Where to put them; at round values if empty.
    """

    title: str
    log: bool = False
    ticks: tuple[float, ...] = ()

    def place(self, values: Sequence[float], most: int) -> tuple[Share, Sequence[float]]:
        """How far a value is from the low end to the high one, and the ticks between them."""
        low, high = min(values), max(values)
        if low == high:
            low, high = (low / 2, high * 2) if self.log else (low - 0.5, high + 0.5)
        if self.log:
            ticks: Sequence[float] = log_ticks(low, high, most)
        else:
            step = nice_step(high - low, most)
            first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
            ticks = [round(n * step, 12) for n in range(first, last + 1)]
            low, high = ticks[0], ticks[-1]

        def share(value: float) -> float:
            if self.log:
                return math.log(value / low) / math.log(high / low)
            return (value - low) / (high - low)

        return share, [t for t in self.ticks if low <= t <= high] or ticks


@dataclass(frozen=True, slots=True)
class Chart:
    """One chart: title, axes, lines, and words at points."""

    title: str
    _: KW_ONLY
    across: Axis
    up: Axis
    lines: tuple[Line, ...]
    notes: tuple[tuple[float, float, str], ...] = ()

    def draw(self, page: Drawing, left: float, width: float) -> None:
        """Draw it into a column of a page."""
        named = [line for line in self.lines if line.label]
        top, foot = MARGIN + LINE * (len(named) + 1.5), page.height - _FOOT
        page.label(left, MARGIN + 0.7 * LINE, self.title, css="label strong")
        for n, line in enumerate(named):
            y = MARGIN + LINE * (n + 1.4)
            self._line(page, line, [(left + 4, y), (left + 24, y)][not line.joined :])
            page.label(left + 30, y + 4, line.label)
        points = [p for line in self.lines for p in line.points]
        across, columns = self.across.place([x for x, _ in points], 8 if width > WIDE / 2 else 5)
        up, rows = self.up.place([y for _, y in points], 6)

        def at(x: float, y: float) -> tuple[float, float]:
            reach = width - _LEFT - MARGIN
            return left + _LEFT + reach * across(x), foot - (foot - top) * up(y)

        start, end = left + _LEFT, left + width - MARGIN
        for tick in rows:
            y = foot - (foot - top) * up(tick)
            page.line((start, y), (end, y), "grid")
            page.label(start - 6, y + 4, f"{tick:g}", anchor="end")
        for tick in columns:
            x = start + (end - start) * across(tick)
            page.line((x, foot), (x, foot + 4), "axis")
            page.label(x, foot + 16, f"{tick:g}", anchor="middle")
        page.line((start, foot), (end, foot), "axis")
        page.label((start + end) / 2, foot + 34, self.across.title, anchor="middle")
        page.add(f'<g transform="translate({left + 10:g} {(top + foot) / 2:g}) rotate(-90)">')
        page.label(0, 0, self.up.title, anchor="middle")
        page.add("</g>")
        for line in self.lines:
            self._line(page, line, [at(*p) for p in line.points])
        for x, y, words in self.notes:
            there = at(x, y)
            page.label(
                there[0], there[1] - 8, words, anchor="end" if x == points[-1][0] else "middle"
            )

    @staticmethod
    def _line(page: Drawing, line: Line, points: Sequence[tuple[float, float]]) -> None:
        colour = COLOURS[line.colour]
        if line.joined:
            dashes = ' stroke-dasharray="6 3"' if line.dashed else ""
            path = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
            page.add(
                f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="1.6"{dashes}/>'
            )
        for x, y in points if line.mark else ():
            page.add(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{line.mark:g}" fill="{colour}"/>')


def lines_picture(charts: Sequence[Chart], target: str, *, height: float = 380) -> bytes:
    """Charts side by side, as a file of the kind that ``target`` ends in."""
    page = Drawing((WIDE if len(charts) == 1 else 1.4 * WIDE) + 2 * MARGIN, height)
    width = (page.width - 2 * MARGIN) / len(charts)
    page.add('<rect width="100%" height="100%" fill="#ffffff"/>')
    for n, chart in enumerate(charts):
        chart.draw(page, MARGIN + n * width, width - MARGIN * (len(charts) > 1))
    return rendered(document(page, ". ".join(chart.title for chart in charts)), target)
