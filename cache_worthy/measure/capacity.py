"""A cache size in one of the units in which users give it, and the least one that serves a log."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from cache_worthy.checks import integer, real
from cache_worthy.errors import UsageError
from cache_worthy.numbers import counted

if TYPE_CHECKING:
    from cache_worthy.sim.cost import BlockSize
    from cache_worthy.sim.forest import Forest

LARGEST_GIB = 1e9
"""An exbibyte: more is a typing error."""

LARGEST_BLOCKS = 10**15


@dataclass(frozen=True, slots=True)
class Capacity:
    """A capacity as a user states it; at most one of the three.

    Attributes
    ----------
    fraction : float or None
        Of the working set, above 0 and at most 1.
    gib : float or None
        KV cache in GiB, above 0.
    blocks : int or None
        KV cache in blocks, at least 1.

    Raises
    ------
    UsageError
        On several of them, or one out of its range.
    """

    fraction: float | None = None
    gib: float | None = None
    blocks: int | None = None

    def __post_init__(self) -> None:
        given = [f.name for f in fields(self) if getattr(self, f.name) is not None]
        if len(given) > 1:
            names = " and ".join(f"capacity_{name}" for name in given)
            raise UsageError(f"{names}: a capacity is given in one unit only")
        for name in given:
            label, value = f"capacity_{name}", getattr(self, name)
            if name == "blocks":
                value = integer(label, value, least=1, most=LARGEST_BLOCKS)
            else:
                value = real(label, value, above=0, most=1 if name == "fraction" else LARGEST_GIB)
            object.__setattr__(self, name, value)

    def needed(self) -> Capacity:
        """Itself.

        Raises
        ------
        UsageError
            If none was given.
        """
        if (self.fraction, self.gib, self.blocks) == (None, None, None):
            raise UsageError("give one of capacity_fraction, capacity_gib and capacity_blocks")
        return self

    def in_bytes(self, distinct: int, block_bytes: int) -> int | None:
        """In bytes, rounded down; None where none was given.

        Parameters
        ----------
        distinct : int
            Blocks of the working set.
        block_bytes : int

        Examples
        --------
        >>> Capacity(fraction=0.5).in_bytes(7, 10), Capacity(blocks=3).in_bytes(7, 10)
        (35, 30)
        """
        if self.fraction is not None:
            return int(self.fraction * distinct * block_bytes)
        if self.gib is not None:
            return int(self.gib * 2**30)
        return None if self.blocks is None else self.blocks * block_bytes


def require_floor(capacity: int | None, forest: Forest, size: BlockSize) -> None:
    """Refuse a capacity, in bytes, that cannot hold the deepest request's own path.

    Raises
    ------
    UsageError
    """
    floor = forest.depth * size.block
    if capacity is not None and capacity < floor:
        raise UsageError(
            f"capacity {capacity / 2**30:.4f} GiB = {counted(capacity // size.block, 'block')} is "
            "under the floor of this log: its deepest request alone needs "
            f"{counted(forest.depth, 'block')} = {floor / 2**30:.4f} GiB\n  (fraction "
            f"{at_least(forest.depth, forest.distinct)} of the working set); give at least that"
        )


def at_least(part: int, whole: int) -> str:
    """A fraction rounded up, so that the printed value is itself allowed.

    Examples
    --------
    >>> at_least(1, 3), at_least(1, 2)
    ('0.333334', '0.500000')
    """
    return f"{-(-part * 10**6 // whole) / 10**6:.6f}"
