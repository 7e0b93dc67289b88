"""Check every row of a potential argument on everything in a small scope; JSON on stdout.

python scripts/check/exhaust.py --policy cosigned --max-nodes 3 --requests 5
python scripts/check/exhaust.py --policy landlord --potential landlord --max-nodes 3 --requests 5

All real costs at once, all lazy schedules; see ``theory/search/exhaustion.py`` for what the scope is.
"""

from __future__ import annotations

import argparse
import json
import sys

from cache_worthy.documents import jsonable
from cache_worthy.theory.algorithms import ALGORITHMS
from cache_worthy.theory.search.exhaustion import exhaust


def main() -> int:
    """Exhaust the scope and print what was covered and found."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--policy", choices=tuple(ALGORITHMS), required=True)
    parser.add_argument("--potential", choices=("young", "landlord"), default="young")
    parser.add_argument("--max-nodes", type=int, required=True)
    parser.add_argument("--requests", type=int, required=True)
    parser.add_argument("--max-size", type=int, default=1)
    parser.add_argument("--k", type=int)
    parser.add_argument("--h", type=int)
    args = parser.parse_args()
    scope = exhaust(
        args.policy,
        args.max_nodes,
        args.requests,
        max_size=args.max_size,
        potential=args.potential,
        k=args.k,
        h=args.h,
    )
    if not scope.evictions:
        print("nothing is evicted in this scope, so nothing was decided", file=sys.stderr)
        return 2
    smallest = scope.smallest
    report = {
        "violations": scope.violations,
        "broken": dict(sorted(scope.broken.items())),
        "policy": scope.policy,
        "potential": scope.potential,
        "forests_with_capacities": scope.forests,
        "left_out_because_nothing_is_evicted": scope.vacuous,
        "sequences": scope.sequences,
        "schedules": scope.schedules,
        "courses": scope.courses,
        "requests": scope.requests,
        "events": scope.events,
        "evictions": scope.evictions,
        "row_checks": scope.checks,
        "smallest": None
        if smallest is None
        else {
            "parent": smallest.instance.parent,
            "size": smallest.instance.size,
            "cost": smallest.instance.cost,
            "requests": smallest.instance.requests,
            "k": smallest.k,
            "h": smallest.h,
            "schedule": [sorted(state) for state in smallest.schedule],
            "row": smallest.row,
            "text": smallest.text,
        },
    }
    print(json.dumps(jsonable(report), indent=2))
    return 1 if scope.violations else 0


if __name__ == "__main__":
    sys.exit(main())
