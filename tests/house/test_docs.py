"""README and docs: quoted output is current, links lead somewhere, code blocks run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from commands import script
from site_pages import ELSEWHERE

ROOT = Path(__file__).resolve().parents[2]
DOCS = sorted((ROOT / "docs").glob("*.md"))
QUOTING = [ROOT / "README.md", *DOCS]
PAGES = [*QUOTING, *(ROOT / f"{n}.md" for n in ("CONTRIBUTING", "SECURITY", "CHANGELOG"))]
PAGES += [ROOT / "tests" / "README.md", *sorted((ROOT / "proofs").glob("*.md"))]

FENCE = re.compile(
    r"(?:^<!-- (not run: [^\n]+|run with traces) -->\n)?^```(\w*)\n(.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


def test_quoted_output_is_current() -> None:
    done = script("make/pages.py", "--check")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.traces
def test_quoted_output_of_the_traces_is_current(traces: Path) -> None:
    done = script("make/pages.py", "--check", "--traces", traces)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_change_makes_its_page_stale() -> None:
    planted = """
        import ast
        import cache_worthy.commands.models as models
        import cache_worthy.commands.policies as policies
        models.__doc__ = "Changed."
        policies.run = lambda args: print("Changed.") or 0
        ast.get_docstring = lambda tree: "Changed."
    """
    done = script("make/pages.py", "--check", planted=planted)
    assert done.returncode == 1
    assert re.findall(r"docs/(\S+): not current", done.stdout) == [
        "command-line.md", "modules.md", "policies.md",
    ]  # fmt: skip


def test_a_section_that_is_gone_is_named() -> None:
    planted = """
        import io
        class Printed(io.StringIO):
            def getvalue(self):
                return super().getvalue().replace("  CAPACITY ", "  ROOM ")
        io.StringIO = Printed
    """
    done = script("make/pages.py", "--check", planted=planted)
    assert done.returncode == 2
    assert "README.md: the report has no section CAPACITY" in done.stderr


def slugs(text: str) -> set[str]:
    """The anchors of a page's headings, as GitHub and mkdocs make them."""
    prose = FENCE.sub("", text)
    heads = [h.strip().lower() for h in re.findall(r"^#+ (.+)$", prose, re.MULTILINE)]
    return {re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", head)) for head in heads}


def broken(text: str, path: Path) -> Iterator[str]:
    """Links of a page that lead nowhere; those to other hosts are not followed."""
    for target in re.findall(r"\]\(([^)\s]+)\)", FENCE.sub("", text)):
        if "://" in target or target.startswith("mailto:"):
            continue
        name, _, anchor = target.partition("#")
        file = (path.parent / name).resolve() if name else path
        if not file.exists() or (
            anchor and anchor not in slugs(text if file == path else file.read_text("utf-8"))
        ):
            yield target


def test_links_lead_somewhere() -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in PAGES}
    assert sum(len(re.findall(r"\]\(", text)) for text in texts.values()) > 50
    found = {str(p.relative_to(ROOT)): list(broken(text, p)) for p, text in texts.items()}
    assert {name: links for name, links in found.items() if links} == {}


@pytest.mark.parametrize("link", ["nowhere.md", "faq.md#nothing", "#nothing", "../figs/none.png"])
def test_a_broken_link_is_seen(link: str) -> None:
    assert list(broken(f"# A\n[x](faq.md) [y](#a) [z]({link})", ROOT / "docs" / "index.md")) == [
        link
    ]


def test_every_page_is_in_the_site_and_the_index() -> None:
    site = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    named = set(re.findall(r": (\S+\.md)$", site, re.MULTILINE))
    assert {p.name for p in DOCS} <= named
    for name in named:
        assert (ROOT / "docs" / name).exists() or (ROOT / name).exists(), name
    for page in DOCS:
        assert page.name == "index.md" or f"]({page.name})" in index, page.name


def blocks(page: Path, mark: str) -> list[tuple[str, str]]:
    """Language and code of the page's blocks with this mark, "" for those without one."""
    found = FENCE.findall(page.read_text(encoding="utf-8"))
    return [(lang, code) for said, lang, code in found if lang in {"sh", "python"} and said == mark]


def pages_with_code(mark: str) -> list[str]:
    return [str(p.relative_to(ROOT)) for p in QUOTING if blocks(p, mark)]


def run_blocks(page: Path, mark: str, folder: Path) -> None:
    """Run them in order, in a folder with what a checkout has, and the commands on the path."""
    for name in ("examples", "proofs"):
        (folder / name).symlink_to(ROOT / name)
    commands = folder / ".bin"
    commands.mkdir()
    for name, words in (("python", ""), ("cache-worthy", "-m cache_worthy.cli")):
        file = commands / name
        file.write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n', encoding="utf-8")
        file.chmod(0o755)
    paths = f"{commands}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "PATH": paths, "PYTHONPATH": str(ROOT)}
    for language, code in blocks(page, mark):
        command = ["bash", "-e"] if language == "sh" else [sys.executable, "-"]
        done = subprocess.run(
            command, input=code, cwd=folder, env=env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{page.name}:\n{code}\n{done.stdout[-500:]}\n{done.stderr}"


@pytest.mark.parametrize("name", pages_with_code(""))
def test_code_blocks_run(name: str, tmp_path: Path) -> None:
    run_blocks(ROOT / name, "", tmp_path)


@pytest.mark.traces
@pytest.mark.parametrize("name", pages_with_code("run with traces"))
def test_code_blocks_of_the_traces_run(name: str, tmp_path: Path, traces: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "raw").symlink_to(traces)
    run_blocks(ROOT / name, "run with traces", tmp_path)


def test_code_is_found_and_a_failing_block_is_seen(tmp_path: Path) -> None:
    assert {"README.md", "docs/tutorial.md", "docs/policies.md"} <= set(pages_with_code(""))
    page = tmp_path / "page.md"
    page.write_text("```sh\ncache-worthy analyze nothing.jsonl\n```\n", encoding="utf-8")
    (tmp_path / "run").mkdir()
    with pytest.raises(AssertionError, match=r"nothing\.jsonl"):
        run_blocks(page, "", tmp_path / "run")


def test_what_a_page_loads_from_elsewhere_is_seen() -> None:
    assert ELSEWHERE.search('<script defer src="https://example.org/a.js"></script>')
    assert ELSEWHERE.search("<link rel=stylesheet href=//example.org/a.css>")
    assert not ELSEWHERE.search('<a href="https://example.org/">x</a> <img src="figs/a.png">')


def test_the_site_builds(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs", reason="make docs installs it")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
