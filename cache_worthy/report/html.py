"""Reports as one HTML page that needs nothing else, no network and no script.

Text, figures and tables come from the same sections as the terminal's; the JSON document stands in the
page. The template escapes all text.
"""

from __future__ import annotations

import functools
import sys
from importlib.resources import files
from typing import TYPE_CHECKING

from cache_worthy.console import plain
from cache_worthy.report.drawing import swatch
from cache_worthy.report.model import Figure, Report

if TYPE_CHECKING:
    from jinja2 import Template

#: Nothing is loaded and nothing runs, whatever a log put into its names.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"

JSON_ID = "cache-worthy-document"


def render_html(report: Report) -> str:
    """The whole page."""
    return _template().render(
        report=report,
        policy=POLICY,
        json_id=JSON_ID,
        style=style(),
        embedded=_embedded(report.document),
    )


def style() -> str:
    """The style sheet: light and dark by the reader's system, narrow pages, print."""
    return files(__package__).joinpath("templates/report.css").read_text(encoding="utf-8")


@functools.cache
def _template() -> Template:
    from jinja2 import Environment
    from markupsafe import Markup

    def shown(value: object) -> object:
        return value if isinstance(value, Markup) else plain(str(value), sys.maxsize)

    def picture(figure: Figure) -> Markup:
        label = f"{figure.title}. {figure.description}"
        return Markup(
            figure.draw(True).svg(label, "wide") + figure.draw(False).svg(label, "narrow")
        )

    environment = Environment(autoescape=True, finalize=shown, trim_blocks=True, lstrip_blocks=True)
    environment.filters["kind"] = lambda part: type(part).__name__
    environment.filters["picture"] = picture
    environment.filters["swatch"] = lambda legend: Markup(swatch(legend.shape, legend.colour))
    source = files(__package__).joinpath("templates/report.html.j2").read_text(encoding="utf-8")
    return environment.from_string(source)


def _embedded(document: str) -> str:
    """The JSON document, with nothing in it that could end the element it stands in."""
    for character in "<>&":
        document = document.replace(character, f"\\u{ord(character):04x}")
    return document
