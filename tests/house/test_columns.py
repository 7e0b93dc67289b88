"""No command lays out columns by hand: tables and facts are parts of the report model.

What counts as by hand: a width in a format specification, ``ljust``, ``rjust`` and ``center``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

#: Where text for people is made; the terminal writer has the one place that pads.
FOLDERS = ("commands", "study", "report/words")
WIDTH = re.compile(r"^(.?[<>^=])?[-+ ]?#?0?[1-9{]")


def padded(source: str) -> Iterator[int]:
    """Lines in which text is filled up to a width."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FormattedValue) and node.format_spec is not None:
            if WIDTH.match(ast.unparse(node.format_spec)[2:-1]):
                yield node.lineno
        elif isinstance(node, ast.Attribute) and node.attr in ("ljust", "rjust", "center"):
            yield node.lineno


def test_no_command_pads_columns() -> None:
    files = [p for folder in FOLDERS for p in (ROOT / "cache_worthy" / folder).rglob("*.py")]
    assert len(files) > 30
    found = {p.name: lines for p in files if (lines := list(padded(p.read_text("utf-8"))))}
    assert found == {}


@pytest.mark.parametrize(
    "line",
    [
        "f'{name:<20}'",
        "f'{n:>7}{hits:>12}'",
        "f'{n:7,}'",
        "f'{share:5.1f} %'",
        "f'{name:<{width}}'",
        "f'{name:{width}}'",
        "f'{name!s:^9}'",
        "name.ljust(20)",
        "name.rjust(20)",
    ],
)
def test_a_padded_column_is_seen(line: str) -> None:
    assert set(padded(line)) == {1}


@pytest.mark.parametrize("line", ["f'{n:,}'", "f'{x:.4f}'", "f'{x:+.1f}'", "f'{name}: {x:g}'"])
def test_numbers_in_a_sentence_are_not(line: str) -> None:
    assert list(padded(line)) == []
