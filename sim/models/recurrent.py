"""Recurrent layers: a state per sequence, no bytes per token, cost linear in the prompt.

Sources: gated delta networks, Yang et al. 2024; Kimi delta attention, Moonshot AI 2025; Mamba-2, Dao
and Gu 2024. Tensor shapes are those of the published checkpoints. The cost is that of the recurrent
form; kernels that work in chunks do a few percent more.

Evidence: rank 1, parameter counts and checkpoint sizes as published (tests/sim/models).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cache_worthy.sim.models.layers import Keeps, Mixer, Part


@dataclass(frozen=True, slots=True)
class Recurrent(Mixer):
    """Linear attention by the delta rule: a matrix per head instead of a cache.

    Attributes
    ----------
    key_heads, key_dim, value_heads, value_dim : int
    kernel : int
        Of the short convolutions over queries, keys and values.
    gate_rank : int or None
        Of the output gate, None for a full matrix.
    channel_decay : bool
        Whether every channel of a key decays by itself (Kimi delta attention), by a low-rank
        projection; otherwise one number per head (gated delta network).
    state_width : int
        Bits of an element of the matrices; the convolutions remember 16.
    """

    key_heads: int
    key_dim: int
    value_heads: int
    value_dim: int
    kernel: int
    gate_rank: int | None = None
    channel_decay: bool = False
    state_width: int = 32

    @property
    def kind(self) -> str:
        return "linear attention"

    @property
    def keeps(self) -> Keeps:
        return "state"

    @property
    def _channels(self) -> int:
        return 2 * self.key_heads * self.key_dim + self.value_heads * self.value_dim

    @property
    def _matrix(self) -> int:
        return self.value_heads * self.key_dim * self.value_dim

    @property
    def state_bits(self) -> int:
        return 16 * (self.kernel - 1) * self._channels + self.state_width * self._matrix

    @property
    def per_token(self) -> int:
        """The state is read by the key, written, and read by the query: three products."""
        return 6 * self._matrix

    def parts(self, d_model: int, ranks: int = 1) -> Iterator[Part]:
        values = self.value_heads * self.value_dim
        keys = self.key_heads * self.key_dim
        yield Part.dense("attention", d_model * (self._channels + values))
        if self.gate_rank is None:
            yield Part.dense("attention", d_model * values)
        else:
            yield Part.dense("attention", self.gate_rank * (d_model + values))
        decay = (
            self.key_dim * (d_model + keys) if self.channel_decay else d_model * self.value_heads
        )
        yield Part.dense("recurrence", decay + d_model * self.value_heads)
        yield Part.dense("recurrence", self.kernel * self._channels)
        steps = keys if self.channel_decay else self.value_heads
        yield Part.small(self.value_heads + steps + self.value_dim)


@dataclass(frozen=True, slots=True)
class Mamba(Mixer):
    """Mamba-2: a state per head instead of a cache.

    Attributes
    ----------
    heads, head_dim, groups, state, kernel : int
        Of the inner activation, of the shared projections, of a head's state and of the convolution.
    state_width : int
        Bits of an element of the states; the convolution remembers 16.
    """

    heads: int
    head_dim: int
    groups: int
    state: int
    kernel: int
    state_width: int = 32

    @property
    def kind(self) -> str:
        return "mamba"

    @property
    def keeps(self) -> Keeps:
        return "state"

    @property
    def _inner(self) -> int:
        return self.heads * self.head_dim

    @property
    def _channels(self) -> int:
        return self._inner + 2 * self.groups * self.state

    @property
    def state_bits(self) -> int:
        convolution = 16 * (self.kernel - 1) * self._channels
        return convolution + self.state_width * self._inner * self.state

    @property
    def per_token(self) -> int:
        """The state decays and grows by a product, and is read by one."""
        return 6 * self._inner * self.state

    def parts(self, d_model: int, ranks: int = 1) -> Iterator[Part]:
        yield Part.dense("attention", d_model * (self._inner + self._channels + self.heads))
        yield Part.dense("attention", d_model * self._inner)
        yield Part.dense("recurrence", self.kernel * self._channels)
        yield Part.small(self._channels + 3 * self.heads + self._inner)
