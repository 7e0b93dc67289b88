"""The published replay table and everything else that a replay of the traces must satisfy.

    python scripts/check/replay.py [--traces DIR] [--check] [--full]

Without --check: prints the table for the traces at hand. With --check, on every trace at hand:

* every published cell to four decimals, by the interned engine and by node objects with a heap;
  the reference engine (linear scan) on the constructed trace and on conversation at 2 percent
  under lru and landlord (--full: on every cell, minutes);
* the floor serves, one block less is refused; compulsory FLOPs exact;
* recursive_lru equals lru in every field, at the floor and at 2, 5, 10, 25 and 100 percent;
* at 100 percent every policy pays exactly the compulsory cost and evicts nothing;
* the share of evicted nodes that were used once.

That all engines agree in every field at 2, 5, 10 and 25 percent under all policies is a test
(``tests/sim/radix/test_engines.py``, marked ``slow``; ``make verify-full``).

Evidence: rank 1 (published cells), rank 2 (compulsory, 100 percent), rank 5 (engines).
Exit codes: 0 holds, 1 a comparison fails, 2 no trace is there.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from mooncake import capacity_of, fixed, load_forest, run
from published import (
    COMPULSORY_FLOPS,
    CONSTRUCTED,
    EVICTED_ONCE,
    FLOORS,
    REPLAY_TABLE,
    Checks,
    arguments,
    at_hand,
    missing_from,
    require_traces,
)

from cache_worthy.sim.cost import BlockSize
from cache_worthy.sim.errors import CapacityError
from cache_worthy.sim.forest import Forest
from cache_worthy.sim.outcome import Outcome
from cache_worthy.sim.radix.policies import POLICIES
from cache_worthy.sim.radix.replay import Engine

PERCENTS = (2, 5, 10, 25)


def ratio(result: Outcome) -> str:
    """Cost as a multiple of the compulsory cost, four decimals."""
    return fixed(result.total_cost, result.compulsory_cost, 4)


def engines_for(trace: str, percent: int, policy: str, *, full: bool) -> tuple[Engine, ...]:
    """The engines that check one published cell; the linear scan where it takes seconds."""
    quick = trace in CONSTRUCTED or (percent == 2 and policy in ("lru", "landlord"))
    return ("interned", "heap", "reference") if full or quick else ("interned", "heap")


def check_trace(checks: Checks, trace: str, forest: Forest, *, full: bool) -> None:
    """Every comparison for one trace."""
    for (name, percent, policy), cell in REPLAY_TABLE.items():
        if name != trace:
            continue
        for engine in engines_for(trace, percent, policy, full=full):
            result = run(forest, policy, capacity_of(forest, percent), engine)
            checks.equal(f"{trace} {percent} percent {policy}, {engine}", ratio(result), cell)
    block = BlockSize().block
    if trace in FLOORS:
        checks.equal(f"{trace}: floor in blocks", forest.depth, FLOORS[trace])
    floor = forest.depth * block
    for engine in ("interned", "heap"):
        served = run(forest, "lru", floor, engine)
        checks.equal(f"{trace}: requests served at the floor", len(served.matched), forest.requests)
        try:
            run(forest, "lru", floor - block, engine)
            refused = False
        except CapacityError:
            refused = True
        checks.holds(f"{trace}: one block less than the floor is refused, {engine}", refused)
    whole = capacity_of(forest, 100)
    for policy in POLICIES:
        result = run(forest, policy, whole, "auto")
        where = f"{trace} 100 percent {policy}"
        checks.equal(f"{where}: cost", result.total_cost, result.compulsory_cost)
        checks.equal(f"{where}: evictions", result.evictions, 0)
        if trace in COMPULSORY_FLOPS:
            checks.equal(
                f"{trace}: compulsory FLOPs", result.compulsory_cost, COMPULSORY_FLOPS[trace]
            )
    for capacity in (floor, *(capacity_of(forest, p) for p in PERCENTS), whole):
        pair = [run(forest, p, capacity, "interned") for p in ("lru", "recursive_lru")]
        checks.holds(f"{trace}: recursive_lru is lru at {capacity} bytes", pair[0] == pair[1])
    for policy in POLICIES:
        share = EVICTED_ONCE.get((trace, policy))
        if share is not None:
            result = run(forest, policy, capacity_of(forest, 2), "interned")
            once = fixed(100 * (result.evicted_once or 0), result.evictions, 2)
            checks.equal(f"{trace} 2 percent {policy}: evicted after one use", once, share)


def show_table(trace: str, forest: Forest) -> None:
    """The measured table: every policy at the four capacities, and what they are worth."""
    print(f"{trace}{' (constructed)' if trace in CONSTRUCTED else ''}: cost / compulsory cost")
    names = [n for n in POLICIES if n != "recursive_lru"]
    print("  percent  " + " ".join(f"{n:>13}" for n in names))
    costs: dict[int, dict[str, int]] = {}
    for percent in PERCENTS:
        results = {n: run(forest, n, capacity_of(forest, percent), "auto") for n in names}
        costs[percent] = {n: r.total_cost for n, r in results.items()}
        print(f"  {percent:>7}  " + " ".join(f"{ratio(r):>13}" for r in results.values()))
    lru = costs[2]["lru"]
    print(
        f"  capacity: of lru's cost at 2 percent, {fixed(100 * (lru - costs[25]['lru']), lru, 1)} "
        "percent is gone at 25"
    )
    for percent, row in costs.items():
        best = min(row, key=lambda n: (row[n], n))
        saved = fixed(100 * (row["lru"] - row[best]), row["lru"], 2)
        print(f"  policy, {percent} percent: {best} saves {saved} percent of lru's cost")


def main(argv: Sequence[str] | None = None) -> int:
    """Print or check; see the module's text."""
    parser = arguments(__doc__)
    parser.add_argument("--full", action="store_true", help="the reference engine everywhere")
    args = parser.parse_args(argv)
    require_traces(args.traces)
    checks = Checks()
    for trace in at_hand(args.traces):
        forest = load_forest(args.traces, trace)
        if args.check or args.full:
            check_trace(checks, trace, forest, full=args.full)
        else:
            show_table(trace, forest)
    if not (args.check or args.full):
        return 0
    checks.summary(missing_from(args.traces))
    return checks.exit_code


if __name__ == "__main__":
    sys.exit(main())
