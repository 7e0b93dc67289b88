"""The registry: every section of an analysis, and the one place where ``--skip`` is read."""

from __future__ import annotations

from collections.abc import Iterable

from cache_worthy.advise.band import band
from cache_worthy.advise.bound import bound
from cache_worthy.advise.capacity import capacity
from cache_worthy.advise.causes import causes
from cache_worthy.advise.coldstart import coldstart
from cache_worthy.advise.engine import engine
from cache_worthy.advise.pin import pin
from cache_worthy.advise.pinsim import pinsim
from cache_worthy.advise.policy import policy
from cache_worthy.advise.policy_table import policy_table
from cache_worthy.advise.recoverable import recoverable
from cache_worthy.advise.sample import sample
from cache_worthy.advise.section import Section
from cache_worthy.advise.splits import splits
from cache_worthy.advise.tails import tails
from cache_worthy.advise.workload import workload, worth
from cache_worthy.errors import UsageError

SECTIONS: tuple[Section, ...] = (
    workload,
    worth,
    capacity,
    policy_table,
    policy,
    recoverable,
    bound,
    pin,
    engine,
    coldstart,
    tails,
    band,
    splits,
    pinsim,
    sample,
    causes,
)
"""In the order of the fields of the document."""

_FIRST = ("bound", "band", "splits", "tails", "coldstart", "causes", "pinsim")
"""The order in the help of ``--skip``, the slow ones first; others follow."""


def skippable() -> dict[str, str]:
    """What ``--skip`` may name, and the help for each."""
    found = {one.name: one.skip for one in SECTIONS if one.skip}
    return {name: found[name] for name in (*_FIRST, *found) if name in found}


def parse_skip(texts: Iterable[str]) -> frozenset[str]:
    """Names of sections from arguments that may join several by commas.

    Raises
    ------
    UsageError
        For an unknown name.

    Examples
    --------
    >>> sorted(parse_skip(["bound", "tails, band"]))
    ['band', 'bound', 'tails']
    """
    names = [name.strip() for text in texts for name in text.split(",")]
    for name in names:
        if name not in skippable():
            raise UsageError(f"--skip {name}: expected one or several of {', '.join(skippable())}")
    return frozenset(names)
