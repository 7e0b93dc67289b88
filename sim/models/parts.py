"""What the formulas of layers share: groups of weights, and counts of causal pairs.

Pairs are counted twice, with the diagonal at one half, as in `cache_worthy.sim.cost`: a prompt of
``n`` tokens has ``n^2`` twice-counted pairs, so that every count is an integer and the pairs of a
range of tokens are a difference.
"""

from __future__ import annotations

from dataclasses import dataclass

FLOPS_PER_WEIGHT = 2
"""A weight costs one multiplication and one addition per token."""


@dataclass(frozen=True, slots=True)
class Part:
    """Weights of one purpose.

    Attributes
    ----------
    name : str
        What `cache_worthy.sim.models.precision` finds their precision by.
    elements : int
        All of them, on all ranks together.
    active : int
        Those that one token uses.
    multiplied : bool
        Whether a token costs `FLOPS_PER_WEIGHT` for each active one: norms and biases do not count.
    """

    name: str
    elements: int
    active: int
    multiplied: bool = True

    @classmethod
    def dense(cls, name: str, elements: int) -> Part:
        """Weights that every token is multiplied with."""
        return cls(name, elements, elements)

    @classmethod
    def small(cls, elements: int, active: int | None = None) -> Part:
        """Norms, biases and other vectors."""
        used = elements if active is None else active
        return cls("norms", elements, used, multiplied=False)


def windowed_pairs(tokens: int, window: int) -> int:
    """Twice the pairs of queries with the ``window`` newest tokens.

    Examples
    --------
    >>> windowed_pairs(4, 8), windowed_pairs(8, 8), windowed_pairs(9, 8)
    (16, 64, 80)
    """
    if tokens <= window:
        return tokens * tokens
    return window * (2 * tokens - window)


def chunked_pairs(tokens: int, chunk: int) -> int:
    """Twice the pairs of queries with the tokens of their own chunk.

    Examples
    --------
    >>> chunked_pairs(8, 8), chunked_pairs(12, 8)
    (64, 80)
    """
    whole, rest = divmod(tokens, chunk)
    return whole * chunk * chunk + rest * rest


def summary_pairs(tokens: int, ratio: int, most: int | None) -> int:
    """Twice the pairs of queries with summaries, one of every ``ratio`` tokens, ``most`` at most.

    The query at position ``t`` (from 1) meets the ``t // ratio`` summaries complete by then.

    Examples
    --------
    >>> summary_pairs(10, 4, None) == 2 * sum(t // 4 for t in range(1, 11))
    True
    >>> summary_pairs(40, 4, 3) == 2 * sum(min(t // 4, 3) for t in range(1, 41))
    True
    """
    whole, rest = divmod(tokens, ratio)
    if most is None or whole < most:
        # 0, 1, ..., whole - 1 for `ratio` queries each, less the query at position 0, then the rest.
        return ratio * whole * (whole - 1) + 2 * whole * (rest + 1)
    return ratio * most * (most - 1) + 2 * most * (tokens - most * ratio + 1)
