"""What a server can be told to do, and which of it to choose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cache_worthy.sim.forest import Forest
from cache_worthy.sim.outcome import Outcome


@dataclass(frozen=True, slots=True)
class EngineOption:
    """One thing that can be set on the engine, or that it does by itself."""

    label: str
    """As the table shows it."""
    flag: str | None
    """What to type; None where there is nothing to type."""
    default: bool
    """What the engine does unless told otherwise."""
    total_cost: tuple[int, ...]
    """Recompute at each capacity of the table."""
    cost_ratio: tuple[float | None, ...]
    """Over the compulsory minimum."""
    token_hit_rate: tuple[float | None, ...]
    """By token, cold, whole log."""
    note: str
    """What the reader must know about this row, or ""."""


@dataclass(frozen=True, slots=True)
class Served:
    """A log as a server sees it."""

    forest: Forest
    lengths: Sequence[int]
    """Prompt tokens and priority of each request."""
    priorities: Sequence[int]
    """Prompt tokens and priority of each request."""
    block_tokens: int
    from_text: bool
    """Whether the blocks were cut here, so that another ``--block-size`` can be asked for."""


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

    best: str
    verdict: str
    type_this: str | None
    saving_cost: int = 0
    saving_fraction: float = 0.0
