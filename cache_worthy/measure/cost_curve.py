"""A measured prefill cost curve, read from a file: cost of a prompt by its number of tokens.

The unit is the user's (milliseconds on one machine, say). The curve decides shares and rankings only;
no figure is printed in its unit.
"""

from __future__ import annotations

import csv
import json
import math
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

from cache_worthy.errors import UsageError
from cache_worthy.numbers import counted

RESOLUTION = 10**15
"""No prompt costs more integer units: 15 digits, which a double holds."""

LARGEST_TOKENS = 10**9


@dataclass(frozen=True, slots=True)
class CostCurve:
    """Cost at some prompt lengths, linear between them and from (0, 0) to the first.

    Attributes
    ----------
    source : str
        The file it came from.
    points : int
    first_tokens, last_tokens : int
        Lengths of the shortest and the longest measured prompt.
    tokens : tuple of int
        Strictly increasing, positive.
    costs : tuple of Fraction
        Strictly increasing, positive.
    """

    source: str
    points: int
    first_tokens: int
    last_tokens: int
    tokens: tuple[int, ...] = field(metadata={"json": False})
    costs: tuple[Fraction, ...] = field(metadata={"json": False})

    @property
    def falls(self) -> bool:
        """Whether the cost per token falls anywhere, so that a deep block may cost less."""
        points = [(0, Fraction(0)), *zip(self.tokens, self.costs, strict=True)]
        slopes = [(c2 - c1) / (n2 - n1) for (n1, c1), (n2, c2) in pairwise(points)]
        return any(after < before for before, after in pairwise(slopes))

    def at(self, tokens: int) -> Fraction:
        """Cost of a prompt, exact. Time: log of the points.

        Raises
        ------
        UsageError
            If ``tokens`` lies past the last measured prompt: nothing is extrapolated.

        Examples
        --------
        >>> curve = CostCurve("", 2, 100, 300, (100, 300), (Fraction(1), Fraction(5)))
        >>> [str(curve.at(n)) for n in (0, 50, 100, 150, 300)]
        ['0', '1/2', '1', '2', '5']
        """
        if tokens > self.last_tokens:
            raise UsageError(
                f"--cost-curve {self.source}: ends at {self.last_tokens} tokens, and this log has "
                f"prompts of {tokens} (whole blocks); measure at least that far"
            )
        right = bisect_left(self.tokens, tokens)
        left_tokens, left_cost = (
            (self.tokens[right - 1], self.costs[right - 1]) if right else (0, Fraction(0))
        )
        share = Fraction(tokens - left_tokens, self.tokens[right] - left_tokens)
        return left_cost + share * (self.costs[right] - left_cost)

    def cumulative(self, depth: int, block_tokens: int) -> list[int]:
        """Costs of the paths of 0, 1, ..., ``depth`` blocks, as integers without a common factor.

        Exact multiples of the interpolated values, so that equal costs stay equal, on which
        the ties of policies depend. Where their common denominator takes more digits than a double holds (lengths
        that share no factor), each is rounded once to ``RESOLUTION`` instead. Sums and replays are
        exact from there.
        """
        exact = [self.at(n * block_tokens) for n in range(depth + 1)]
        scale = math.lcm(*(value.denominator for value in exact))
        whole = [int(value * scale) for value in exact]
        common = math.gcd(*whole) or 1
        if whole[-1] // common <= RESOLUTION:
            return [value // common for value in whole]
        return [round(value / self.costs[-1] * RESOLUTION) for value in exact]


def load_curve(name: str) -> CostCurve:
    """Read pairs of tokens and cost from a CSV or JSON file.

    CSV: two columns, a first line of words is a heading. JSON: an array of two-element arrays, or
    of objects with ``tokens`` and ``cost``.

    Raises
    ------
    UsageError
        If the file cannot be read, or is no increasing curve of positive costs.
    """
    try:
        text = Path(name).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UsageError(f"--cost-curve {name}: cannot read: {error.strerror}") from error
    except ValueError as error:  # a name with a NUL byte, or bytes that are no UTF-8
        raise UsageError(f"--cost-curve {name!r}: not a UTF-8 text file") from error
    try:
        points = list(_points(text))
    except UsageError as error:
        raise UsageError(f"--cost-curve {name}: {error}") from error
    if not points:
        raise UsageError(f"--cost-curve {name}: holds no pair of tokens and cost")
    tokens, costs = zip(*points, strict=True)
    return CostCurve(
        source=name,
        points=len(points),
        first_tokens=tokens[0],
        last_tokens=tokens[-1],
        tokens=tokens,
        costs=costs,
    )


def _points(text: str) -> Iterator[tuple[int, Fraction]]:
    last = (0, Fraction(0))
    pairs = _json(text) if text.lstrip().startswith(("[", "{")) else _csv(text)
    for where, given_tokens, given_cost in pairs:
        number, cost = _number(given_tokens), _number(given_cost)
        if number is None or number.denominator != 1 or number > LARGEST_TOKENS:
            raise UsageError(
                f"{where}: tokens {_short(given_tokens)}; expected an integer from 1 to {LARGEST_TOKENS}"
            )
        if cost is None:
            raise UsageError(f"{where}: cost {_short(given_cost)}; expected a positive number")
        point = int(number), cost
        rises: tuple[tuple[str, int | Fraction, int | Fraction], ...] = (
            ("tokens", point[0], last[0]),
            ("cost", cost, last[1]),
        )
        for what, new, old in rises:
            if new <= old:
                after = f" after {_short(old)}" if old else ""
                raise UsageError(
                    f"{where}: {what} {_short(new)}{after}; expected positive tokens and costs that "
                    "both rise from point to point"
                )
        yield point
        last = point


def _csv(text: str) -> Iterator[tuple[str, object, object]]:
    try:
        for number, row in enumerate(csv.reader(text.splitlines(), strict=True), 1):
            if not row:
                continue
            if len(row) != 2:
                columns = counted(len(row), "column")
                raise UsageError(f"line {number}: expected tokens,cost, got {columns}")
            try:
                yield f"line {number}", Decimal(row[0].strip()), Decimal(row[1].strip())
            except InvalidOperation:
                if number > 1:
                    got = _short(",".join(row))
                    raise UsageError(f"line {number}: expected two numbers, got {got}") from None
    except csv.Error as error:
        raise UsageError(f"not CSV: {error}") from error


def _json(text: str) -> Iterator[tuple[str, object, object]]:
    try:
        data = json.loads(text, parse_float=Decimal)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"not JSON: {error}") from error
    shape = "expected an array of [tokens, cost] or of objects with tokens and cost"
    if not isinstance(data, list):
        raise UsageError(shape)
    for number, pair in enumerate(data, 1):
        if isinstance(pair, list) and len(pair) == 2:
            yield f"point {number}", pair[0], pair[1]
        elif isinstance(pair, dict) and pair.keys() == {"tokens", "cost"}:
            yield f"point {number}", pair["tokens"], pair["cost"]
        else:
            raise UsageError(f"point {number}: {shape}")


def _number(value: object) -> Fraction | None:
    """Exact; None unless a finite number that a double can hold (so that no digit string is huge)."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        return None
    try:
        near = float(value)
    except (OverflowError, ValueError):  # ValueError: a signalling NaN
        return None
    if not -1e300 < near < 1e300 or (value and abs(near) < 1e-300):
        return None
    return Fraction(value)


def _short(value: object) -> str:
    text = str(float(value)) if isinstance(value, Fraction) else str(value)
    return text if len(text) <= 40 else text[:37] + "..."
