"""A whole model: groups of equal layers between the input embedding and the output head.

Everything is a sum over the layers' own formulas (`cache_worthy.sim.models.layers`), in exact
integers. Vision and audio towers, and layers that only draft (multi-token prediction), are outside
the text model and not counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from cache_worthy.sim.models.layers import FLOPS_PER_WEIGHT, Keeps, Mixer, Part


@dataclass(frozen=True, slots=True)
class FeedForward:
    """A dense network, a mixture of experts, or both side by side.

    Attributes
    ----------
    width : int
        Of the dense network, 0 for none.
    matrices : int
        3 with a gate, 2 without.
    experts, active, expert_width : int
        Of the mixture, 0 for none.
    shared_width : int
        Of the experts that every token passes, together.
    expert_dim : int or None
        Width that routed experts work in, between two projections; None for that of the model.
    shared_gate : bool
        Whether the shared experts have a gate of one output.
    small : int
        Biases and norms of the dense network and the router.
    expert_small : int
        Biases of one expert.
    """

    width: int = 0
    matrices: int = 3
    experts: int = 0
    active: int = 0
    expert_width: int = 0
    shared_width: int = 0
    expert_dim: int | None = None
    shared_gate: bool = False
    small: int = 0
    expert_small: int = 0

    @property
    def passed(self) -> int:
        """Width of what one token passes."""
        return self.width + self.active * self.expert_width + self.shared_width

    def parts(self, d_model: int, ranks: int = 1) -> Iterator[Part]:
        """Its weights on ``ranks`` ranks together; a router is whole on each."""
        yield Part.small(self.small * ranks)
        if self.width:
            yield Part.dense("dense", self.matrices * d_model * self.width)
        if not self.experts:
            return
        inner = self.expert_dim or d_model
        expert = self.matrices * inner * self.expert_width
        yield Part("experts", self.experts * expert, self.active * expert)
        yield Part.small(self.experts * self.expert_small, self.active * self.expert_small)
        yield Part.dense("router", d_model * self.experts * ranks)
        if self.expert_dim is not None:
            yield Part.dense("router", 2 * d_model * self.expert_dim * ranks)
            yield Part.small(self.expert_dim * ranks)
        if self.shared_width:
            yield Part.dense("shared", self.matrices * d_model * self.shared_width)
        if self.shared_gate:
            yield Part.dense("router", d_model * ranks)


@dataclass(frozen=True, slots=True)
class LayerGroup:
    """Equal layers; a layer may lack a mixer or a feed-forward network.

    Attributes
    ----------
    count : int
    mixer : Mixer or None
    feed_forward : FeedForward or None
    norms : int
        Vectors as wide as the model.
    small : int
        Other small parameters of the layer.
    streams : int
        Weights that mix residual streams, whole on every rank.
    """

    count: int
    mixer: Mixer | None
    feed_forward: FeedForward | None
    norms: int = 2
    small: int = 0
    streams: int = 0

    def parts(self, d_model: int, ranks: int = 1) -> Iterator[Part]:
        """Weights of one layer."""
        yield Part.small((self.norms * d_model + self.small) * ranks)
        yield Part.dense("streams", self.streams * ranks)
        if self.mixer:
            yield from self.mixer.parts(d_model, ranks)
        if self.feed_forward:
            yield from self.feed_forward.parts(d_model, ranks)


@dataclass(frozen=True, slots=True)
class Geometry:
    """The layers of a text model and what is around them.

    Attributes
    ----------
    groups : tuple of LayerGroup
    d_model : int
    vocabulary : int
        Rows of the embedding, 0 if unknown.
    tied : bool
        Whether the output head is the embedding.
    small : int
        Final norms and the like.
    lookups : int
        Elements of further look-up tables.
    projections : int
        Further weights outside the layers that every token is multiplied with.
    context : int or None
        Positions that the model is made for.
    """

    groups: tuple[LayerGroup, ...]
    d_model: int
    vocabulary: int
    tied: bool = False
    small: int = 0
    lookups: int = 0
    projections: int = 0
    context: int | None = None

    def _mixers(self) -> Iterator[tuple[int, Mixer]]:
        for group in self.groups:
            if group.mixer:
                yield group.count, group.mixer

    @property
    def layers(self) -> int:
        """Number of layers."""
        return sum(group.count for group in self.groups)

    @property
    def kind(self) -> str:
        """Its kinds of layers in words, as in ``gqa + sliding window, moe``."""
        names = dict.fromkeys(mixer.kind for _, mixer in self._mixers())
        moe = any(g.feed_forward and g.feed_forward.experts for g in self.groups)
        return " + ".join(names) + (", moe" if moe else "")

    @property
    def keeps(self) -> Keeps:
        """What a prefix cache of the model holds, limited by the layer that keeps least."""
        found = {mixer.keeps for _, mixer in self._mixers()}
        return "state" if "state" in found else "window" if "window" in found else "full"

    @property
    def per_token(self) -> int:
        """FLOPs per token: of the weights that it is multiplied with, without the head, and of states."""
        weights = sum(p.active for p in self.layer_parts() if p.multiplied)
        states = sum(count * mixer.per_token for count, mixer in self._mixers())
        return FLOPS_PER_WEIGHT * weights + states

    @property
    def per_pair(self) -> int:
        """FLOPs per token squared, of the layers that see every earlier token."""
        return sum(count * mixer.per_pair for count, mixer in self._mixers())

    def rest(self, tokens: int) -> int:
        """FLOPs of windows, chunks and summaries for a prompt of ``tokens`` tokens."""
        return sum(count * mixer.rest(tokens) for count, mixer in self._mixers())

    def cached(self, tokens: int, ranks: int = 1) -> int:
        """Elements of KV cache of a sequence, on all ranks together."""
        return sum(count * mixer.cached(tokens, ranks) for count, mixer in self._mixers())

    def indexed(self, tokens: int, ranks: int = 1) -> int:
        """Elements of indexer keys of a sequence, on all ranks together."""
        return sum(count * mixer.indexed(tokens, ranks) for count, mixer in self._mixers())

    @property
    def state_bits(self) -> int:
        """Bits of recurrent state per sequence."""
        return sum(count * mixer.state_bits for count, mixer in self._mixers())

    def layer_parts(self, ranks: int = 1) -> Iterator[Part]:
        """Weights of all layers, and those outside that every token is multiplied with."""
        yield Part.dense("router", self.projections * ranks)
        for group in self.groups:
            for p in group.parts(self.d_model, ranks):
                yield Part(p.name, group.count * p.elements, group.count * p.active, p.multiplied)

    def parts(self, ranks: int = 1) -> Iterator[Part]:
        """All weights on ``ranks`` ranks together."""
        table = self.vocabulary * self.d_model
        yield Part("embedding", table + self.lookups, 0, multiplied=False)
        yield Part("head", 0 if self.tied else table, table)
        yield Part.small(self.small * ranks)
        yield from self.layer_parts(ranks)


def groups_of(layers: Iterable[LayerGroup]) -> tuple[LayerGroup, ...]:
    """Layers given one by one, with equal ones counted together."""
    counts: dict[LayerGroup, int] = {}
    for layer in layers:
        counts[layer] = counts.get(layer, 0) + layer.count
    return tuple(replace(layer, count=count) for layer, count in counts.items())
