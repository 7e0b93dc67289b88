"""The advisor by its script path: prints the same bytes as ``cache-worthy analyze``."""

from __future__ import annotations

import sys

from cache_worthy.cli import main

if __name__ == "__main__":
    sys.exit(main(["analyze", *sys.argv[1:]]))
