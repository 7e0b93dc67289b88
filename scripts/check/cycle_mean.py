"""What every policy, and the optimum, pays per round when a request cycle is repeated forever.

python scripts/check/cycle_mean.py proofs/witnesses/cycle.json

Exact: a policy is run until its whole state returns, the optimum is a minimum cycle mean. Prints
{"optimal_mean", "bound", "policies": {name: {"mean", "ratio", "exceeds"}}}.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from cache_worthy.documents import jsonable
from cache_worthy.theory.algorithms import ALGORITHMS
from cache_worthy.theory.instance import instance_from_mapping
from cache_worthy.theory.search.cycles import CycleError, offline_mean, online_mean
from cache_worthy.theory.steps import bound, divide


def main() -> int:
    """Print the exact means of one cycle."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("instance", type=Path, metavar="INSTANCE.json")
    args = parser.parse_args()
    data = json.loads(args.instance.read_text(encoding="utf-8"))
    instance = instance_from_mapping(data)
    optimum = offline_mean(instance, data["h"])
    limit = bound(data["k"], data["h"])
    policies: dict[str, object] = {}
    for name in ALGORITHMS:
        try:
            mean = online_mean(name, instance, data["k"])
        except CycleError:  # GDSF's frequencies, for one, never return
            policies[name] = None
            continue
        policies[name] = {
            "mean": mean,
            "ratio": divide(mean, optimum) if optimum else None,
            "exceeds": mean > limit * optimum,
        }
    report = {"optimal_mean": optimum, "bound": limit, "policies": policies}
    print(json.dumps(jsonable(report), indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
