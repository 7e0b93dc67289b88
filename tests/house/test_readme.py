"""What the README quotes is what the commands print."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_sample_run_is_real(run: Callable[..., tuple[int, str, str]], sample: Path) -> None:
    """Every quoted line stands in the output, in order; ``[...]`` alone may be left out."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    block = re.search(r"```text\n(.*?)```", text, re.DOTALL)
    assert block is not None
    quoted = [line for line in block[1].splitlines() if line.strip() and "[...]" not in line]
    assert len(quoted) > 40
    _, out, _ = run("analyze", sample)
    lines = iter(out.splitlines())
    for line in quoted:
        assert line in lines, line


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) < 300


def test_quoted_targets_and_scripts_exist() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"make ([a-z][a-z-]+)", text):
        assert f"\n{target}:" in makefile, target
    for path in re.findall(r"((?:scripts|proofs|figs|examples|data)/[\w/.-]*\w\.\w+)", text):
        if not path.startswith("data/raw/"):  # fetched, not committed
            assert (ROOT / path).exists(), path
