"""The sections of an analysis that can be left out, and the one place where their names are read."""

from __future__ import annotations

from collections.abc import Iterable

from cache_worthy.errors import UsageError

SECTIONS: dict[str, str] = {
    "bound": "question 4: the certified lower bound",
    "band": "whether each answer survives other cost coefficients",
    "splits": "the answers on halves and quarters of the log",
    "tails": "recompute of single requests",
    "coldstart": "requests until an empty cache is warm",
    "causes": "why the hit rate is no higher",
    "pinsim": "pins, simulated",
}
"""By the name that ``--skip`` takes; the text is for the help."""


def parse_skip(texts: Iterable[str]) -> frozenset[str]:
    """Names of sections, given singly or joined by commas.

    Raises
    ------
    UsageError
        For a name that is no section.

    Examples
    --------
    >>> sorted(parse_skip(["bound", "tails, band"]))
    ['band', 'bound', 'tails']
    """
    names = [name.strip() for text in texts for name in text.split(",")]
    for name in names:
        if name not in SECTIONS:
            raise UsageError(f"--skip {name}: expected one or several of {', '.join(SECTIONS)}")
    return frozenset(names)
