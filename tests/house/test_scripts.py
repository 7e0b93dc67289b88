"""Scripts are commands: tests run them and import only what they share (``scripts/support``)."""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "scripts"

#: Ways to load a module by its path, and by its name.
BY_PATH = ("spec_from_file_location", "SourceFileLoader", "run_path")
BY_NAME = ("import_module", "__import__", "run_module", "importorskip")


def is_command(text: str) -> bool:
    """Whether a file runs something when it is started."""
    return any(
        isinstance(node, ast.If) and "__main__" in ast.unparse(node.test)
        for node in ast.parse(text).body
    )


def commands() -> set[str]:
    """Names of the files under ``scripts`` that are commands."""
    return {p.stem for p in SCRIPTS.rglob("*.py") if is_command(p.read_text(encoding="utf-8"))}


def scripts_used(text: str, names: set[str]) -> Iterator[str]:
    """What a test's source imports or loads of the scripts."""
    tree = ast.parse(text)
    texts = [n.value for n in ast.walk(tree) if isinstance(n, ast.Constant)]
    paths = any(isinstance(value, str) and "scripts" in value.split("/") for value in texts)
    for node in ast.walk(tree):
        modules: list[str] = []
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            modules = [node.module or ""]
        elif isinstance(node, ast.Call):
            called = ast.unparse(node.func).rsplit(".", 1)[-1]
            if called in BY_PATH and paths:
                yield f"{called} at line {node.lineno}"
            if called in BY_NAME:
                modules = [str(a.value) for a in node.args[:1] if isinstance(a, ast.Constant)]
        yield from (m for m in modules if m.split(".")[0] in names | {"scripts"})


def test_what_is_shared_is_no_command_and_what_is_not_is_one() -> None:
    for path in sorted(SCRIPTS.rglob("*.py")):
        shared = path.parent.name == "support"
        assert is_command(path.read_text(encoding="utf-8")) != shared, path


def test_no_script_hides_a_module_that_it_may_import() -> None:
    # The folder of a script is the first place where it looks for modules.
    for name in sorted(commands()):
        assert name not in sys.stdlib_module_names, name
        found = importlib.util.find_spec(name)
        places = [] if found is None else [found.origin, *(found.submodule_search_locations or ())]
        assert all(p is None or Path(p).is_relative_to(ROOT) for p in places), (name, places)


def test_no_test_imports_a_script() -> None:
    names = commands()
    assert len(names) > 30
    found = {
        str(path.relative_to(ROOT)): used
        for path in sorted((ROOT / "tests").rglob("*.py"))
        if path != Path(__file__) and (used := list(scripts_used(path.read_text("utf-8"), names)))
    }
    assert found == {}


@pytest.mark.parametrize(
    "text",
    [
        "import fetch_traces",
        "def f():\n    from verify import main",
        "from scripts.check import replay",
        "spec_from_file_location('x', ROOT / 'scripts' / 'check' / 'replay.py')",
        "runpy.run_path('scripts/check/replay.py')",
        "importlib.import_module('verify')",
    ],
)
def test_a_planted_import_is_seen(text: str) -> None:
    assert list(scripts_used(text, commands()))


@pytest.mark.parametrize(
    "text",
    [
        "from measuring import Results",
        "from cache_worthy.sim.radix import replay",
        "script('check/replay.py', '--check')",
        "spec_from_file_location('x', ROOT / 'proofs' / 'check_certificate.py')",
    ],
)
def test_what_is_shared_may_be_imported(text: str) -> None:
    assert not list(scripts_used(text, commands()))
