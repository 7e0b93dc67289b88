"""What each strategy of SGLang scores; the leaf with the lowest score is evicted first.

Source: the server's ``evict_policy.py`` and its documentation page on radix eviction policies.
Scores are tuples of integers here, and node ids break ties, where the server leaves them open.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cache_worthy.sim.errors import InputError

if TYPE_CHECKING:
    from cache_worthy.sim.sglang.tree import Node

Score = tuple[int, ...]
Scorer = Callable[["Node"], Score]


@dataclass(frozen=True, slots=True)
class Strategy:
    """An entry of the registry."""

    name: str
    """``sglang_`` and the server's name."""
    summary: str
    """One line."""
    make: Callable[..., Scorer]
    """``make(**parameters)`` gives the scoring function."""
    defaults: Mapping[str, int] = field(default_factory=dict)
    """Parameters with their defaults, named as the server names them."""

    @property
    def server_name(self) -> str:
        """The server's own name."""
        return self.name.removeprefix("sglang_")

    def scorer(self, **parameters: int) -> Scorer:
        """The scoring function for the given parameters.

        Raises
        ------
        InputError
            For a parameter that the strategy does not have, or a negative one.
        """
        for name, value in parameters.items():
            if name not in self.defaults:
                known = ", ".join(self.defaults) or "no parameter"
                raise InputError(f"{self.name}: {name}: unknown; it takes {known}")
            if type(value) is not int or value < 0:
                raise InputError(f"{self.name}: {name}: expected an integer >= 0, got {value!r}")
        return self.make(**{**self.defaults, **parameters})


def _tlru(threshold: int, next_prompt_estimate: int) -> Scorer:
    def score(node: Node) -> Score:
        # What must stay cached so that the next prompt of the longest conversation through this
        # node prefills at most `threshold` tokens; a node wholly beyond that is safe to evict.
        budget = max(node.history + next_prompt_estimate - threshold, 0)
        return (-1 if node.end - node.tokens >= budget else 0, node.last_access)

    return score


STRATEGIES: dict[str, Strategy] = {
    s.name: s
    for s in (
        Strategy(
            "sglang_lru",
            "SGLang's default: least recently used leaf",
            lambda: lambda node: (node.last_access,),
        ),
        Strategy(
            "sglang_lfu",
            "fewest insertions through the node, then LRU",
            lambda: lambda node: (node.hit_count, node.last_access),
        ),
        Strategy(
            "sglang_slru",
            "nodes inserted fewer than protected_threshold times first, LRU within",
            lambda protected_threshold: (
                lambda node: (node.hit_count >= protected_threshold, node.last_access)
            ),
            {"protected_threshold": 2},
        ),
        Strategy(
            "sglang_priority",
            "lowest request priority first, then LRU",
            lambda: lambda node: (node.priority, node.last_access),
        ),
        Strategy(
            "sglang_tlru",
            "tails that a next prompt can recompute within threshold tokens first, then LRU",
            _tlru,
            {"threshold": 0, "next_prompt_estimate": 0},
        ),
        Strategy(
            "sglang_fifo",
            "oldest node first; in the server's registry only",
            lambda: lambda node: (node.created,),
        ),
        Strategy(
            "sglang_filo",
            "newest node first; in the server's registry only",
            lambda: lambda node: (-node.created,),
        ),
        Strategy(
            "sglang_mru",
            "most recently used; in the server's registry only",
            lambda: lambda node: (-node.last_access,),
        ),
    )
}
"""Every strategy by our name, those of the current command line first."""
