"""What a block policy is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from cache_worthy.sim.blocks.log import BlockLog
from cache_worthy.sim.errors import CapacityError


class BlockPolicy(Protocol):
    """One cache in use.

    Attributes
    ----------
    misses : int
        Block references that found their block absent, so far.
    """

    misses: int

    def serve(self, blocks: Sequence[int], tokens: int) -> int:
        """Serve a prompt of ``tokens`` tokens, given by its dense block ids.

        Returns the largest ``k`` such that ``blocks[:k]`` were all resident on arrival.
        """
        ...

    def resident(self) -> int:
        """Blocks held now."""
        ...

    def check(self) -> None:
        """Recount every queue from scratch; raise `InvariantError` when a count is wrong."""
        ...


@dataclass(frozen=True, slots=True)
class PolicySpec:
    """An entry of the registry.

    Attributes
    ----------
    name : str
        Unique among all policies.
    summary, source : str
        In one line; the paper or code that defines it.
    make : callable
        ``make(log, capacity, **parameters)`` gives an empty cache for that log.
    engine : str
        ``"vllm"`` for what that server does, ``"generic"`` for the rest.
    pins_path : bool
        The blocks of the request in service cannot be evicted. Only such a policy is a schedule
        of the dependency-constrained model and may be compared with its lower bound.
    parameters : tuple of str
        Keyword arguments of ``make`` beyond log and capacity.
    """

    name: str
    summary: str
    source: str
    make: Callable[..., BlockPolicy]
    engine: str = "generic"
    pins_path: bool = False
    parameters: tuple[str, ...] = ()


def check_capacity(capacity: int) -> None:
    """Raise CapacityError unless ``capacity`` is a positive whole number of blocks."""
    if capacity < 1:
        raise CapacityError(f"capacity must be at least 1 block, not {capacity}")


def largest_request(log: BlockLog) -> int:
    """Blocks of the longest request, the smallest capacity that pins its path."""
    return max(map(len, log.blocks), default=0)
