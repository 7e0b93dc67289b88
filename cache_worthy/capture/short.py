"""The advisor's short answer, from the document of an analysis."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from cache_worthy.console import plain, wrap


def short_answer(document: Mapping[str, Any]) -> str:
    """Whether caching pays, how much memory, which policy and what to pin, in a line or two each.

    Parameters
    ----------
    document : mapping
        What ``cache-worthy analyze --json`` writes.

    Examples
    --------
    >>> print(short_answer({"worth": {"worth_caching": False, "ceiling": 0.004}}))
        Prefix caching is not worth enabling on this log: an unlimited cache
        removes 0.4% of prefill recompute.
    """
    lines = (wrap(plain(t), 72, first="    ", rest="    ") for t in _sentences(document))
    return "\n".join(line for found in lines for line in found)


def _sentences(document: Mapping[str, Any]) -> Iterator[str]:
    removes = (
        f"an unlimited cache removes {_percent(document['worth']['ceiling'])} of prefill recompute."
    )
    if not document["worth"]["worth_caching"]:
        yield f"Prefix caching is not worth enabling on this log: {removes}"
        return
    yield f"Caching pays: {removes}"
    curve, pin = document["capacity"], document["pin"]
    yield (
        f"Give it {_gib(curve['recommended_bytes'])} ({_percent(curve['recommended_fraction'])} of the "
        f"working set); {_gib(document['workload']['floor_bytes'])} is the least that serves this log."
    )
    for row in document["policy"]["rows"]:
        if row["bytes"] == curve["recommended_bytes"]:
            yield f"At that size {row['verdict']}"
    if pin["pins"]:
        count = len(pin["pins"])
        yield (
            f"Pinning {count} prefix{'es' if count > 1 else ''} ({_gib(pin['together_bytes'])}) protects "
            f"at most {_percent(pin['together_protected_fraction'])} of what caching can save."
        )


def _percent(fraction: float | None) -> str:
    return "--" if fraction is None else f"{100 * fraction:.1f}%"


def _gib(size: int) -> str:
    return f"{size / 2**30:.3g} GiB"
