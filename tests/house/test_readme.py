"""README is short, and what it names exists. What it quotes is held by ``test_docs.py``."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 145


def test_quoted_targets_and_scripts_exist() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"make ([a-z][a-z-]+)", text)
    assert {"demo", "test", "docs"} <= set(targets)
    for target in targets:
        assert f"\n{target}:" in makefile, target
    for path in re.findall(r"((?:scripts|proofs|figs|examples|data)/[\w/.-]*\w\.\w+)", text):
        if not path.startswith("data/raw/"):  # fetched, not committed
            assert (ROOT / path).exists(), path


def test_every_extra_for_users_is_listed() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for extra in set(project["optional-dependencies"]) - {"bench", "dev", "docs"}:
        assert f"`{extra}`" in text, extra
