"""Where the serving engine's time goes, compared with the bare matrix products of the same run.

    python scripts/bench/engine.py [--rounds N] [--functions N]

1. Prefill of prompts of several lengths against the yardstick: the matrix products of the weights
   alone, at the same shapes, alternating in one run; the best of the rounds counts. A prefill that
   looped over tokens in Python would be many times its products.
2. The profile of one run of the study's workload (prefix 256, all requests at once), cache off and
   on: own time by function. A matrix product has no function of its own in numpy: those of the
   weights count under _layers and _logits, those of attention under attend.

One BLAS thread. No traces are read. Exit code 0.
"""

from __future__ import annotations

import cProfile
import os
import pstats
import sys
import time
from collections.abc import Callable
from pathlib import Path

for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # before numpy loads

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from measuring import Results, arguments, positive

from cache_worthy.sim.serving.pool import BlockPool
from cache_worthy.sim.serving.server import Engine
from cache_worthy.sim.serving.transformer import Transformer
from cache_worthy.sim.serving.workload import STUDY_MODEL, chat_workload


def timed(work: Callable[[], object]) -> float:
    """Seconds of one call."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def prefill_beside_products(
    transformer: Transformer, tokens: int, rounds: int
) -> tuple[float, float]:
    """Best seconds of a prefill, and of its weight products alone."""
    pool = BlockPool(transformer.model, -(-tokens // 16), 16)
    table = [pool.take() for _ in range(pool.size)]
    prompt = np.random.default_rng(0).integers(0, transformer.model.vocabulary, tokens).tolist()
    rng = np.random.default_rng(1)
    matrices = [m for w in transformer.weights.layers for m in (w.qkv, w.out, w.gate_up, w.down)]
    pairs = [(rng.standard_normal((tokens, len(m)), np.float32), m) for m in matrices]

    def products() -> None:
        for x, m in pairs:
            x @ m

    both = [
        (timed(lambda: transformer.prefill(prompt, 0, 0, table, pool)), timed(products))
        for _ in range(rounds + 1)
    ][1:]
    return min(a for a, _ in both), min(b for _, b in both)


def profile(transformer: Transformer, on: bool, functions: int, prefix: int = 256) -> None:
    """Print own time by function of one run."""
    load = chat_workload(prefix, vocabulary=transformer.model.vocabulary, rate=1e6)
    engine = Engine(transformer, 1024, prefix_cache=on)
    profiler = cProfile.Profile()
    profiler.runcall(engine.serve, load)
    stats = pstats.Stats(profiler).stats  # type: ignore[attr-defined]
    total = sum(own for _, _, own, _, _ in stats.values())
    print(f"\nprofile, cache {'on' if on else 'off'}: own time by function")
    ranked = sorted(stats.items(), key=lambda item: -item[1][2])[:functions]
    for (file, line, name), (_, calls, own, _, _) in ranked:
        where = f"{os.path.basename(file)}:{line} {name}" if line else name
        print(f"  {100 * own / total:5.1f} %  {calls:>7,} calls  {where}")


def main(argv: list[str] | None = None) -> int:
    """Measure and print."""
    parser = arguments(__doc__)
    parser.add_argument("--rounds", type=positive, default=7)
    parser.add_argument("--functions", type=int, default=8)
    args = parser.parse_args(argv)
    transformer = Transformer(STUDY_MODEL)
    results = Results(
        "engine", "prefill of the study's model compared with its weight products, one BLAS thread"
    )
    print("prefill / its weight products alone, same shapes (best of rounds)")
    for tokens in (16, 64, 272, 512):
        whole, products = prefill_beside_products(transformer, tokens, args.rounds)
        results.figure(
            f"prefill of {tokens} tokens",
            1000 * whole,
            "ms",
            yardstick="weight products alone",
            yardstick_value=1000 * products,
        )
    for on in (False, True):
        profile(transformer, on, args.functions)
    results.write(args.results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
