"""Who may import whom. The layers and what stands below them are in ``pyproject.toml``.

The import-linter contracts hold the arrows in ``make lint``; here they are shown to bite on planted
imports. What they cannot say is read from the text: argparse stands under ``commands`` alone, the
words of a report import results and no measurement, the second implementations of replays import
nothing of the project. The imports of ``sim``, ``theory`` and ``oracles`` are read a second time,
against a stricter list: sim: sim. theory: theory. oracles: oracles and the Instance alone.
"""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("sim", "theory", "oracles")
ALLOWED = {
    "sim": ("cache_worthy.sim",),
    "theory": ("cache_worthy.theory",),
    "oracles": ("cache_worthy.oracles", "cache_worthy.theory.instance"),
}


def imported(source: str) -> Iterator[tuple[str, str]]:
    """Module and name of everything that a source imports, wherever in it; "" for a module."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            yield from ((module, alias.name) for alias in node.names)


def shipped() -> dict[str, str]:
    """Every module of the package and its text, the links in cache_worthy not followed."""
    return {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
        for top in ("cache_worthy", *FOLDERS)
        for path in sorted((ROOT / top).rglob("*.py"))
        if not any(parent.is_symlink() for parent in path.parents)
    }


# -- sim, theory, oracles -----------------------------------------------------------------------


def violations(folder: str, source: str) -> list[str]:
    """Modules of the project that one of the three folders must not import.

    A name imported from a package may be a module: ``from cache_worthy import sim`` counts as
    ``cache_worthy.sim``.
    """
    found = [
        f"{module}.{name}" if module in ("cache_worthy", "cache_worthy.theory") else module
        for module, name in imported(source)
    ]
    return [
        name
        for name in found
        if name.startswith(("cache_worthy", "."))
        and not any(name == a or name.startswith(a + ".") for a in ALLOWED[folder])
    ]


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_import_follows_the_arrows(folder: str) -> None:
    files = {name: text for name, text in shipped().items() if name.startswith(f"{folder}/")}
    assert files
    wrong = {name: bad for name, text in files.items() if (bad := violations(folder, text))}
    assert wrong == {}


@pytest.mark.parametrize(
    ("folder", "line"),
    [
        ("sim", "from cache_worthy.theory.instance import Instance"),
        ("sim", "import cache_worthy.advise.analysis"),
        ("sim", "from cache_worthy import oracles"),
        ("theory", "def f():\n    from cache_worthy.sim import replay"),
        ("theory", "from .. import sim"),
        ("oracles", "from cache_worthy.theory import algorithms"),
        ("oracles", "import cache_worthy.sim.cost as c"),
    ],
)
def test_a_forbidden_import_is_seen(folder: str, line: str) -> None:
    assert violations(folder, line)


def test_oracles_may_import_the_instance() -> None:
    assert violations("oracles", "from cache_worthy.theory.instance import Instance") == []
    assert violations("oracles", "from cache_worthy.theory import instance") == []


# -- what the contracts cannot say --------------------------------------------------------------


def parses_arguments(name: str, source: str) -> bool:
    """Whether a module that is no part of the command line imports argparse."""
    within = name.startswith("cache_worthy/commands/") or name == "cache_worthy/cli.py"
    return not within and any(module == "argparse" for module, _ in imported(source))


def measures(name: str, source: str) -> list[str]:
    """What words import of the measurements that is neither a class nor a constant."""
    if not name.startswith("cache_worthy/report/words/"):
        return []
    packages = ("cache_worthy.advise", "cache_worthy.measure")
    return [
        f"{module}.{imports}"
        for module, imports in imported(source)
        if module.startswith(packages) and not imports[:1].isupper()
    ]


def test_argparse_is_imported_by_the_command_line_alone() -> None:
    assert [name for name, text in shipped().items() if parses_arguments(name, text)] == []


def test_words_import_results_and_no_measurement() -> None:
    files = shipped()
    assert sum(name.startswith("cache_worthy/report/words/") for name in files) > 5
    assert {n: bad for n, text in files.items() if (bad := measures(n, text))} == {}


def of_the_project(source: str) -> list[str]:
    return [module for module, _ in imported(source) if module.split(".")[0] == "cache_worthy"]


@pytest.mark.parametrize(
    "name", ["naive_replay", "plain_block_policies", "plain_paged_pool", "plain_sglang"]
)
def test_second_implementations_of_replays_import_nothing_of_the_project(name: str) -> None:
    source = (ROOT / "tests" / "support" / f"{name}.py").read_text(encoding="utf-8")
    assert of_the_project(source) == []
    assert of_the_project(f"def f():\n    from cache_worthy.sim import cost\n{source}")


@pytest.mark.parametrize(
    ("seen", "name", "line"),
    [
        (parses_arguments, "cache_worthy/logs/source.py", "def f():\n    import argparse"),
        (parses_arguments, "sim/cost.py", "from argparse import Namespace"),
        (measures, "cache_worthy/report/words/a.py", "from cache_worthy.advise.tails import tails"),
        (measures, "cache_worthy/report/words/a.py", "import cache_worthy.measure.replays"),
        (measures, "cache_worthy/report/words/a.py", "from cache_worthy.advise import tails"),
    ],
)
def test_a_planted_import_is_seen(seen: Callable[[str, str], object], name: str, line: str) -> None:
    assert seen(name, line)


def test_what_is_allowed_is_not_seen() -> None:
    assert not parses_arguments("cache_worthy/commands/replay.py", "import argparse")
    line = "from cache_worthy.advise.tails import LIMIT, Tails"
    assert not measures("cache_worthy/report/words/tails.py", line)


# -- the contracts ------------------------------------------------------------------------------


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()"]
    return subprocess.run(
        [*command, "--no-cache"], cwd=folder, capture_output=True, text=True, check=False
    )


#: Where a module is planted, and what it imports.
PLANTED = (
    ("sim", "theory"),
    ("sim", "errors"),
    ("theory", "sim"),
    ("theory.search", "oracles"),
    ("oracles", "sim"),
    ("oracles.bound", "theory.steps"),
    ("logs", "console"),
    ("logs", "measure"),
    ("workers", "logs"),
    ("measure", "advise.capacity"),
    ("study", "advise.capacity"),
    ("advise", "study"),
    ("advise", "report"),
    ("capture", "report.terminal"),
    ("report.words", "commands.options"),
    ("commands", "cli"),
    ("logs.formats", "logs.formats.native"),
)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package and its contracts."""
    folder = tmp_path_factory.mktemp("tree")
    ignore = shutil.ignore_patterns("__pycache__")
    for name in (*FOLDERS, "cache_worthy"):
        shutil.copytree(ROOT / name, folder / name, symlinks=True, ignore=ignore)
    shutil.copy(ROOT / "pyproject.toml", folder)
    clean = lint(folder)
    assert clean.returncode == 0, clean.stdout
    return folder


@pytest.mark.parametrize(("package", "forbidden"), PLANTED)
def test_the_contracts_break_on_planted_imports(tree: Path, package: str, forbidden: str) -> None:
    planted = tree / "cache_worthy" / package.replace(".", "/") / "planted.py"
    planted.write_text(f'"""Planted."""\n\nimport cache_worthy.{forbidden}\n', encoding="utf-8")
    broken = lint(tree)
    planted.unlink()
    assert broken.returncode == 1, broken.stdout
    assert f"cache_worthy.{package}.planted" in broken.stdout


def test_a_module_outside_the_layers_is_refused(tree: Path) -> None:
    planted = tree / "cache_worthy" / "planted.py"
    planted.write_text('"""Planted."""\n', encoding="utf-8")
    broken = lint(tree)
    planted.unlink()
    assert broken.returncode == 1
    assert "planted" in broken.stdout
