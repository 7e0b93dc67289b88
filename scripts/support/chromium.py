"""The system's Chromium, headless, for the tests and pictures of the HTML report."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def find_chromium() -> str | None:
    """Path of the browser, None where there is none."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


@contextmanager
def open_chromium(path: str) -> Iterator[Browser]:
    """A browser of one's own, closed afterwards."""
    # Chromium refuses its sandbox to root, as which continuous integration often runs.
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    flags = ["--no-sandbox"] if root else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=flags)
        try:
            yield browser
        finally:
            browser.close()
