"""Pictures of the HTML report, in headless Chromium.

    python scripts/figures/report.py [LOG] [-o DIR] [--figure]

Analyses LOG (default: the constructed sample log), opens the report in each width and colour scheme,
and writes report-WIDTH-SCHEME.png to DIR (default outputs). --figure writes figs/report.png for the
README instead: the tiles of the short answer and the capacity figure only. Needs Chromium (apt-get
install chromium) and playwright.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path
from typing import Literal

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from chromium import find_chromium, open_chromium
from published import ROOT

from cache_worthy.cli import main as cache_worthy

WIDTHS = (1280, 390)
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
FIGURE = ROOT / "figs" / "report.png"
LEFT_OUT = "nav, section > p, " + ", ".join(
    f"section:has(#{s})" for s in ("workload", "worth", "causes")
)


def main(argv: list[str] | None = None) -> int:
    """Draw; 2 without a browser."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("log", nargs="?", default="examples/sample_log.jsonl", metavar="LOG")
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "outputs", metavar="DIR")
    parser.add_argument("--figure", action="store_true", help="write figs/report.png")
    args = parser.parse_args(argv)
    chromium = find_chromium()
    if chromium is None:
        print("report: no chromium; apt-get install chromium", file=sys.stderr)
        return 2
    os.chdir(ROOT)
    args.output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, open_chromium(chromium) as browser:
        page_file = Path(folder) / "report.html"
        code = cache_worthy(
            ["analyze", args.log, "-q", "--html", str(page_file), "-o", f"{folder}/report.txt"]
        )
        if code:
            return code
        if args.figure:
            page = browser.new_page(viewport={"width": 900, "height": 1400}, color_scheme="light")
            page.goto(page_file.as_uri())
            page.add_style_tag(content=f"{LEFT_OUT} {{display: none}}")
            box = page.locator("section:has(#capacity) > figure").bounding_box()
            end = 1400 if box is None else box["y"] + box["height"] + 16
            page.screenshot(path=FIGURE, clip={"x": 0, "y": 0, "width": 900, "height": end})
            print(FIGURE)
            return 0
        for width in WIDTHS:
            for scheme in SCHEMES:
                page = browser.new_page(
                    viewport={"width": width, "height": 900},
                    color_scheme=scheme,
                )
                page.goto(page_file.as_uri())
                target = args.output / f"report-{width}-{scheme}.png"
                page.screenshot(path=target, full_page=True)
                print(target)
    return 0


if __name__ == "__main__":
    sys.exit(main())
