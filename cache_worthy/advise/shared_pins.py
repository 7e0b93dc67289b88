"""The prefixes that two documents both list in question 6."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cache_worthy.advise.reader import Reader


@dataclass(frozen=True, slots=True)
class SharedPin:
    """A prefix in both lists of question 6; ranks start at 0."""

    block: str
    rank_a: int
    rank_b: int
    references_a: int
    references_b: int
    protected_fraction_a: float
    protected_fraction_b: float


@dataclass(frozen=True, slots=True)
class SharedPins:
    """Question 6 of both."""

    comparable: bool
    """Whether equal block ids mean equal prefixes."""
    reason: str
    """Why, or why not."""
    listed_a: int
    listed_b: int
    shared: tuple[SharedPin, ...]


def shared_pins(a: Reader, b: Reader, cut: Sequence[str]) -> SharedPins:
    """Question 6 of both; ``cut`` names the options on blocks that differ."""
    lists = [[] if (pin := d.maybe("pin")) is None else pin.rows("pins") for d in (a, b)]
    comparable, reason = _comparable(a, b, cut)
    return SharedPins(
        comparable=comparable,
        reason=reason,
        listed_a=len(lists[0]),
        listed_b=len(lists[1]),
        shared=tuple(_shared(*lists)) if comparable else (),
    )


def _comparable(a: Reader, b: Reader, cut: Sequence[str]) -> tuple[bool, str]:
    """Whether equal block ids mean equal prefixes, and why."""
    if cut:
        return False, f"prompts were cut otherwise ({', '.join(cut)})"
    if all(_hashed(d.get("input")) for d in (a, b)):
        return True, "block ids are hashes of the prompts' beginnings"
    if a.text("input", "sha256") == b.text("input", "sha256"):
        return True, "block ids are those of one log"
    return False, "block ids are each log's own, not of what was in the prompt"


def _hashed(log: Reader) -> bool:
    """Whether the blocks were cut from prompts, so that an id is a hash of its prefix."""
    return any(log.get(name).value is not None for name in ("chars_per_block", "tokenizer"))


def _shared(a: Sequence[Reader], b: Sequence[Reader]) -> Iterator[SharedPin]:
    ranks = {_identity(pin): rank for rank, pin in enumerate(b)}
    for rank, pin in enumerate(a):
        other = ranks.get(_identity(pin))
        if other is not None:
            yield SharedPin(
                block=str(pin.get("last_block_id").value),
                rank_a=rank,
                rank_b=other,
                references_a=pin.integer("references"),
                references_b=b[other].integer("references"),
                protected_fraction_a=pin.number("protected_fraction") or 0.0,
                protected_fraction_b=b[other].number("protected_fraction") or 0.0,
            )


def _identity(pin: Reader) -> str:
    return repr(pin.get("last_block_id").value)
