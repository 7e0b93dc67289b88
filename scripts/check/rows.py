"""Decide rows of the potential tables with z3, or their mutated twins; one JSON object on stdout.

python scripts/check/rows.py                        every row and every mutant, as a table
python scripts/check/rows.py cosigned.rent          one row: "unsat" means it holds
python scripts/check/rows.py cosigned.rent --mutants        "sat" if every mutant breaks
python scripts/check/rows.py --forests cosigned --max-nodes 6 --max-k 5 [--mutants]
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict

from cache_worthy.theory.potential.forest_rows import FOREST_MUTANTS, check_rent_on_forests
from cache_worthy.theory.potential.rows import TABLES, find_row


def main() -> int:
    """Decide what was asked for and print it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("row", nargs="?", help="TABLE.ROW")
    parser.add_argument("--mutants", action="store_true", help="the mutated twins instead")
    parser.add_argument("--forests", choices=tuple(TABLES), help="the rent row on whole forests")
    parser.add_argument("--max-nodes", type=int, default=4)
    parser.add_argument("--max-k", type=int, default=4)
    args = parser.parse_args()
    if args.forests:
        report = _on_forests(args)
    elif args.row:
        report = _row(args.row, args.mutants)
    else:
        return _table()
    print(json.dumps(report))
    return 0


def _row(name: str, mutants: bool) -> dict[str, object]:
    row = find_row(name)
    if not mutants:
        return {"row": name, "says": row.says, "result": row.check()}
    results = {mutant: row.check(mutant) for mutant in row.mutants()}
    return {"row": name, "result": _all_sat(results), "mutants": results}


def _on_forests(args: argparse.Namespace) -> dict[str, object]:
    if not args.mutants:
        check = check_rent_on_forests(args.forests, args.max_nodes, args.max_k)
        # An empty range decides nothing, so it must not read as unsat.
        return {
            "table": args.forests,
            **asdict(check),
            "result": check.result if check.cases else "no cases",
        }
    counts: dict[str, str] = {}
    results: dict[str, str] = {}
    for mutant in FOREST_MUTANTS[args.forests]:
        check = check_rent_on_forests(args.forests, args.max_nodes, args.max_k, mutant)
        results[mutant] = check.result
        counts[mutant] = f"{check.sat} of {check.cases} cases sat"
    return {"table": args.forests, "result": _all_sat(results), "mutants": counts}


def _all_sat(results: dict[str, str]) -> str:
    if not results:
        return "no mutants"
    return next((r for r in results.values() if r != "sat"), "sat")


def _table() -> int:
    good = True
    for table in TABLES.values():
        for row in table():
            decided = row.check()
            mutants = {m: row.check(m) for m in row.mutants()}
            good = good and decided == "unsat" and set(mutants.values()) == {"sat"}
            print(f"{decided:<6} {row.table}.{row.name}: {row.says}")
            for mutant, result in mutants.items():
                print(f"  {result:<6} {mutant}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
