"""Small random logs for the tests of the radix replays, and the engines that can run a policy."""

from __future__ import annotations

import random

from hypothesis import strategies as st

from cache_worthy.sim.forest import Forest, build_forest
from cache_worthy.sim.radix.policies import POLICIES
from cache_worthy.sim.radix.replay import Engine
from cache_worthy.sim.trace import BlockId

RULES = {name: p.key_rule for name, p in POLICIES.items() if p.key_rule is not None}


def engines_of(policy: str) -> list[Engine]:
    """The engines that can run a policy: interned and compiled need a key rule, heap static priorities."""
    able: list[Engine] = ["reference"]
    if not POLICIES[policy].dynamic:
        able.append("heap")
    if POLICIES[policy].key_rule is not None:
        able += ["interned", "compiled"]
    return able


@st.composite
def block_paths(draw: st.DrawFn) -> list[tuple[BlockId, ...]]:
    """Paths over few symbols, so that they share, split, nest and end inside nodes."""
    symbols = st.integers(0, draw(st.integers(0, 3)))
    return draw(st.lists(st.lists(symbols, max_size=7).map(tuple), min_size=1, max_size=40))


def random_forest(seed: int, requests: int = 400, symbols: int = 3, depth: int = 12) -> Forest:
    """Conversations that grow, branch and come back: splits, ends inside nodes, empty paths."""
    rng = random.Random(seed)
    paths: list[tuple[int, ...]] = [()]
    for _ in range(requests):
        base = rng.choice(paths[-30:])
        kept = base[: rng.randint(0, len(base))]
        more = tuple(rng.randrange(symbols) for _ in range(rng.randint(0, depth - len(kept))))
        paths.append(kept + more)
    return build_forest(paths)


def growing(seed: int, requests: int) -> list[tuple[int, ...]]:
    """Conversations that grow and branch; a block is numbered by the path to it."""
    rng = random.Random(seed)
    ids: dict[tuple[int, ...], int] = {}
    rows: list[tuple[int, ...]] = [(0,)]
    for _ in range(requests):
        base = rng.choice(rows[-40:])
        row = base[: rng.randint(1, len(base))]
        rows.append(row + tuple(rng.randrange(3) for _ in range(rng.randint(0, 30 - len(row)))))
    return [tuple(ids.setdefault(r[: k + 1], len(ids)) for k in range(len(r))) for r in rows]
