"""Figures of the HTML report: SVG written here, coloured by the style sheet's variables.

Each figure is drawn twice, for a wide and for a narrow page, because text in a scaled picture would
shrink with it; the style sheet shows one. Both carry the same text alternative, and the same numbers
stand in a table beside them. No script: what a mark is, its ``title`` says on hover.
"""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from cache_worthy.advise.capacity import CapacityCurve
from cache_worthy.advise.policy_table import PolicyTable
from cache_worthy.advise.recoverable import Recovery
from cache_worthy.advise.workload import ReuseBin
from cache_worthy.report.layout import gib, percent, ratio

WIDTHS = {"wide": 720, "narrow": 344}
"""Units of the two drawings, near the pixels that they get."""

CHARACTER = 6.6
"""Width of a character of the labels, about, in units."""


def text_of(value: object) -> str:
    """A value as HTML text or attribute: markup, control characters and lone surrogates escaped.

    Examples
    --------
    >>> text_of('</script> & "a"')
    '&lt;/script&gt; &amp; &quot;a&quot;'
    >>> print(text_of("a" + chr(0) + chr(0xD800)))
    a\\x00\\ud800
    """
    shown = "".join(
        c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode("ascii")
        for c in str(value)
    )
    return html.escape(shown)


class Drawing:
    """Parts of one SVG picture."""

    def __init__(self, width: float, height: float, css: str) -> None:
        self.width = width
        self.height = height
        self.css = css
        self._parts: list[str] = []

    def add(self, part: str) -> None:
        """Markup as it is."""
        self._parts.append(part)

    def label(
        self, x: float, y: float, text: str, css: str = "label", anchor: str = "start"
    ) -> None:
        """Text at its baseline."""
        self.add(
            f'<text x="{x:.1f}" y="{y:.1f}" class="{css}" text-anchor="{anchor}">'
            f"{text_of(text)}</text>"
        )

    def line(self, x1: float, y1: float, x2: float, y2: float, css: str) -> None:
        """A straight line."""
        self.add(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{css}"/>')

    def path(self, points: Iterable[tuple[float, float]], css: str) -> None:
        """Lines through points."""
        self.add(f'<path d="M{"L".join(f"{x:.1f} {y:.1f}" for x, y in points)}" class="{css}"/>')

    def box(self, x: float, y: float, width: float, height: float, css: str, title: str) -> None:
        """A rectangle that says what it is."""
        self.add(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}" height="{height:.1f}" '
            f'class="{css}"><title>{text_of(title)}</title></rect>'
        )

    def mark(self, shape: str, x: float, y: float, css: str, title: str) -> None:
        """A point: ``dot``, ``diamond`` or ``square``."""
        self.add(f'<g class="{css}">{_SHAPES[shape](x, y)}<title>{text_of(title)}</title></g>')

    def text(self, label: str, description: str) -> str:
        """The picture with its text alternative."""
        return (
            f'<svg class="{self.css}" viewBox="0 0 {self.width:g} {self.height:g}" role="img" '
            f'aria-label="{text_of(label)}. {text_of(description)}">'
            f"{''.join(self._parts)}</svg>"
        )


def _diamond(x: float, y: float, r: float = 5.5) -> str:
    return (
        f'<path d="M{x:.1f} {y - r:.1f}L{x + r:.1f} {y:.1f}L{x:.1f} {y + r:.1f}'
        f'L{x - r:.1f} {y:.1f}Z"/>'
    )


_SHAPES: dict[str, Callable[[float, float], str]] = {
    "dot": lambda x, y: f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.2"/>',
    "diamond": _diamond,
    "square": lambda x, y: f'<rect x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8"/>',
}


def both(draw: Callable[[str, int], str]) -> str:
    """The wide and the narrow drawing."""
    return "".join(draw(name, width) for name, width in WIDTHS.items())


def swatch(shape: str, css: str) -> str:
    """A mark for a legend, beside its words and so without words of its own."""
    if shape == "box":
        inner = f'<rect x="1" y="3" width="14" height="10" class="{css}"/>'
    elif shape == "tick":
        inner = f'<line x1="8" y1="1" x2="8" y2="15" class="{css}"/>'
    else:
        line = (
            f'<line x1="0" y1="8" x2="16" y2="8" class="{css}-line"/>' if shape != "diamond" else ""
        )
        inner = f'{line}<g class="{css}">{_SHAPES[shape](8, 8)}</g>'
    return f'<svg class="swatch" viewBox="0 0 16 16" aria-hidden="true">{inner}</svg>'


