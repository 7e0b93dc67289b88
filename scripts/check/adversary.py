"""The constructions that hurt LRU and Landlord, checked one way after another.

    python scripts/check/adversary.py                 LRU's cycle: four independent checks
    python scripts/check/adversary.py --adaptive 8    and the phases, for all h, H and k up to 8
    python scripts/check/adversary.py --json

LRU's closed forms are derived in ``proofs/lru.md`` and in the docstrings of
``cache_worthy.theory.search.adversary``; nothing here was fitted. Exit code: 0 all checks hold, 1 one
does not.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from cache_worthy.oracles.optimum.optimal import optimal_cost
from cache_worthy.sim.radix.policies import POLICIES
from cache_worthy.sim.radix.replay import replay
from cache_worthy.sim.trace import BlockId
from cache_worthy.theory.algorithms import COSIGNED, exact_cost
from cache_worthy.theory.search.adversary import lru_cycle, lru_cycle_cost, lru_cycle_optimum, play

CAPACITIES = range(2, 8)
COSTS = (2, 3, 10, 1000)
PHASES = range(1, 7)
LANDLORDS = ("landlord", "landlord_eager", "landlord_leaf_rent", "landlord_clamped")


def main(argv: list[str] | None = None) -> int:
    """Run the checks asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--adaptive", type=int, metavar="K", help="play phases for all k up to K")
    parser.add_argument(
        "--mutate",
        action="store_true",
        help="every closed form one too large, LRU and Landlord held to each other's bound, "
        "Landlord and cosigned swapped in the phases: every check must fail",
    )
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args(argv)
    checks: list[Callable[[bool], dict[str, Any]]] = [
        lru_in_closed_form,
        lru_in_the_simulator,
        optimum_by_exhaustion,
        cheap_misses_by_belady,
        unbounded,
    ]
    results = [check(args.mutate) for check in checks]
    if args.adaptive:
        results.append(adaptive(args.adaptive, mutate=args.mutate))
    ok = all(not r["failures"] for r in results)
    if args.json:
        print(json.dumps({"ok": ok, "checks": results}, indent=1))
    else:
        for r in results:
            print(
                f"{'ok    ' if not r['failures'] else 'FAILED'} {r['claim']} ({r['cases']} cases)"
            )
            for line in r["failures"][:5] + r.get("notes", []):
                print(f"         {line}")
    return 0 if ok else 1


def _grid() -> list[tuple[int, int, int]]:
    return [(k, cost, phases) for k in CAPACITIES for cost in COSTS for phases in PHASES]


def _compare(
    claim: str,
    left: Callable[[int, int, int], Any],
    right: Callable[[int, int, int], Any],
    mutate: bool,
) -> dict[str, Any]:
    failures = []
    for case in _grid():
        a, b = left(*case), right(*case) + mutate
        if a != b:
            failures.append(f"k, cost, phases = {case}: {a} and {b}")
    return {"claim": claim, "cases": len(_grid()), "failures": failures}


def lru_in_closed_form(mutate: bool = False) -> dict[str, Any]:
    """Check 1: the exact transcription of LRU pays the closed form."""
    return _compare(
        "LRU's transcription pays phases * (cost + k) + cost",
        lambda k, cost, phases: exact_cost("lru", lru_cycle(k, cost, phases), k),
        lru_cycle_cost,
        mutate,
    )


def lru_in_the_simulator(mutate: bool = False) -> dict[str, Any]:
    """Check 2: so does the trace simulator, which shares no code with the transcription."""

    def simulated(k: int, cost: int, phases: int) -> int:
        def size(blocks: Sequence[BlockId], depth: int) -> int:
            return len(blocks)

        def price(blocks: Sequence[BlockId], depth: int) -> int:
            return sum(cost if b == 0 else 1 for b in blocks)

        paths = [(v,) for v in lru_cycle(k, cost, phases).requests]
        return replay(paths, POLICIES["lru"](), k, size, price).total_cost

    return _compare("LRU in the trace simulator pays the same", simulated, lru_cycle_cost, mutate)


def optimum_by_exhaustion(mutate: bool = False) -> dict[str, Any]:
    """Check 3: the exhaustive optimum, for every number of phases, so phase by phase."""
    return _compare(
        "the exhaustive optimum is cost + k + floor(k (phases - 1) / (k - 1)), at every phase",
        lambda k, cost, phases: optimal_cost(lru_cycle(k, cost, phases), k),
        lru_cycle_optimum,
        mutate,
    )


