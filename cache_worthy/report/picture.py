"""One figure as a file of its own: SVG, or PNG drawn from the same SVG."""

from __future__ import annotations

import importlib.util
import re
import textwrap
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path

from cache_worthy.errors import UsageError
from cache_worthy.report.drawing import CHARACTER, WIDE, Drawing, swatch
from cache_worthy.report.html import style
from cache_worthy.report.model import Figure

SUFFIXES = (".png", ".svg")

MARGIN = 16
LINE = 18

ZOOM = 2.0
"""Pixels of a PNG per unit of the drawing."""

FONT = "Source Sans Pro"
"""Carried by a package of the extra ``plot``, so that a PNG is the same on every machine."""


def require_plot(target: str, flag: str = "--plot") -> None:
    """Refuse early what :func:`picture` could not draw.

    Raises
    ------
    UsageError
        For another suffix, or a PNG without its renderer.
    """
    suffix = Path(target).suffix.lower()
    if suffix not in SUFFIXES:
        raise UsageError(f"{flag} {target}: expected a name that ends in {' or '.join(SUFFIXES)}")
    packages = {"resvg_py": "resvg-py", "font_source_sans_pro": "font-source-sans-pro"}
    missing = [p for n, p in packages.items() if not importlib.util.find_spec(n)]
    if suffix == ".png" and missing:
        raise UsageError(
            f"{flag} {target}: a PNG needs a package that is not installed; pip install "
            f"{' '.join(missing)}, or name a file that ends in .svg"
        )


def picture(figure: Figure, heads: Sequence[str], target: str) -> bytes:
    """The figure as a file of the kind that ``target`` ends in.

    Parameters
    ----------
    heads : sequence of str
        Lines above it.
    """
    return rendered(standalone(figure, heads), target)


def rendered(text: str, target: str) -> bytes:
    """An SVG document as a file of the kind that ``target`` ends in."""
    if Path(target).suffix.lower() == ".svg":
        return text.encode("utf-8")
    import resvg_py

    fonts = files("font_source_sans_pro").joinpath("files")
    return bytes(
        resvg_py.svg_to_bytes(
            svg_string=text,
            zoom=ZOOM,
            skip_system_fonts=True,
            font_dirs=[str(fonts)],
            font_family=FONT,
        )
    )


def standalone(figure: Figure, heads: Sequence[str]) -> str:
    """The figure as one SVG document: heads, legend, drawing, caption, and the style it needs."""
    inner = figure.draw(True)
    legend = list(_legend(figure))
    caption = textwrap.wrap(figure.caption, int(WIDE / CHARACTER))
    top = MARGIN + LINE * (len(heads) + (legend[-1][1] + 1 if legend else 0))
    height = top + inner.height + LINE * len(caption) + MARGIN
    page = Drawing(WIDE + 2 * MARGIN, height)
    page.add('<rect width="100%" height="100%" fill="#ffffff"/>')
    for n, head in enumerate(heads):
        page.label(MARGIN, MARGIN + LINE * (n + 0.7), head, css="label strong")
    for x, row, shape, colour, words in legend:
        y = MARGIN + LINE * (len(heads) + row)
        page.add(f'<g transform="translate({MARGIN + x:g} {y:g})">{swatch(shape, colour)}</g>')
        page.label(MARGIN + x + 20, y + 12, words)
    page.add(f'<g transform="translate({MARGIN} {top:g})">{inner.markup}</g>')
    for n, line in enumerate(caption):
        page.label(MARGIN, top + inner.height + LINE * (n + 0.8), line)
    return document(page, f"{figure.title}. {figure.description}")


def document(page: Drawing, label: str) -> str:
    """A drawing as one SVG document, with the style it needs."""
    body = page.svg(label, "standalone").removeprefix("<svg ")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{page.width:g}" height="{page.height:g}" '
        f"{body.replace('>', f'><style>{_style()}</style>', 1)}\n"
    )


def _legend(figure: Figure) -> Iterator[tuple[float, int, str, str, str]]:
    """Marks and words in rows: x, row, shape, colour, words."""
    x, row = 0.0, 0
    for item in figure.legend:
        width = 20 + CHARACTER * (len(item.words) + 3)
        if x and x + width > WIDE:
            x, row = 0.0, row + 1
        yield x, row, item.shape, item.colour, item.words
        x += width


def _style() -> str:
    """The rules of the page's style sheet for pictures, in its light colours."""
    sheet = style()
    colours = dict(re.findall(r"(--[a-z-]+): (#\w+)", sheet.partition("@media")[0]))
    rules = re.findall(
        r"^svg [^{]*\{[^}]*\}", sheet.partition("@media screen and (max-width")[0], re.MULTILINE
    )
    text = " ".join(" ".join(rule.split()) for rule in rules)
    text = re.sub(
        r"font: 12px [^;]*;", f"font-size: 12px; font-family: '{FONT}', sans-serif;", text
    )
    return re.sub(r"var\((--[a-z-]+)\)", lambda found: colours[found[1]], text)
