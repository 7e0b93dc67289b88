"""Arrival times as milliseconds; only their order enters any result."""

from __future__ import annotations

import math
from datetime import UTC, datetime

LARGEST = 2**63
"""A larger number is no time (nanoseconds of the year 2262)."""


def to_ms(value: object, per_unit: float = 1) -> int | float | None:
    """A number of units of ``per_unit`` ms, or an ISO 8601 text, as milliseconds; None for all else.

    A text without a zone is read as UTC. A log keeps one zone, so the order is right.

    Examples
    --------
    >>> to_ms(3.25, 1000), to_ms("1970-01-01T00:00:01.5Z"), to_ms("1970-01-01 00:00:00.120")
    (3250, 1500, 120)
    >>> to_ms("soon"), to_ms(True), to_ms(1e300), to_ms("1777629600000000001")
    (None, None, None, 1777629600000000001)
    """
    if isinstance(value, str):
        text = value.strip()
        try:
            # Digits stay whole: nanoseconds of today do not fit a float.
            value = (int if text.isdecimal() else float)(text) if len(text) < 40 else None
        except ValueError:
            return _iso(text)
    if type(value) not in (int, float):
        return None
    if not -LARGEST < value < LARGEST:  # type: ignore[operator]  # NaN fails this too
        return None
    return _whole(value * per_unit)  # type: ignore[operator]


def _iso(text: str) -> int | float | None:
    try:
        moment = datetime.fromisoformat(text.removesuffix(" UTC"))
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    micro = (since.days * 86_400 + since.seconds) * 10**6 + since.microseconds
    return micro // 1000 if micro % 1000 == 0 else micro / 1000


def _whole(value: float) -> int | float | None:
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        if value.is_integer():
            return int(value)
    return value
