"""Hold the exact solvers and the bound against each other on random small instances.

    python scripts/check/oracles.py [--instances N] [--seed S] [--check]
    python scripts/check/oracles.py --reach [SECONDS] [--sizes N [N ...]]

Counts only instances whose optimum exceeds compulsory: on the others every answer is the same sum,
so agreement says nothing; they are counted apart. On each: the dynamic program, the integer program
under HiGHS and under CBC (both proved optimal), the certified chain and A3 bounds and LPround.
--reach enlarges the instance (nodes: SIZES) until an exact solver needs more than SECONDS (10) of
wall time, and prints the last one it solved.

Exit codes: 0 everything agrees (or no --check), 1 a disagreement, 2 usage.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from random import Random

from cache_worthy.oracles.optimum.milp import solve_milp
from cache_worthy.oracles.optimum.optimal import optimal_cost
from cache_worthy.oracles.registry import certified_lower, upper_rounded
from cache_worthy.theory.instance import Instance, Number
from cache_worthy.theory.sampling import random_instance


@dataclass(slots=True)
class Tally:
    """What was seen."""

    counted: int = 0
    compulsory_only: int = 0
    chain_tight: int = 0
    a3_tight: int = 0
    a3_above_chain: int = 0
    rounded_tight: int = 0
    chain_share: Fraction = Fraction(0)
    a3_share: Fraction = Fraction(0)
    wrong: list[str] = field(default_factory=list)


def draw(rng: Random) -> tuple[Instance, int]:
    """A random instance of 3 to 8 nodes and 5 to 16 requests, and a capacity."""
    cost = rng.choice([1, 3, 9, 1000])
    instance = random_instance(
        rng,
        nodes=rng.randint(3, 8),
        requests=rng.randint(5, 16),
        max_size=rng.choice([1, 1, 3]),
        max_cost=cost,
        flat=rng.random() < 0.1,
    )
    total = sum(instance.size[u] for u in instance.touched())
    return instance, rng.randint(instance.floor, max(instance.floor, total - 1))


def survey(instances: int, seed: int) -> Tally:
    """Draw until ``instances`` of them have an optimum above compulsory."""
    rng = Random(seed)
    tally = Tally()
    while tally.counted < instances:
        instance, capacity = draw(rng)
        optimum = optimal_cost(instance, capacity)
        if optimum == instance.compulsory:
            tally.compulsory_only += 1
            continue
        tally.counted += 1
        where = f"{instance} at {capacity}"
        for solver in ("highs", "cbc"):
            answer = solve_milp(instance, capacity, solver=solver)
            if not answer.proved or answer.schedule.cost != optimum:
                said = f"{answer.schedule.cost}, proved: {answer.proved}"
                tally.wrong.append(f"{solver} {said}, dynamic program {optimum}: {where}")
        chain = certified_lower(instance, capacity, rows="chain")
        a3 = certified_lower(instance, capacity, rows="A3")
        above = upper_rounded(instance, capacity)
        if max(chain, a3) > optimum:
            tally.wrong.append(f"bound {max(chain, a3)} above the optimum {optimum}: {where}")
        if above < optimum:
            tally.wrong.append(f"LPround {above} below the optimum {optimum}: {where}")
        tally.chain_tight += chain == optimum
        tally.a3_tight += a3 == optimum
        tally.a3_above_chain += a3 > chain
        tally.rounded_tight += above == optimum
        tally.chain_share += chain / Fraction(optimum)
        tally.a3_share += a3 / Fraction(optimum)
        if sys.stderr.isatty() and tally.counted % 50 == 0:
            print(f"\r{tally.counted} of {instances}", end="", file=sys.stderr, flush=True)
    return tally


def _dense(rng: Random, nodes: int, requests: int) -> tuple[Instance, int]:
    instance = random_instance(rng, nodes=nodes, requests=requests)
    return instance, max(instance.floor, sum(instance.size) // 3)


def _chats(rng: Random, nodes: int, requests: int) -> tuple[Instance, int]:
    """Chains of nodes below one root, requests that grow a chain or start one: like chat traffic."""
    parent: list[int | None] = [None]
    tips = [0]
    wanted: list[int] = []
    for _ in range(requests):
        tip = rng.choice(tips[-8:])
        if len(parent) < nodes and rng.random() < 0.6:
            parent.append(tip)
            tip = len(parent) - 1
            tips.append(tip)
        wanted.append(tip)
    n = len(parent)
    depth = [0] * n
    for v in range(1, n):
        depth[v] = depth[parent[v] or 0] + 1
    instance = Instance(tuple(parent), (1,) * n, tuple(105 + 2 * d for d in depth), tuple(wanted))
    return instance, max(instance.floor, n // 5)


Solver = Callable[[Instance, int], Number | None]


def _milp(solver: str, seconds: float) -> Solver:
    def solve(instance: Instance, capacity: int) -> Number | None:
        answer = solve_milp(instance, capacity, solver=solver, time_limit=seconds)
        return answer.schedule.cost if answer.proved else None

    return solve


SIZES = (10, 20, 30, 40, 50, 60, 80, 100, 150, 200, 300, 500, 1000)


def reach(seconds: float, sizes: Sequence[int]) -> None:
    """Print the largest instance of each family that each exact solver solves in the time."""
    solvers: dict[str, Solver] = {
        "dynamic program": optimal_cost,
        "integer program, HiGHS": _milp("highs", seconds),
        "integer program, CBC": _milp("cbc", seconds),
    }
    for family, make in (("dense random forests", _dense), ("chats below one root", _chats)):
        for name, solve in solvers.items():
            done = "none"
            for nodes in sizes:
                instance, capacity = make(Random(nodes), nodes, 2 * nodes)
                took = _timed(solve, instance, capacity, seconds)
                if took is None:
                    break
                done = (
                    f"{instance.n} nodes, {len(instance.requests)} requests, capacity {capacity} "
                    f"({took:.1f} s)"
                )
            print(f"{family:<22} {name:<24} {done}", flush=True)


def _timed(solve: Solver, instance: Instance, capacity: int, seconds: float) -> float | None:
    """Seconds taken, in a process of its own that is ended when the time is over."""
    context = multiprocessing.get_context("fork")
    mine, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_answer, args=(theirs, solve, instance, capacity))
    child.start()
    theirs.close()
    began = time.monotonic()
    try:
        if not mine.poll(seconds):
            return None
        return time.monotonic() - began if mine.recv() is not None else None
    except EOFError:
        return None
    finally:
        child.kill()
        child.join()


def _answer(pipe: object, solve: Solver, instance: Instance, capacity: int) -> None:
    pipe.send(solve(instance, capacity))  # type: ignore[attr-defined]


def report(tally: Tally) -> str:
    """The figures as text."""
    n = tally.counted or 1
    rows = [
        ("instances, optimum above compulsory", tally.counted),
        ("others, optimum is compulsory (not counted)", tally.compulsory_only),
        ("disagreements", len(tally.wrong)),
        ("certified chain equals the optimum", tally.chain_tight),
        ("certified A3 equals the optimum", tally.a3_tight),
        ("certified A3 above the chain", tally.a3_above_chain),
        ("LPround equals the optimum", tally.rounded_tight),
        ("mean certified chain / optimum", f"{float(tally.chain_share / n):.4f}"),
        ("mean certified A3 / optimum", f"{float(tally.a3_share / n):.4f}"),
    ]
    return "\n".join(f"{name:<46}{value}" for name, value in rows)


def main(argv: Sequence[str] | None = None) -> int:
    """Run; see the module's text."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--instances", type=int, default=2000, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="S")
    parser.add_argument("--check", action="store_true", help="exit 1 on a disagreement")
    parser.add_argument("--reach", type=float, nargs="?", const=10.0, metavar="SECONDS")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, metavar="N")
    # make verify passes the traces to every step; this one needs none.
    parser.add_argument("--traces", help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if args.instances < 1 or (args.reach is not None and args.reach <= 0):
        parser.error("--instances and --reach must be positive")
    if args.reach is not None:
        reach(args.reach, args.sizes)
        return 0
    tally = survey(args.instances, args.seed)
    print(report(tally))
    for line in tally.wrong[:5]:
        print(line, file=sys.stderr)
    return 1 if args.check and tally.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
