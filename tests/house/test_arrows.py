"""Who may import whom. sim: sim. theory: theory. oracles: oracles and the Instance alone.

The import-linter contract holds the arrows in ``make lint``; here its contract is shown to bite on
planted imports, and the imports are read a second time, by their text, against a stricter list.
"""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("sim", "theory", "oracles")
ALLOWED = {
    "sim": ("cache_worthy.sim",),
    "theory": ("cache_worthy.theory",),
    "oracles": ("cache_worthy.oracles", "cache_worthy.theory.instance"),
}


def project_imports(source: str) -> list[str]:
    """Modules of the project that a source imports, wherever in it.

    A name imported from a package may be a module: ``from cache_worthy import sim`` counts as
    ``cache_worthy.sim``.
    """
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            if module in ("cache_worthy", "cache_worthy.theory"):
                found += [f"{module}.{alias.name}" for alias in node.names]
            else:
                found.append(module)
    return [name for name in found if name.startswith(("cache_worthy", "."))]


def violations(folder: str, source: str) -> list[str]:
    allowed = ALLOWED[folder]
    return [
        name
        for name in project_imports(source)
        if not any(name == a or name.startswith(a + ".") for a in allowed)
    ]


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_import_follows_the_arrows(folder: str) -> None:
    files = sorted((ROOT / folder).rglob("*.py"))
    assert files
    wrong = {
        str(path.relative_to(ROOT)): bad
        for path in files
        if (bad := violations(folder, path.read_text(encoding="utf-8")))
    }
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


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()"]
    return subprocess.run(
        [*command, "--no-cache"], cwd=folder, capture_output=True, text=True, check=False
    )


def test_the_contract_breaks_on_planted_imports(tmp_path: Path) -> None:
    ignore = shutil.ignore_patterns("__pycache__")
    for name in (*FOLDERS, "cache_worthy"):
        shutil.copytree(ROOT / name, tmp_path / name, symlinks=True, ignore=ignore)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    clean = lint(tmp_path)
    assert clean.returncode == 0, clean.stdout
    for folder, forbidden in (("sim", "theory"), ("theory", "sim"), ("oracles", "sim")):
        planted = tmp_path / folder / "planted.py"
        planted.write_text(f'"""Planted."""\n\nimport cache_worthy.{forbidden}\n', encoding="utf-8")
        broken = lint(tmp_path)
        assert broken.returncode == 1, broken.stdout
        assert f"cache_worthy.{folder}.planted" in broken.stdout
        planted.unlink()
