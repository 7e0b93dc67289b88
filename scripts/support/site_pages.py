"""Hooks of mkdocs: pages and figures outside ``docs/`` belong to the site too.

A page of ``docs/`` links to them as ``../proofs/status.md``, which is right in the repository. In the site they are
beside that page, so the ``../`` is removed.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mkdocs.structure.files import Files

ROOT = Path(__file__).resolve().parents[2]

#: Beside docs/, in patterns of the repository.
OUTSIDE = (
    "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "tests/README.md", "proofs/*.md",
    "proofs/coq/README.md", "figs/*.png",
)  # fmt: skip

#: What a browser would load from another host.
ELSEWHERE = re.compile(
    r"<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)=[\"']?(?:https?:)?//[^>]*>"
)


def outside() -> list[str]:
    """Their paths in the repository.

    Examples
    --------
    >>> "proofs/status.md" in outside()
    True
    """
    found = {path for pattern in OUTSIDE for path in ROOT.glob(pattern)}
    return sorted(path.relative_to(ROOT).as_posix() for path in found)


def on_files(files: Files, config: Any) -> Files:
    """Add them to the files of the site."""
    from mkdocs.structure.files import File

    for name in outside():
        files.append(File(name, str(ROOT), config.site_dir, config.use_directory_urls))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links of a page to what is outside ``docs/``, and of such a page into it."""
    if page.file.src_uri in outside():
        return re.sub(r"\]\((?:\.\./)*docs/", "](" + "../" * page.file.src_uri.count("/"), markdown)
    return re.sub(r"\]\(\.\./", "](", markdown)


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """Refuse a page that loads something from another host."""
    if found := ELSEWHERE.search(output):
        from mkdocs.exceptions import PluginError

        raise PluginError(f"{page.file.src_uri}: loads from elsewhere: {found[0]}")
    return output
