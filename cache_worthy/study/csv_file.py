"""The rows of a study as CSV, written and read back."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Sequence
from dataclasses import astuple, fields
from pathlib import Path

from cache_worthy.errors import UsageError
from cache_worthy.study.results import LogPoint, Run


def to_csv(rows: Sequence[Run] | Sequence[LogPoint]) -> str:
    """Rows with a header of the field names; booleans as 0 and 1."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([f.name for f in fields(rows[0])])
    for row in rows:
        writer.writerow([int(v) if isinstance(v, bool) else v for v in astuple(row)])
    return out.getvalue()


def from_csv(path: Path) -> list[Run] | list[LogPoint]:
    """Read back what :func:`to_csv` wrote; the header says which of the two it is.

    Raises
    ------
    UsageError
        If the file cannot be read or holds something else; the message names the line, the column
        and what was expected there.
    """
    try:
        lines = list(csv.reader(path.read_text(encoding="utf-8").splitlines()))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(
            f"--results {path}: cannot read: {reason}; run cache-worthy study first"
        ) from error
    header = tuple(lines[0]) if lines else ()
    if len(lines) < 2 or header not in (_RUN_FIELDS, _POINT_FIELDS):
        raise UsageError(
            f"--results {path}: expected the header {','.join(_RUN_FIELDS)} or "
            f"{','.join(_POINT_FIELDS)}, and rows"
        )
    kind = Run if header == _RUN_FIELDS else LogPoint
    rows = []
    for number, line in enumerate(lines[1:], 2):
        where = f"--results {path}: line {number}"
        if len(line) != len(header):
            raise UsageError(f"{where}: {len(line)} cells; expected {len(header)}")
        cells = {name: _cell(where, name, text) for name, text in zip(header, line, strict=True)}
        for name, least in _LEAST.items():
            if name in cells and cells[name] < (low := least(cells)):
                raise UsageError(
                    f"{where}, column {name}: {cells[name]:g}; the row demands at least {low:g}"
                )
        if kind is Run:
            cells["prefix_cache"] = bool(cells["prefix_cache"])
        rows.append(kind(**cells))  # type: ignore[arg-type]
    if kind is Run:
        _require_both_sides(path, rows)  # type: ignore[arg-type]
    return rows  # type: ignore[return-value]


_RUN_FIELDS = tuple(f.name for f in fields(Run))
_POINT_FIELDS = tuple(f.name for f in fields(LogPoint))

#: Least and most of every whole number in a CSV; what is not named is a count of at least one.
_WHOLE = {
    "prefix_tokens": (0, 10**12),
    "prefix_cache": (0, 1),
    "evicted_blocks": (0, 10**12),
    "cached_tokens": (0, 10**12),
    "predicted_flops": (1, 10**24),
}

#: Least and most of every time in seconds and of every rate.
_REAL = (1e-9, 1e9)


#: What a cell is at least, by the others of its row.
_LEAST: dict[str, Callable[[dict[str, float]], float]] = {
    "ttft_p99_s": lambda row: row["ttft_p50_s"],
    "prompt_tokens": lambda row: row.get("prefilled_tokens", row.get("cached_tokens", 0) + 1),
}


def _cell(where: str, name: str, text: str) -> float:
    """A cell as a number of its column's range; ratios of such numbers are finite."""
    real = name.endswith("_s")
    least, most = _REAL if real else _WHOLE.get(name, (1, 10**12))
    try:
        value = float(text) if real else int(text)
    except ValueError:
        value = math.nan
    if not least <= value <= most:  # nan neither
        kind = "a number" if real else "an integer"
        raise UsageError(
            f"{where}, column {name}: {text[:40]!r}; expected {kind} >= {least:g} and <= {most:g}"
        )
    return value


def _require_both_sides(path: Path, runs: Sequence[Run]) -> None:
    """Every prefix length needs every repeat once with the cache off and once with it on."""
    seen: dict[tuple[int, int, bool], int] = {}
    for number, run in enumerate(runs, 2):
        key = (run.prefix_tokens, run.repeat, run.prefix_cache)
        if key in seen:
            raise UsageError(
                f"--results {path}: line {number}, column repeat: the same run as line {seen[key]}"
            )
        seen[key] = number
    for (prefix, repeat, on), number in seen.items():
        if (prefix, repeat, not on) not in seen:
            this, other = ("on", "off") if on else ("off", "on")
            raise UsageError(
                f"--results {path}: line {number}, column prefix_cache: prefix {prefix}, repeat "
                f"{repeat} with the cache {this} only; expected a row with it {other} as well"
            )
