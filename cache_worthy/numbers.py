"""How numbers are written, everywhere: amounts of memory, shares, ratios, counts."""

from __future__ import annotations


def gib(size: int) -> str:
    """Bytes as GiB with two decimals, four under a tenth."""
    value = size / 2**30
    return f"{value:.2f} GiB" if value >= 0.1 or value == 0 else f"{value:.4f} GiB"


def gib_short(size: int) -> str:
    """Bytes in GiB with about three digits, for the heading of a column."""
    value = size / 2**30
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.3g}"


def percent(value: float | None, digits: int = 1) -> str:
    """A fraction as a percentage, ``--`` where undefined."""
    return "--" if value is None else f"{100 * value:.{digits}f}%"


def between(low: float | None, high: float | None, digits: int = 1) -> str:
    """Two fractions as percentages; one where they look the same.

    Examples
    --------
    >>> between(0.1, 0.25), between(0.1, 0.1)
    ('10.0% to 25.0%', '10.0%')
    """
    one, two = percent(low, digits), percent(high, digits)
    return one if one == two else f"{one} to {two}"


def ratio(value: float | None) -> str:
    """A cost ratio with four decimals, ``--`` where undefined."""
    return "--" if value is None else f"{value:.4f}"


def counted(number: int, noun: str, plural: str = "s") -> str:
    """A number with its noun, in the plural where it is not one."""
    return f"{number} {noun}{'' if number == 1 else plural}"


def shown(unit: str, value: float | str | None) -> str:
    """A value in its unit; ``--`` for None.

    Examples
    --------
    >>> shown("share", 0.5), shown("bytes", 2**30), shown("ratio", None), shown("bytes", "none")
    ('50.0%', '1.00 GiB', '--', 'none')
    """
    if value is None:
        return "--"
    if isinstance(value, str):
        return value
    if unit == "bytes":
        return gib(int(value))
    if unit == "share":
        return percent(value)
    return ratio(value) if unit == "ratio" else f"{value:.6g}"
