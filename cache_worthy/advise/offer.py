"""What a server can be told to do, and which option to choose."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

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
class Choice:
    """What to run, and what it saves against the default: fields of ``EngineAdvice``."""

    server: str
    best: str
    verdict: str
    type_this: str | None
    pins: str
    saving_cost: int = 0
    saving_fraction: float = 0.0
    tail_cost_ratio: float | None = None