def nice_step(span: float, most: int) -> float:
    """The least step of 1, 2 or 5 times a power of ten that fits ``most`` times into ``span``.

    Examples
    --------
    >>> nice_step(0.8, 5), nice_step(3, 5)
    (0.2, 1.0)
    """
    rough = span / most
    power = 10.0 ** math.floor(math.log10(rough))
    return next(round(m * power, 12) for m in (1, 2, 5, 10) if m * power >= rough * (1 - 1e-9))


def log_ticks(low: float, high: float, most: int) -> list[float]:
    """Between two sizes, 1, 2 and 5 times powers of ten; powers alone where these are many, equal
    steps where they are fewer than two.

    Examples
    --------
    >>> log_ticks(0.51, 0.93, 6)
    [0.6, 0.7, 0.8, 0.9]
    >>> log_ticks(0.4, 12, 6)
    [0.5, 1.0, 2.0, 5.0, 10.0]
    >>> log_ticks(0.4, 5000, 6)
    [1.0, 10.0, 100.0, 1000.0]
    """
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in ((1, 2, 5), (1, 3), (1,)):
        ticks = [m * 10.0**p for p in powers for m in steps if low <= m * 10.0**p <= high]
        if len(ticks) < 2:
            step = nice_step(high - low, most)
            first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
            return [round(n * step, 12) for n in range(first, last + 1)]
        if len(ticks) <= most:
            return ticks
    return ticks[:: -(-len(ticks) // most)]


def lower_steps(floor: int, working_set: int, bound: Recovery) -> list[tuple[int, float]]:
    """The certified bound as a function of capacity: its corners, in bytes and over compulsory.

    A bound at some capacity holds at every smaller one too, as less memory cannot cost less; past
    the last certified capacity what is left is the compulsory cost, 1.
    """
    corners: list[tuple[int, float]] = []
    before = floor
    for row in bound.rows:
        value = 1.0 if row.lower_bound_ratio is None else row.lower_bound_ratio
        corners += [(before, value), (row.bytes, value)]
        before = row.bytes
    return [*corners, (before, 1.0), (working_set, 1.0)]


def capacity_figure(
    curve: CapacityCurve,
    table: PolicyTable,
    bound: Recovery | None,
    yours: int | None,
    least: str,
    errors: Sequence[float],
    description: str,
) -> str:
    """Cost over capacity: lru, the best policy, the certified bound; knee and first point marked.

    Parameters
    ----------
    least : str
        What the first point of the curve is.
    errors : sequence of float
        Of the curve's points, plus and minus; all zero where they are exact.
    """

    def draw(css: str, width: int) -> str:
        points = [(p.bytes, p.cost_ratio or 1.0, p) for p in curve.points]
        low, high = points[0][0], points[-1][0]
        if high == low:
            high = 2 * low
        best = [
            (row, cell)
            for row in table.rows
            for cell in row.cells
            if cell.policy == row.best and cell.cost_ratio is not None
        ]
        rows = [(least, low), ("recommended", curve.recommended_bytes)]
        if yours is not None:
            rows.append(("yours", yours))
        most = max(c.cost_ratio or 1.0 for _, c in best)
        most = max([most] + [y + e for (_, y, _), e in zip(points, errors, strict=True)])
        top, bottom, left, right = 14.0 * len(rows) + 8, 44.0, 44.0, 14.0
        drawing = Drawing(width, 340 if css == "wide" else 320, css)
        step = nice_step(max(most - 1, 0.001), 6)
        ceiling = 1 + step * math.ceil((max(most - 1, 0.001)) / step - 1e-9)

        def x(size: float) -> float:
            share = math.log(size / low) / math.log(high / low)
            return left + share * (width - left - right)

        def y(value: float) -> float:
            share = (value - 1) / (ceiling - 1)
            return drawing.height - bottom - share * (drawing.height - bottom - top)

        digits = max(0, -math.floor(math.log10(step)))
        for n in range(round((ceiling - 1) / step) + 1):
            value = 1 + n * step
            drawing.line(left, y(value), width - right, y(value), "axis" if n == 0 else "grid")
            drawing.label(left - 6, y(value) + 4, f"{value:.{digits}f}x", anchor="end")
        for tick in log_ticks(low / 2**30, high / 2**30, 8 if css == "wide" else 5):
            at = x(tick * 2**30)
            drawing.line(at, y(1), at, y(1) + 4, "axis")
            drawing.label(at, y(1) + 18, f"{tick:g}", anchor="middle")
        drawing.label(
            (left + width - right) / 2,
            drawing.height - 6,
            "KV cache, GiB (log scale)",
            "label axis-title",
            "middle",
        )
        if bound is not None:
            steps = [(x(c), y(v)) for c, v in lower_steps(low, points[-1][0], bound)]
            drawing.path([(left, y(1)), *steps, (steps[-1][0], y(1))], "never")
            drawing.path(steps, "bound-line")
        for n, (name, size) in enumerate(rows):
            at, height = x(size), 14.0 * n + 12
            drawing.line(at, height - 8, at, y(1), "rule")
            after = at + 5 + CHARACTER * len(name) < width
            drawing.label(
                at + 5 if after else at - 5,
                height,
                name,
                "label strong",
                "start" if after else "end",
            )
        drawing.path([(x(size), y(value)) for size, value, _ in points], "lru-line")
        for (size, value, _), error in zip(points, errors, strict=True):
            if error:
                drawing.line(x(size), y(max(value - error, 1)), x(size), y(value + error), "error")
        for size, value, p in points:
            title = f"{curve.policy} at {percent(p.fraction)} = {gib(size)}: {ratio(value)}x"
            drawing.mark("dot", x(size), y(value), "lru", title)
        for r in bound.rows if bound is not None else ():
            title = f"certified bound at {percent(r.fraction)} = {gib(r.bytes)}: "
            value = 1.0 if r.lower_bound_ratio is None else r.lower_bound_ratio
            drawing.mark("square", x(r.bytes), y(value), "bound", f"{title}{ratio(value)}x")
        for row, cell in best:
            title = f"{row.best} at {percent(row.fraction)} = {gib(row.bytes)}: "
            value = cell.cost_ratio or 1.0
            drawing.mark("diamond", x(row.bytes), y(value), "best", f"{title}{ratio(value)}x")
        return drawing.text("Capacity curve", description)

    return both(draw)


def split_figure(bound: Recovery, labels: Sequence[str], description: str) -> str:
    """What lru pays over compulsory at each capacity, and who could get it back."""
    parts = (
        ("only_memory", "memory", "only memory"),
        ("undecided", "undecided", "undecided"),
        ("foresight", "foresight", "perfect foresight"),
    )

    def draw(css: str, width: int) -> str:
        pitch, height = 54.0, 24.0
        drawing = Drawing(width, pitch * len(bound.rows) + 4, css)
        for n, (row, label) in enumerate(zip(bound.rows, labels, strict=True)):
            top = pitch * n + 20
            over = row.lru_cost / bound.compulsory_cost - 1 if bound.compulsory_cost else None
            size = f"{percent(row.fraction)} = {gib(row.bytes)}"
            named = f"{size} ({label})" if label and css == "wide" else size
            drawing.label(0, top - 6, named, "label strong")
            drawing.label(width, top - 6, f"{percent(over)} over compulsory", anchor="end")
            shares = [(getattr(row, field), colour, name) for field, colour, name in parts]
            if row.only_memory is None:
                drawing.box(0.5, top, width - 1, height, "empty", "nothing to recover")
                drawing.label(width / 2, top + 16, "nothing to recover", anchor="middle")
                continue
            at = 0.0
            for share, colour, name in shares:
                length = (share or 0.0) * width
                if length:
                    gap = 1.0 if at else 0.0  # two pieces never touch
                    drawing.box(
                        at + gap, top, length - gap, height, colour, f"{name}: {percent(share)}"
                    )
                shown = percent(share)
                if length > CHARACTER * (len(shown) + 1):
                    drawing.label(at + length / 2, top + 16, shown, "on-mark", "middle")
                at += length
            if row.best_shipped:
                tick = (1 - row.best_shipped) * width
                drawing.line(tick, top - 3, tick, top + height + 3, "tick")
        return drawing.text("Who could get it back", description)

    return both(draw)


def reuse_figure(bins: Sequence[ReuseBin], description: str) -> str:
    """How long ago a block was last asked for, in requests, by powers of two."""

    def draw(css: str, width: int) -> str:
        total = sum(b.references for b in bins)
        most = max(b.references for b in bins) / total
        left, right, top, bottom = 44.0, 4.0, 20.0, 44.0
        drawing = Drawing(width, 260, css)
        step = nice_step(most, 4)
        ceiling = step * math.ceil(most / step - 1e-9)
        foot = drawing.height - bottom

        def y(share: float) -> float:
            return foot - share / ceiling * (foot - top)

        for n in range(round(ceiling / step) + 1):
            drawing.line(left, y(n * step), width - right, y(n * step), "grid" if n else "axis")
            digits = 0 if step >= 0.01 else 1
            drawing.label(left - 6, y(n * step) + 4, percent(n * step, digits), anchor="end")
        pitch = (width - left - right) / len(bins)
        every = max(1, math.ceil(CHARACTER * (len(str(bins[-1].up_to)) + 1) / pitch))
        for n, b in enumerate(bins):
            share, at = b.references / total, left + n * pitch
            span = f"{b.least} to {b.up_to}" if b.least < b.up_to else f"{b.up_to}"
            title = f"{span} requests: {b.references} references, {percent(share)}"
            drawing.box(at + 1, y(share), pitch - 2, foot - y(share), "plain", title)
            if n % every == 0:
                drawing.label(at + pitch / 2, foot + 18, str(b.up_to), anchor="middle")
            shown = percent(share, 0) if share >= 0.005 else "<1%"
            if b.references and pitch > CHARACTER * (len(shown) + 0.5):
                drawing.label(at + pitch / 2, y(share) - 5, shown, anchor="middle")
        drawing.label(
            (left + width) / 2,
            drawing.height - 6,
            "requests since it was last asked for, up to",
            "label axis-title",
            "middle",
        )
        return drawing.text("Reuse distance", description)

    return both(draw)


@dataclass(frozen=True, slots=True)
class Interval:
    """A row of :func:`interval_figure`: a line from ``low`` to ``high``, and a point on it.

    Attributes
    ----------
    label, value : str
        Above the line, left and right.
    low, high, point : float
    title : str
        On hover.
    """

    label: str
    value: str
    low: float
    high: float
    point: float
    title: str


def interval_figure(
    name: str,
    rows: Sequence[Interval],
    axis: str,
    description: str,
    mark: tuple[float, str],
    *,
    log: bool,
) -> str:
    """One interval a row over a common axis, logarithmic in GiB or linear in percent.

    Parameters
    ----------
    mark : tuple of (float, str)
        Where a line goes through all rows, and what it is.
    """
    values = [v for row in rows for v in (row.low, row.high, row.point)] + [mark[0]]
    low, high = min(values), max(values)
    if high == low:
        low, high = (low / 1.5, high * 1.5) if log else (low - 0.01, high + 0.01)

    def draw(css: str, width: int) -> str:
        pitch, top, bottom, left, right = 34.0, 24.0, 40.0, 8.0, 14.0
        drawing = Drawing(width, top + pitch * len(rows) + bottom, css)
        foot = drawing.height - bottom + 4

        def x(value: float) -> float:
            if log:
                share = math.log(value / low) / math.log(high / low)
            else:
                share = (value - low) / (high - low)
            return left + share * (width - left - right)

        most = 8 if css == "wide" else 5
        if log:
            ticks = [(t, f"{t:g}") for t in log_ticks(low, high, most)]
        else:
            step = nice_step(high - low, most)
            digits = max(0, -math.floor(math.log10(step)) - 2)
            first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
            ticks = [(n * step, percent(n * step + 0.0, digits)) for n in range(first, last + 1)]
        for value, shown in ticks:
            drawing.line(x(value), top, x(value), foot, "grid")
            drawing.label(x(value), foot + 15, shown, anchor=_within(x(value), shown, width))
        drawing.label(width / 2, drawing.height - 5, axis, "label axis-title", "middle")
        at = x(mark[0])
        drawing.line(at, top - 6, at, foot, "rule")
        drawing.label(at, top - 10, mark[1], "label strong", _within(at, mark[1], width))
        for n, row in enumerate(rows):
            y = top + pitch * n + 14
            drawing.label(0, y, row.label, "label strong")
            drawing.label(width, y, row.value, anchor="end")
            drawing.line(left, y + 10, width - right, y + 10, "grid")
            drawing.line(x(row.low), y + 10, x(row.high), y + 10, "span")
            drawing.mark("dot", x(row.point), y + 10, "lru", row.title)
        return drawing.text(name, description)

    return both(draw)


def _within(x: float, text: str, width: float) -> str:
    """Where to anchor a text at ``x`` so that it stays in the picture."""
    half = CHARACTER * len(text) / 2
    return "start" if x < half else "end" if x > width - half else "middle"
