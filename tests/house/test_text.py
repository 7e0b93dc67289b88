"""What stands in the files: docstrings, doctests, documented commands, plain characters."""

from __future__ import annotations

import ast
import doctest
import importlib
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import cache_worthy
from cache_worthy.commands import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
CODE = ("cache_worthy", "sim", "theory", "oracles", "scripts", "proofs")
DOCUMENTS = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "tests/README.md")


def python_files() -> list[Path]:
    """Every module outside the tests, each once (the links in cache_worthy are not followed)."""
    return sorted(
        path
        for top in CODE
        for path in (ROOT / top).rglob("*.py")
        if not any(parent.is_symlink() for parent in path.parents)
    )


def undocumented(source: str) -> Iterator[str]:
    """The module, and its public functions and classes, that have no docstring."""
    tree = ast.parse(source)
    if not ast.get_docstring(tree):
        yield "module"
    for node in tree.body:
        if (
            isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            and not node.name.startswith("_")
            and not ast.get_docstring(node)
        ):
            yield node.name


def test_every_module_and_public_function_has_a_docstring() -> None:
    files = python_files()
    assert len(files) > 20
    missing = {
        str(path.relative_to(ROOT)): names
        for path in files
        if (names := list(undocumented(path.read_text(encoding="utf-8"))))
    }
    assert missing == {}


def test_a_missing_docstring_is_seen() -> None:
    assert list(undocumented("def f():\n    pass\ndef _g():\n    pass")) == ["module", "f"]


def modules() -> list[str]:
    """Every importable module of the package, what the scripts share, and the plain transcriptions."""
    found = [m.name for m in pkgutil.walk_packages(cache_worthy.__path__, "cache_worthy.")]
    shared = (ROOT / "scripts" / "support").glob("*.py")
    plain = (ROOT / "tests" / "support").glob("plain_*.py")
    return [*found, *(p.stem for p in sorted([*shared, *plain]))]


@pytest.mark.parametrize("name", modules())
def test_doctests(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert result.failed == 0


def scripts_with_examples() -> list[str]:
    """Scripts that hold a doctest; they are commands, so they are not imported here."""
    support = ROOT / "scripts" / "support"
    files = sorted(p for p in (ROOT / "scripts").rglob("*.py") if p.parent != support)
    return [str(p.relative_to(ROOT)) for p in files if ">>> " in p.read_text(encoding="utf-8")]


@pytest.mark.parametrize("name", scripts_with_examples())
def test_doctests_of_scripts(name: str) -> None:
    command = [sys.executable, "-m", "doctest", "-v", name]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert re.search(r"^[1-9]\d* passed\b", done.stdout, re.MULTILINE), done.stdout[-200:]


def test_doctests_are_found() -> None:
    # The collection above must not pass by finding nothing.
    module = importlib.import_module("cache_worthy.sim.forest")
    assert doctest.testmod(module).attempted >= 3


def tracked_files() -> list[Path]:
    done = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip("not a git checkout")
    return [p for name in done.stdout.split("\0") if name and (p := ROOT / name).is_file()]


EMOJI = re.compile(
    "[\N{BLACK SUN WITH RAYS}-\N{OPEN-OUTLINED RIGHTWARDS ARROW}"
    "\N{VARIATION SELECTOR-16}\U0001f000-\U0001faff]"
)


def test_no_emoji() -> None:
    assert EMOJI.search("fine \N{ROCKET}")
    assert not EMOJI.search("a \N{GREEK SMALL LETTER ALPHA} \N{RIGHTWARDS ARROW} \N{EM DASH}")
    files = tracked_files()
    assert len(files) > 40
    found = []
    for path in files:
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            assert path.suffix == ".png", f"{path} is neither text nor a figure"
            continue
        if EMOJI.search(text):
            found.append(str(path.relative_to(ROOT)))
    assert found == []


#: Inline code, an indented block's line, or a fenced block.
CODE_IN_TEXT = re.compile(r"`([^`\n]+)`|^(?: {4}|\t)(.+)$|```\w*\n((?s:.*?))```", re.MULTILINE)


def documents() -> list[tuple[str, str]]:
    paths = [*(ROOT / name for name in DOCUMENTS), *sorted((ROOT / "docs").glob("*.md"))]
    texts = [
        (str(p.relative_to(ROOT)), p.read_text(encoding="utf-8")) for p in paths if p.is_file()
    ]
    assert texts
    return texts


def test_documented_commands_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z][a-z-]*):", makefile, re.MULTILINE))
    commands = {name.replace("_", "-") for name in COMMANDS}
    for name, text in documents():
        code = "\n".join("".join(parts) for parts in CODE_IN_TEXT.findall(text))
        for target in re.findall(r"(?:^|[\s(&])make ([a-z][a-z-]*)", code):
            assert target in targets, f"{name}: make {target}"
        for script in re.findall(r"scripts/[\w/]+\.py", text):
            assert (ROOT / script).is_file(), f"{name}: {script}"
        for command in re.findall(r"(?:^|\s)cache-worthy ([a-z][a-z-]+)", code):
            assert command in commands, f"{name}: cache-worthy {command}"


def test_named_files_exist() -> None:
    # `sim/policies/NAME.py` is a pattern, `data/raw` is fetched; every other path must be there.
    named = [
        (name, path)
        for name, text in documents()
        if name != "docs/modules.md"  # generated: the modules' own words
        for path in re.findall(r"`((?:[\w.-]+/)+[\w.-]*)`", text)
        if "NAME" not in path and not path.startswith(("data/raw", "FAST25-release", "kvcache-ai"))
    ]
    assert len(named) > 15
    assert [(name, path) for name, path in named if not (ROOT / path).exists()] == []
