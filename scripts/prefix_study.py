"""The prefix-cache study by its script path: the same as ``cache-worthy study``.

python scripts/prefix_study.py            # run it; minutes
python scripts/prefix_study.py --plot     # redraw from outputs/results.csv

Requests that come faster than the engine without a cache serves them (figs/prefix_study_saturated.png):

python scripts/prefix_study.py --rate 40 --results outputs/saturated.csv
python scripts/prefix_study.py --plot --results outputs/saturated.csv
"""

from __future__ import annotations

import sys

from cache_worthy.cli import main

if __name__ == "__main__":
    sys.exit(main(["study", *sys.argv[1:]]))
