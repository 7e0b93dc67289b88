"""A paged pool of KV blocks with reference counts, and the index of the prefixes it holds.

The bookkeeping is that of vLLM's v1 block pool (public documentation of automatic prefix caching):
one queue of free blocks; allocation takes its head and forgets the prefix that block held; a released
block goes to the back if it holds a prefix, else to the front. A sequence releases its blocks tail
first, so that the queue is in least-recently-used order and a block is always reused before the
blocks it depends on. Two departures keep that last property without exceptions:

* A block completed by a running sequence whose prefix is indexed already is dropped for the
  indexed one (vLLM keeps both).
* A prompt of whole blocks, all indexed, shares them all, and its last token is computed without
  being stored again (vLLM computes the last block again, in a block of its own).

Evidence: every event replayed by an independent list-based pool (`tests/support/plain_paged_pool.py`);
equality with the simulator's ``vllm_lru``; each guard shown to raise.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cache_worthy.sim.cost import Model
from cache_worthy.sim.errors import InputError, InvariantError

#: Arrays of activations, float32 or float64.
Floats = NDArray[Any]

#: ``(what, block, key)`` with ``what`` one of ``share``, ``take`` (the key is the prefix forgotten,
#: or None), ``publish`` (the key it now holds) and ``release``.
Event = tuple[str, int, bytes | None]


def chain_key(parent: bytes, tokens: Sequence[int]) -> bytes:
    """Key of a full block: a hash of the whole prefix up to its end.

    The parent's key stands for everything before the block, on which its keys and values depend.
    Equal keys mean equal prefixes, up to a collision of 128 bits.

    Examples
    --------
    >>> a, b = chain_key(b"", [1, 2]), chain_key(b"", [3, 4])
    >>> chain_key(a, [5, 6]) == chain_key(b, [5, 6])
    False
    """
    return blake2b(parent + np.asarray(tokens, np.int64).tobytes(), digest_size=16).digest()


def block_keys(tokens: Sequence[int], block_size: int) -> list[bytes]:
    """Keys of the full blocks of a sequence, first to last; a partial last block has none.

    Examples
    --------
    >>> len(block_keys(range(11), 4))
    2
    >>> block_keys([1, 2, 3, 4], 2)[:1] == block_keys([1, 2, 9], 2)
    True
    """
    keys: list[bytes] = []
    parent = b""
    for start in range(0, len(tokens) - block_size + 1, block_size):
        parent = chain_key(parent, tokens[start : start + block_size])
        keys.append(parent)
    return keys


@dataclass(frozen=True, slots=True)
class PoolState:
    """References and prefix held by block, and the free queue, head (reused next) first."""

    references: tuple[int, ...]
    keys: tuple[bytes | None, ...]
    free: tuple[int, ...]


class BlockPool:
    """Blocks of keys and values for every layer.

    Parameters
    ----------
    model : Model
        Gives layers, KV heads and head size.
    blocks : int
        Blocks in the pool.
    block_size : int
        Tokens in a block.
    dtype : numpy dtype
    record : bool
        Keep every event in ``events``.

    Attributes
    ----------
    keys, values : ndarray, shape (layers, blocks, block_size, kv_heads, head_dim)
        Read them freely; write through :meth:`write`.
    references : ndarray of int, shape (blocks,)
    evictions : int
        Prefix blocks forgotten so far.

    Raises
    ------
    InvariantError
        On a use that would let a sequence see what is not its own: a reference that does not
        exist, a block written while shared or after its prefix was published.
    """

    def __init__(
        self,
        model: Model,
        blocks: int,
        block_size: int,
        dtype: type[np.floating[Any]] = np.float32,
        *,
        record: bool = False,
    ) -> None:
        if blocks < 1 or block_size < 1:
            raise InputError(f"need blocks >= 1 and block_size >= 1, got {blocks}, {block_size}")
        shape = (model.layers, blocks, block_size, model.kv_heads, model.head_dim)
        # Filled, so that the first use of a page of memory is not part of a measured time.
        self.keys: Floats = np.full(shape, 0.0, dtype)
        self.values: Floats = np.full(shape, 0.0, dtype)
        self.block_size = block_size
        self.references = np.zeros(blocks, np.int64)
        self.evictions = 0
        self.events: list[Event] | None = [] if record else None
        self._held: list[bytes | None] = [None] * blocks
        self._published = np.zeros(blocks, np.bool_)  # whether _held has a key, for write()
        self._index: dict[bytes, int] = {}
        self._free: OrderedDict[int, None] = OrderedDict.fromkeys(range(blocks))

    @property
    def size(self) -> int:
        """Blocks in the pool."""
        return len(self._held)

    @property
    def free(self) -> int:
        """Blocks that no sequence refers to, with or without a prefix."""
        return len(self._free)

    def find(self, key: bytes) -> int | None:
        """The block that holds a prefix, or None."""
        return self._index.get(key)

    def is_free(self, block: int) -> bool:
        """Whether no sequence refers to a block."""
        return block in self._free

    def take(self) -> int:
        """Allocate the block that was released longest ago; forget what it held."""
        if not self._free:
            raise InvariantError("no free block: admission let in more than fits")
        block, _ = self._free.popitem(last=False)
        if self.references[block]:
            raise InvariantError(f"block {block} was free while referenced")
        key = self._held[block]
        if key is not None:
            del self._index[key]
            self._held[block] = None
            self._published[block] = False
            self.evictions += 1
        self.references[block] = 1
        self._log("take", block, key)
        return block

    def share(self, block: int) -> None:
        """Add a reference to a block that holds a prefix, which pins it."""
        if self._held[block] is None:
            raise InvariantError(f"block {block} holds no prefix and cannot be shared")
        if not self.references[block]:
            del self._free[block]
        self.references[block] += 1
        self._log("share", block, None)

    def publish(self, block: int, key: bytes) -> None:
        """Index a full block under its prefix; from now on it may not be written."""
        if self.references[block] != 1 or self._held[block] is not None:
            raise InvariantError(f"block {block} is shared or published already")
        if key in self._index:
            raise InvariantError(f"block {block}: its prefix is indexed already")
        self._index[key] = block
        self._held[block] = key
        self._published[block] = True
        self._log("publish", block, key)

    def release(self, block: int) -> None:
        """Drop a reference; without any the block is free, its prefix still indexed."""
        if self.references[block] < 1:
            raise InvariantError(f"block {block} released more often than taken")
        self.references[block] -= 1
        if not self.references[block]:
            self._free[block] = None
            if self._held[block] is None:
                self._free.move_to_end(block, last=False)
        self._log("release", block, None)

    def write(
        self,
        layer: int,
        blocks: NDArray[np.int64],
        offsets: NDArray[np.int64],
        keys: Floats,
        values: Floats,
    ) -> None:
        """Store keys and values of tokens, one per row, at their blocks and offsets.

        Raises
        ------
        InvariantError
            If a block is not held by exactly one sequence, or its prefix is published.
        """
        if (self.references[blocks] != 1).any() or self._published[blocks].any():
            wrong = [int(b) for b in blocks if self.references[b] != 1 or self._published[b]]
            raise InvariantError(f"write to block {wrong[0]}, which is shared, published or free")
        self.keys[layer, blocks, offsets] = keys
        self.values[layer, blocks, offsets] = values

    def state(self) -> PoolState:
        """A copy of the bookkeeping."""
        return PoolState(tuple(self.references.tolist()), tuple(self._held), tuple(self._free))

    def check(self) -> None:
        """Recount: the free are the unreferenced, the index is what the blocks hold."""
        idle = {b for b in range(self.size) if self.references[b] == 0}
        if idle != set(self._free):
            raise InvariantError("the free queue is not the set of unreferenced blocks")
        held = {key: b for b, key in enumerate(self._held) if key is not None}
        if held != self._index or self._published.tolist() != [k is not None for k in self._held]:
            raise InvariantError("the index is not what the blocks hold")

    def _log(self, what: str, block: int, key: bytes | None) -> None:
        if self.events is not None:
            self.events.append((what, block, key))
