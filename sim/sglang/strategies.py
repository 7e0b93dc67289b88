"""What each strategy of SGLang scores; the leaf with the lowest score is evicted first.

Source: the server's ``evict_policy.py`` and its documentation page on radix eviction policies.
Scores are tuples of integers here, and node ids break ties, where the server leaves them open.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cache_worthy.sim.errors import InputError

if TYPE_CHECKING:
    from cache_worthy.sim.sglang.tree import Node

Score = tuple[int, ...]
Scorer = Callable[["Node"], Score]


@dataclass(frozen=True, slots=True)
class Strategy:
    """An entry of the registry.

    Parameters
    ----------
    name : str
        ``sglang_`` and the server's name.
    summary : str
        One line.
    defaults : tuple of (str, int)
        Parameters with their defaults, named as the server names them.
    make : callable
        ``make(**parameters)`` gives the scoring function.
    """

    name: str
    summary: str
    defaults: tuple[tuple[str, int], ...]
    make: Callable[..., Scorer]

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
        values = dict(self.defaults)
        for name, value in parameters.items():
            if name not in values:
                known = ", ".join(values) or "no parameter"
                raise InputError(f"{self.name}: {name}: unknown; it takes {known}")
            if type(value) is not int or value < 0:
                raise InputError(f"{self.name}: {name}: expected an integer >= 0, got {value!r}")
            values[name] = value
        return self.make(**values)


def _lru() -> Scorer:
    return lambda node: (node.last_access,)


def _lfu() -> Scorer:
    return lambda node: (node.hit_count, node.last_access)


def _slru(protected_threshold: int) -> Scorer:
    return lambda node: (node.hit_count >= protected_threshold, node.last_access)


def _priority() -> Scorer:
    return lambda node: (node.priority, node.last_access)


def _tlru(threshold: int, next_prompt_estimate: int) -> Scorer:
    def score(node: Node) -> Score:
        # What must stay cached so that the next prompt of the longest conversation through this
        # node prefills at most `threshold` tokens; a node wholly beyond that is safe to evict.
        budget = max(node.history + next_prompt_estimate - threshold, 0)
        return (-1 if node.end - node.tokens >= budget else 0, node.last_access)

    return score


def _fifo() -> Scorer:
    return lambda node: (node.created,)


def _filo() -> Scorer:
    return lambda node: (-node.created,)


def _mru() -> Scorer:
    return lambda node: (-node.last_access,)


STRATEGIES: dict[str, Strategy] = {
    s.name: s
    for s in (
        Strategy("sglang_lru", "SGLang's default: least recently used leaf", (), _lru),
        Strategy("sglang_lfu", "fewest insertions through the node, then LRU", (), _lfu),
        Strategy(
            "sglang_slru",
            "nodes inserted fewer than protected_threshold times first, LRU within",
            (("protected_threshold", 2),),
            _slru,
        ),
        Strategy("sglang_priority", "lowest request priority first, then LRU", (), _priority),
        Strategy(
            "sglang_tlru",
            "tails that a next prompt can recompute within threshold tokens first, then LRU",
            (("threshold", 0), ("next_prompt_estimate", 0)),
            _tlru,
        ),
        Strategy("sglang_fifo", "oldest node first; in the server's registry only", (), _fifo),
        Strategy("sglang_filo", "newest node first; in the server's registry only", (), _filo),
        Strategy("sglang_mru", "most recently used; in the server's registry only", (), _mru),
    )
}
"""Every strategy by our name, those of the current command line first."""
