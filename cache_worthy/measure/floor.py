"""The least capacity of a log: what its deepest request alone needs."""

from __future__ import annotations

from cache_worthy.errors import UsageError
from cache_worthy.sim.cost import BlockSize
from cache_worthy.sim.forest import Forest


def require_floor(capacity: int | None, forest: Forest, size: BlockSize) -> None:
    """Refuse a capacity that cannot hold the deepest request's own path.

    Raises
    ------
    UsageError
        If ``capacity``, in bytes, is under the floor.
    """
    floor = forest.depth * size.block
    if capacity is not None and capacity < floor:
        raise UsageError(
            f"capacity {capacity / 2**30:.4f} GiB = {_blocks(capacity // size.block)} is under the "
            f"floor of this log: its deepest request alone needs {_blocks(forest.depth)} = "
            f"{floor / 2**30:.4f} GiB\n  (fraction {at_least(forest.depth, forest.distinct)} of the "
            "working set); give at least that"
        )


def _blocks(number: int) -> str:
    return f"{number} block{'' if number == 1 else 's'}"


def at_least(part: int, whole: int) -> str:
    """A fraction rounded up, so that the printed value is itself allowed.

    Examples
    --------
    >>> at_least(1, 3), at_least(1, 2)
    ('0.333334', '0.500000')
    """
    return f"{-(-part * 10**6 // whole) / 10**6:.6f}"
