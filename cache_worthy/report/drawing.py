"""Vector drawings: the parts of one SVG picture, and the scales of its axes.

Colours are classes, which the style sheet of a page or of a file of its own gives a meaning. No script:
what a mark is, its ``title`` says on hover.
"""

from __future__ import annotations

import html
import math
import sys
from collections.abc import Callable, Iterable

from cache_worthy.console import plain

WIDE, NARROW = 720, 344
"""Units of the two drawings of a figure, near the pixels that they get."""

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
    return html.escape(plain(str(value), sys.maxsize))


class Drawing:
    """Parts of one SVG picture of this width and height, in units."""

    def __init__(self, width: float, height: float) -> None:
        self.width = width
        self.height = height
        self._parts: list[str] = []

    @property
    def wide(self) -> bool:
        """Whether this is the drawing for a wide page."""
        return self.width == WIDE

    @property
    def markup(self) -> str:
        """All parts."""
        return "".join(self._parts)

    def add(self, part: str) -> None:
        """Markup as it is."""
        self._parts.append(part)

    def label(
        self, x: float, y: float, text: str, *, css: str = "label", anchor: str = "start"
    ) -> None:
        """Text at its baseline."""
        self.add(
            f'<text x="{x:.1f}" y="{y:.1f}" class="{css}" text-anchor="{anchor}">'
            f"{text_of(text)}</text>"
        )

    def axis_title(self, x: float, text: str) -> None:
        """The name of the axis at the foot of the picture."""
        self.label(x, self.height - 6, text, css="label axis-title", anchor="middle")

    def line(self, start: tuple[float, float], end: tuple[float, float], css: str) -> None:
        """A straight line."""
        (x1, y1), (x2, y2) = start, end
        self.add(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{css}"/>')

    def path(self, points: Iterable[tuple[float, float]], css: str) -> None:
        """Lines through points."""
        self.add(f'<path d="M{"L".join(f"{x:.1f} {y:.1f}" for x, y in points)}" class="{css}"/>')

    def box(
        self, corner: tuple[float, float], size: tuple[float, float], *, css: str, title: str
    ) -> None:
        """A rectangle that says what it is."""
        (x, y), (width, height) = corner, size
        self.add(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}" height="{height:.1f}" '
            f'class="{css}"><title>{text_of(title)}</title></rect>'
        )

    def mark(self, shape: str, at: tuple[float, float], *, css: str, title: str) -> None:
        """A point: ``dot``, ``diamond`` or ``square``."""
        self.add(f'<g class="{css}">{_SHAPES[shape](*at)}<title>{text_of(title)}</title></g>')

    def svg(self, label: str, css: str) -> str:
        """The picture with its text alternative, for a page."""
        return (
            f'<svg class="{css}" viewBox="0 0 {self.width:g} {self.height:g}" role="img" '
            f'aria-label="{text_of(label)}">{self.markup}</svg>'
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


def swatch(shape: str, colour: str) -> str:
    """The mark of a legend in a field of 16 units, without words."""
    if shape == "box":
        return f'<rect x="1" y="3" width="14" height="10" class="{colour}"/>'
    if shape == "tick":
        return f'<line x1="8" y1="1" x2="8" y2="15" class="{colour}"/>'
    line = f'<line x1="0" y1="8" x2="16" y2="8" class="{colour}-line"/>'
    return f'{line * (shape != "diamond")}<g class="{colour}">{_SHAPES[shape](8, 8)}</g>'


def within(x: float, text: str, width: float) -> str:
    """Where to anchor a text at ``x`` so that it stays in the picture."""
    half = CHARACTER * len(text) / 2
    return "start" if x < half else "end" if x > width - half else "middle"


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