def cheap_misses_by_belady(mutate: bool = False) -> dict[str, Any]:
    """Check 4: Belady's rule, run literally on the cheap requests over k - 1 slots."""

    def belady(k: int, cost: int, phases: int) -> int:
        requests = [v for v in lru_cycle(k, cost, phases).requests if v]
        held: set[int] = set()
        misses = 0
        for t, v in enumerate(requests):
            if v in held:
                continue
            misses += 1
            if len(held) == k - 1:
                rest = requests[t + 1 :]
                held.remove(max(held, key=lambda u: rest.index(u) if u in rest else len(rest)))
            held.add(v)
        return cost + misses

    return _compare(
        "Belady on the cheap requests gives the same", belady, lru_cycle_optimum, mutate
    )


def unbounded(mutate: bool = False) -> dict[str, Any]:
    """The claim itself: any ratio is passed at fixed k, while Landlord stays within k."""
    failures, notes = [], []
    loser, keeper = ("landlord", "lru") if mutate else ("lru", "landlord")
    for k in CAPACITIES:
        for wanted in (10, 100, 1000):
            cost, phases = 2 * wanted * k, 2 * wanted
            phases = 20 if mutate else phases
            paid = (
                exact_cost(loser, lru_cycle(k, cost, phases), k)
                if mutate
                else lru_cycle_cost(k, cost, phases)
            )
            ratio = Fraction(paid) / lru_cycle_optimum(k, cost, phases)
            if ratio <= wanted:
                failures.append(f"k = {k}: ratio {float(ratio):.1f}, wanted over {wanted}")
            elif k == 4:
                notes.append(
                    f"k = {k}, cost {cost}, {phases} phases: LRU pays {float(ratio):.0f} times "
                    "the optimum"
                )
    for k, cost, phases in _grid():
        kept = exact_cost(keeper, lru_cycle(k, cost, phases), k)
        if kept > k * lru_cycle_optimum(k, cost, phases):
            failures.append(f"k, cost, phases = {(k, cost, phases)}: {keeper} pays {kept}")
    return {
        "claim": "no ratio bounds LRU at fixed k; Landlord stays within Young's k on the same",
        "cases": 3 * len(CAPACITIES) + len(_grid()),
        "failures": failures,
        "notes": notes,
    }


def adaptive(
    largest: int, phases: int = 4, cost: int = 20, *, mutate: bool = False
) -> dict[str, Any]:
    """The phase construction for all ``2 <= h <= k <= largest`` and ``1 <= H <= h``.

    Every phase of every Landlord variant costs at least ``m M + (h-1)(M-1)``; every form of
    cosigned stays within ``k/(k-h+1)`` of the offline cost ``m M + h`` a phase.
    """
    failures = []
    cases = 0
    worst = Fraction(0)
    dear, bounded = (COSIGNED, LANDLORDS) if mutate else (LANDLORDS, COSIGNED)
    for k in range(2, largest + 1):
        for h in range(2, k + 1):
            for path in range(1, h + 1):
                for policy in dear:
                    for hits in ("after",) if mutate else ("after", "before"):
                        options: dict[str, Any] = {} if mutate else {"hits": hits}
                        game = play(policy, k, h, path, phases, cost=cost, **options)
                        cases += 1
                        low = min(p.cost for p in game.phases)
                        if low < game.stage.phase_floor:
                            failures.append(
                                f"{policy} {hits}, k, h, H = {(k, h, path)}: phase of {low}"
                            )
                for policy in bounded:
                    game = play(policy, k, h, path, phases, cost=cost)
                    cases += 1
                    worst = max(worst, Fraction(game.ratio) / game.young)
                    if game.ratio > game.young or not all(p.ended for p in game.phases):
                        failures.append(f"{policy}, k, h, H = {(k, h, path)}: {game.ratio}")
    return {
        "claim": f"adaptive phases, all k <= {largest}: Landlord never below m M + (h-1)(M-1), "
        "cosigned never above k/(k-h+1)",
        "cases": cases,
        "failures": failures,
        "notes": [f"largest ratio of cosigned over k/(k-h+1): {float(worst):.4f}"],
    }


if __name__ == "__main__":
    sys.exit(main())
