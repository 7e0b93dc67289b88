"""The shape of the code: lengths of files and functions, branches, positional arguments.

Branches are counted as Pylint's ``too-many-branches`` counts them: each ``if``, ``elif``, ``else``,
loop (and its ``else``), ``except``, ``finally`` and ``case``. What may be longer stands in ``EXEMPT`` with
its reason; an entry that is no longer needed fails too.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PRODUCTION = ("cache_worthy", "sim", "theory", "oracles")
FOLDERS = (*PRODUCTION, "scripts", "proofs", "tests")

FILE_LINES = 450
FUNCTION_LINES = 60
BRANCHES = 12
POSITIONAL = 3

#: File or function -> why it may be longer: replay kernels and code that is a table.
EXEMPT: dict[str, str] = {
    "sim/radix/interned.py:replay_interned": "a replay kernel",
    "sim/radix/kernels/__init__.py:lru": "a replay kernel",
    "sim/radix/kernels/__init__.py:rules": "a replay kernel",
    "theory/potential/rows.py:cosigned_rows": "a table of formulas",
    "theory/potential/rows.py:landlord_rows": "a table of formulas",
}


def sources() -> Iterator[tuple[str, ast.Module, int]]:
    """Every file of the project: name, tree, lines."""
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if any(parent.is_symlink() for parent in path.parents):
                continue
            text = path.read_text(encoding="utf-8")
            yield path.relative_to(ROOT).as_posix(), ast.parse(text), text.count("\n")


def branches(nodes: list[ast.stmt]) -> int:
    """Branches of a body, those of nested functions and classes not among them."""
    count = 0
    for node in nodes:
        if isinstance(node, ast.If):
            count += 1 + branches(node.body) + branches(node.orelse)
            if node.orelse and not (len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If)):
                count += 1
        elif isinstance(node, ast.For | ast.AsyncFor | ast.While):
            count += 1 + bool(node.orelse) + branches(node.body) + branches(node.orelse)
        elif isinstance(node, ast.Try | ast.TryStar):
            count += bool(node.orelse) + bool(node.finalbody) + len(node.handlers)
            for body in (node.body, node.orelse, node.finalbody, *(h.body for h in node.handlers)):
                count += branches(body)
        elif isinstance(node, ast.With | ast.AsyncWith):
            count += branches(node.body)
        elif isinstance(node, ast.Match):
            count += sum(1 + branches(case.body) for case in node.cases)
    return count


def problems(name: str, tree: ast.Module, lines: int) -> Iterator[tuple[str, str]]:
    """What is too long in one file: its key in ``EXEMPT``, and what is wrong."""
    if lines > FILE_LINES:
        yield name, f"{lines} lines"
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            count = branches(node.body)
            if length > FUNCTION_LINES or count > BRANCHES:
                yield f"{name}:{node.name}", f"{length} lines, {count} branches"
        elif isinstance(node, ast.Call) and name.startswith("cache_worthy/"):
            # A starred argument stands for as many as it holds, and is not counted.
            given = [a for a in node.args if not isinstance(a, ast.Starred)]
            if len(given) > POSITIONAL:
                yield f"{name}:{node.lineno}", f"{len(given)} positional arguments"


def test_nothing_is_longer_than_it_may_be() -> None:
    found = {key: what for source in sources() for key, what in problems(*source)}
    assert {k: w for k, w in found.items() if k not in EXEMPT} == {}
    assert [k for k in EXEMPT if k not in found] == [], "exempt, and not too long"


def test_the_count_bites() -> None:
    text = "def f():\n" + "    if a:\n        b\n    elif c:\n        d\n    else:\n        e\n" * 5
    ((key, what),) = problems("cache_worthy/x.py", ast.parse(text), 31)
    assert (key, what) == ("cache_worthy/x.py:f", "31 lines, 15 branches")
    assert dict(problems("cache_worthy/x.py", ast.parse("f(1, 2, 3, 4)"), 451)) == {
        "cache_worthy/x.py": "451 lines",
        "cache_worthy/x.py:1": "4 positional arguments",
    }
    assert not dict(problems("cache_worthy/x.py", ast.parse("f(1, 2, 3, *rest, k=4)"), 450))
