"""Pictures of the HTML report, in headless Chromium.

    python scripts/screenshot_report.py [LOG] [-o DIR] [--figure]

Analyses LOG (default: the constructed sample log), opens the report in each width and colour scheme,
and writes report-WIDTH-SCHEME.png to DIR (default outputs). --figure writes the top of the wide, light
one as figs/report.png for the README. Needs Chromium (apt-get install chromium) and playwright.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Literal

from chromium import find_chromium, open_chromium
from published import ROOT

from cache_worthy.cli import main as cache_worthy

WIDTHS = (1280, 390)
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
FIGURE = ROOT / "figs" / "report.png"


def main(argv: list[str] | None = None) -> int:
    """Draw; 2 without a browser."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "log", nargs="?", type=Path, default=ROOT / "examples" / "sample_log.jsonl", metavar="LOG"
    )
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "outputs", metavar="DIR")
    parser.add_argument("--figure", action="store_true", help="write figs/report.png")
    args = parser.parse_args(argv)
    chromium = find_chromium()
    if chromium is None:
        print("screenshot_report: no chromium; apt-get install chromium", file=sys.stderr)
        return 2
    args.output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, open_chromium(chromium) as browser:
        page_file = Path(folder) / "report.html"
        code = cache_worthy(
            ["analyze", str(args.log), "-q", "--html", str(page_file), "-o", f"{folder}/report.txt"]
        )
        if code:
            return code
        for width in WIDTHS:
            for scheme in SCHEMES:
                page = browser.new_page(
                    viewport={"width": width, "height": 1400 if args.figure else 900},
                    color_scheme=scheme,
                )
                page.goto(page_file.as_uri())
                if args.figure:
                    page.screenshot(path=FIGURE)
                    return 0
                target = args.output / f"report-{width}-{scheme}.png"
                page.screenshot(path=target, full_page=True)
                print(target)
    return 0


if __name__ == "__main__":
    sys.exit(main())
