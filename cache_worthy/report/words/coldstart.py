"""The section on the warm-up of an empty cache."""

from __future__ import annotations

import textwrap

from cache_worthy.advise.coldstart import ColdStart, ColdStarts
from cache_worthy.report.layout import gib_short, percent, prose, title

LABEL_WIDTH = 18


def render_coldstart(cold: ColdStarts) -> list[str]:
    """One line a capacity, and what its words mean."""
    groups = f"{'requests until':>22}{'cold, whole log':>19}{'second half':>19}"
    names = f"{'GiB':>6}{'reached':>8}{'settled':>8}" + f"{'block':>7}{'token':>6}{'req.':>6}" * 2
    return [
        *title(
            f"COLD START   requests until an empty cache is warm, hit rates; under {cold.policy}"
        ),
        f"  {'':<{LABEL_WIDTH}}{groups}",
        f"  {'capacity':<{LABEL_WIDTH}}{names}",
        *(line for row in cold.rows for line in _lines(row)),
        "",
        *prose(coldstart_text(cold)),
    ]


def coldstart_text(cold: ColdStarts) -> str:
    """What the words of the table mean."""
    return (
        f"{cold.rule} (window {cold.window_requests}, half {cold.half_requests} requests). "
        f"Rates: {cold.rates}."
    )


def _lines(row: ColdStart) -> list[str]:
    first, *rest = textwrap.wrap(row.label, LABEL_WIDTH)
    after = f"{_after(row.reached_after):>8}{_after(row.settled_after):>8}"
    rates = "".join(
        f"{_rate(r.block):>7}{_rate(r.token):>6}{_rate(r.request):>6}" for r in (row.cold, row.warm)
    )
    line = f"  {first:<{LABEL_WIDTH}}{gib_short(row.bytes):>6}{after}{rates}"
    return [line, *(f"  {part}" for part in rest)]


def _rate(value: float | None) -> str:
    """In five characters, so that columns stay apart: a hundred percent has no decimal."""
    text = percent(value)
    return "100%" if text == "100.0%" else text


def _after(requests: int | None) -> str:
    return "never" if requests is None else str(requests)
