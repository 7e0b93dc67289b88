"""What a server can be told to do, and which option to choose."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cache_worthy.advise.memory import Memory
from cache_worthy.sim.outcome import Outcome


@dataclass(frozen=True, slots=True)
class EngineOption:
    """One option of a server, or what it does without options."""

    label: str
    """As the table shows it."""
    flag: str | None
    """What to type; None if there is nothing to type."""
    default: bool
    """What the server does unless told otherwise."""
    total_cost: tuple[int, ...]
    """FLOPs recomputed at each capacity of the table."""
    cost_ratio: tuple[float | None, ...]
    """Over the compulsory minimum."""
    token_hit_rate: tuple[float | None, ...]
    """By token, cold, whole log."""
    note: str
    """What the reader must know about this row, or ""."""


@dataclass(frozen=True, slots=True)
class Offer:
    """An option before it is replayed: ``replay`` takes a capacity in blocks of the log."""

    label: str
    flag: str | None
    note: str
    replay: Callable[[int], Outcome]


@dataclass(frozen=True, slots=True)
class EngineAdvice:
    """What to do on one server."""

    engine: str
    server: str
    """The version whose options these are."""
    options: tuple[EngineOption, ...]
    """The default first."""
    at: int
    """Index of the capacity that the verdict is about: the user's, else the recommended one."""
    best: str
    """Label of the option to run."""
    saving_cost: int
    """FLOPs that it saves there against the default."""
    saving_fraction: float
    """Of the default's total recompute."""
    verdict: str
    """In words."""
    type_this: str | None
    """The exact options for the command line, or None if there is nothing to set."""
    memory: Memory
    pins: str
    """Whether and how this server can pin a prefix, in words."""
    tail_cost_ratio: float | None
    """vLLM: recompute in an unlimited cache with full blocks only, over the same with partial last
    blocks; the report says so above `TAILS_MATTER`. None for other servers."""
